/**
 * A sample of `npm run stress:security`: API keys that an API repeats, and command-line words that are not valid names.
 */
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

test('the search finds a secret that a program has printed', async () => {
  expect((await look('the search itself', lookForSecrets)).broken).toEqual([])
})

test('words that leave the home, or control a terminal, are refused in a sentence', async () => {
  const findings = await look(undefined, (lab, found) => tryWords(lab, found, 13))
  expect(findings.broken).toEqual([])
  expect(findings.counts.get('hostile word')).toBeGreaterThan(50)
})
