/** A sample of `npm run stress:signals`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type SignalEffects, signalEffects } from '../../stress/signals/effects.js'
import { type Case, expectedOf, strikeOnce } from '../../stress/signals/trial.js'
import { Lab } from '../../stress/support/lab.js'

function effectsOf(number: number): SignalEffects {
  return signalEffects().find((each) => each.number === number) as SignalEffects
}

test('the table has each signal of `kill -l` once', () => {
  const numbers = signalEffects().map(({ number }) => number)
  expect(numbers).toEqual(
    [...Array(31).keys(), ...[...Array(31).keys()].map((n) => n + 33)].map((n) => n + 1),
  )
  const stops = signalEffects().filter(({ substrat }) => substrat === 'stops')
  expect(stops.map(({ number }) => number)).toEqual([19, 20, 21, 22])
})

test.each<[number, Case['target'], Case['turn'], string]>([
  [9, 'substrat', 'exec', 'dead'],
  [15, 'substrat', 'tool', 'completed'],
  [15, 'all', 'tool', 'shutdown'],
  [10, 'all', 'exec', 'program_killed'],
  [10, 'all', 'tool', 'completed'],
  [34, 'program', 'exec', 'completed'],
  [34, 'all', 'exec', 'dead'],
])('signal %i to %s, in %s, is expected to leave the turn %s', (number, target, turn, expected) => {
  expect(expectedOf({ signal: effectsOf(number), target, turn })).toBe(expected)
})

describe('after a signal in the middle of a turn the next command continues it', () => {
  let lab: Lab
  beforeAll(async () => {
    lab = Lab.open()
    await lab.warm()
    lab.runInProcess()
  })
  afterAll(() => lab.close())

  test.each<[number, Case['target'], Case['turn']]>([
    [34, 'substrat', 'exec'],
    [7, 'program', 'exec'],
    [24, 'all', 'tool'],
  ])('signal %i to %s, in %s', async (number, target, turn) => {
    const { violations } = await strikeOnce(lab, { signal: effectsOf(number), target, turn })
    expect(violations).toEqual([])
  })
})
