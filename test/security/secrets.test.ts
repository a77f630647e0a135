/** A sample of `npm run stress:security`: what an API repeats of the key that it was given, and words that are no names. */
import { expect, test } from 'vitest'
import { MachineLab } from '../../stress/machine/lab.js'
import { Findings } from '../../stress/security/finding.js'
import { tryWords } from '../../stress/security/names.js'
import { lookForSecrets } from '../../stress/security/secrets.js'

async function look(only: string | undefined, at: (lab: MachineLab, findings: Findings) => Promise<void>) {
  const lab = MachineLab.open()
  const findings = new Findings(only)
  try {
    await at(lab, findings)
  } finally {
    lab.close()
  }
  return findings
}

test('a key that an API repeats in a refusal is in no byte of the home, and is not printed', async () => {
  const findings = await look('(authentication)', lookForSecrets)
  expect(findings.broken).toEqual([])
  expect(findings.counts.get('secret')).toBe(3)
})

test('the search finds what is there: a value that a program has printed', async () => {
  expect((await look('the search itself', lookForSecrets)).broken).toEqual([])
})

test('words that walk out of the home, or steer a terminal, are refused in a sentence', async () => {
  const findings = await look(undefined, (lab, found) => tryWords(lab, found, 13))
  expect(findings.broken).toEqual([])
  expect(findings.counts.get('hostile word')).toBeGreaterThan(50)
})
