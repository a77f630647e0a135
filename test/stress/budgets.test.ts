/** A sample of `npm run stress:budgets`: children side by side under one cap, and kills at random. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { judge } from '../../stress/budgets/judge.js'
import { runTrial } from '../../stress/budgets/trial.js'
import { Lab, repository } from '../../stress/support/lab.js'
import { Random } from '../support/random.js'

let lab: Lab
beforeAll(async () => {
  lab = Lab.open()
  lab.linkPlugin('@substrat/provider-openai', `${repository}/plugins/provider-openai`)
  await lab.warm()
})
afterAll(() => lab.close())

test('children of one parent are never charged more than its cap under kills', async () => {
  const random = Random.announced('budgets')
  const result = await runTrial(lab, { children: 5, kills: 8, random, longer: false, capStep: 17_500 })
  expect(result.violations).toEqual([])
  expect(result.refusals).toBeGreaterThan(0)
})

describe('the judge', () => {
  const at = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString()
  const hold = { agent: 'a', from: at(10), to: at(20), held: 80, counted: 60 }
  const caps = [{ at: '', max: 100 }]

  test('notices holds over the cap', () => {
    expect(judge([hold, { ...hold, agent: 'b', from: at(15) }], [], caps, [], 0, 1000)).toHaveLength(1)
    expect(
      judge([hold, { ...hold, agent: 'b', from: at(20), to: at(30), held: 40 }], [], caps, [], 0, 1000),
    ).toEqual([])
  })

  test('notices a refusal of a request that the cap allowed', () => {
    const refusal = { agent: 'b', at: at(30), needs: 30 }
    expect(judge([hold], [refusal], caps, [], 0, 1000)).toHaveLength(1)
    expect(judge([hold], [{ ...refusal, needs: 50 }], caps, [], 0, 1000)).toEqual([])
  })
})
