/** Runs a sample of `npm run stress:tree`, and shows that the oracle catches a broken program. */
import { afterEach, expect, test } from 'vitest'
import { brokenSources } from '../../stress/mutants/canaries.js'
import { Lab } from '../../stress/support/lab.js'
import { runTrial, type TrialOptions } from '../../stress/tree/trial.js'

const SMALL: TrialOptions = {
  seed: 1,
  shape: { roots: 2, middles: 1, leaves: 2 },
  messages: 30,
  kills: 8,
  shells: 2,
  note: () => undefined,
}

let lab: Lab
afterEach(() => lab?.close())

test('a tree of agents with killed processes loses no message and delivers none twice', async () => {
  lab = Lab.open()
  await lab.warm()
  const { kills, agents, counts, violations } = await runTrial(lab, SMALL)
  expect(violations).toEqual([])
  expect({ agents, isKilled: kills >= SMALL.kills }).toEqual({ agents: 8, isKilled: true })
  expect(counts.delivered).toBeGreaterThanOrEqual(SMALL.messages)
})

// `npm run stress:tree -- --canary` covers the other canaries.
test('the oracle catches a program that returns a message id before the message is stored', async () => {
  const name = 'send returns before the message is stored'
  lab = Lab.open(brokenSources({ name, dies: { before: 'mail.put', share: 0.1 } }))
  const { violations } = await runTrial(lab, { ...SMALL, messages: 40, kills: 0 })
  expect(violations.join()).toContain('an acknowledged message is delivered')
})
