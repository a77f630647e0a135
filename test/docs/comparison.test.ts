/** docs/comparison.md and README.md state the results of the comparison lab. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { CLIS } from '../../stress/comparison/clis.js'
import { type Comparison, withTable } from '../../stress/comparison/page.js'
import { readme } from '../support/readme.js'

const page = readFileSync('docs/comparison.md', 'utf8')
const comparison = JSON.parse(readFileSync('stress/results/comparison.json', 'utf8')) as Comparison
const measured = comparison.rows as Done[]

/** A row in which no measurement failed. */
type Done = {
  [Name in keyof Comparison['rows'][number]]: Exclude<Comparison['rows'][number][Name], { failed: string }>
}

test('docs/comparison.md has the table of the latest result', () => {
  expect(withTable(page, comparison)).toBe(page)
})

test('docs/comparison.md has at most 500 words', () => {
  expect(page.trim().split(/\s+/).length).toBeLessThanOrEqual(500)
})

test('the comparison result has a row for each CLI, with the version that the lab installs', () => {
  const rows = measured.map(({ name, with: driven, packages }) => ({ name, with: driven, packages }))
  expect(rows).toEqual(
    CLIS.map(({ name, with: driven = null, packages }) => ({ name, with: driven, packages })),
  )
})

describe('README.md states the measured results of the other CLIs', () => {
  const others = measured.filter(({ name }) => name !== 'substrat')
  const plain = others.filter(({ name, with: driven }) => name !== 'claude' || driven === null)
  const replies = (row: Done): number => row.next.filter(({ replied }) => replied).length
  const hasOwnCode = ({ permission, limited, wrongKey }: Done): boolean[] => [
    permission.approved?.ran === true && permission.exit !== 0 && permission.exit !== wrongKey.exit,
    limited.exit !== 'running' && limited.exit !== wrongKey.exit,
  ]
  const syncsOf = (row: Done): number =>
    Object.values(row.syncs.session).reduce((sum, count) => sum + count, 0)

  test('README.md names each CLI', () => {
    const names = [...new Set(others.map(({ name }) => name))]
    expect(readme).toContain(`${names.slice(0, -1).join(', ')} and ${names.at(-1)}`)
  })

  test('no other CLI continues a killed turn with the flags in its help', () => {
    expect(plain.map(replies)).toEqual(plain.map(() => 0))
  })

  test('no other CLI returns the first reply for a repeated key', () => {
    expect(others.filter(({ key }) => key.keyed?.asked === 1 && key.keyed.second.exit === 0)).toEqual([])
  })

  test('no other CLI has exit codes for a pending permission and a rate limit', () => {
    expect(others.map(hasOwnCode)).toEqual(others.map(() => [false, false]))
  })

  test('only codex and opencode of the other CLIs fsync the conversation', () => {
    const syncing = others.filter((row) => syncsOf(row) > 0)
    expect(syncing.map(({ name }) => name)).toEqual(['codex', 'opencode'])
  })

  test('substrat does all of these', () => {
    for (const row of measured.filter(({ name }) => name === 'substrat')) {
      expect(replies(row)).toBe(row.next.length)
      expect(row.key.keyed).toMatchObject({ asked: 1, second: { exit: 0 } })
      expect(hasOwnCode(row)).toEqual([true, true])
      expect(syncsOf(row)).toBeGreaterThan(0)
    }
  })
})
