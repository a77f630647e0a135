/** A sample of hostile fields in records, mail and indexes with valid checksums. */
import { describe, expect, test } from 'vitest'
import { wrongShape } from '../../src/session/records.js'
import { MachineLab } from '../../stress/machine/lab.js'
import { Findings } from '../../stress/security/finding.js'
import { plantFields } from '../../stress/security/planted.js'

test('no command crashes on an invalid field with a valid checksum, or obeys it', async () => {
  const lab = MachineLab.open()
  const findings = new Findings(undefined)
  try {
    await plantFields(lab, findings, 251)
  } finally {
    lab.close()
  }
  expect(findings.broken).toEqual([])
  expect(findings.counts.get('hostile field')).toBeGreaterThan(20)
})

describe('a kind', () => {
  const shapeOf = (kind: unknown): string | undefined =>
    wrongShape({ seq: 1, ts: '2026-01-01T00:00:00.000Z', kind })

  test('with 100,000 levels is reported as unknown, without its levels', () => {
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as unknown
    expect(shapeOf(deep)).toBe('its kind that is not a string is unknown')
  })

  test('with a million characters is quoted only by its beginning', () => {
    expect(shapeOf('x'.repeat(1_000_000))).toBe(`its kind "${'x'.repeat(60)}" is unknown`)
  })
})
