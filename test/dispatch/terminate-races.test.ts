/**
 * `terminate` racing with a spawn below it, and with mail to it: real processes, again and again. Whoever comes out first,
 * no child outlives its parent, and each message is taken, answered with an error, or refused.
 */
import { describe, expect, test } from 'vitest'
import { House, type Result } from '../support/cli.js'

const ROUNDS = Number(process.env.RACES ?? 6)

/** Longer than a command takes: then the other one has ended. */
const APART_MS = 600

/** What the other one is begun later by, in milliseconds: each round another, both ways; once so that they do not meet. */
function* delays(): Generator<[number, number]> {
  for (let round = 0; round < ROUNDS; round++) {
    const late = round < 2 ? APART_MS : ((round >> 1) - 1) * 10
    yield round % 2 === 0 ? [0, late] : [late, 0]
  }
}

async function both(
  house: House,
  [first, second]: [string[], string[]],
  [firstMs, secondMs]: [number, number],
): Promise<[Result, Result]> {
  const begin = async (args: string[], ms: number): Promise<Result> => {
    await new Promise((resolve) => setTimeout(resolve, ms))
    return house.run(args)
  }
  return Promise.all([begin(first, firstMs), begin(second, secondMs)])
}

describe.concurrent('terminate racing with', () => {
  test('a spawn below it: the one or the other is refused, unless the child came and went first', async () => {
    const house = new House()
    const outcomes = new Set<string>()
    for (const delay of delays()) {
      const parent = await house.spawn('p')
      const [ended, born] = await both(
        house,
        [
          ['terminate', 'p'],
          ['spawn', '--name', 'c', '--parent', parent],
        ],
        delay,
      )
      const { json } = await house.ok('show', parent, '--json')
      const isEnded = json.agent.state === 'terminated'
      expect([ended.exit, born.exit], ended.stderr + born.stderr).toEqual(isEnded ? [0, 13] : [13, 0])
      outcomes.add(isEnded ? 'ended' : 'born')
      expect(house.findings()).toEqual([])
      await house.ok('terminate', parent, '--recursive')
    }
    expect(outcomes.size).toBe(2)
    await house.ok('recover', '--all')
    expect(house.findings(true)).toEqual([])
  }, 120_000)

  test('a spawn below it, with --recursive: the child is never left alone', async () => {
    const house = new House()
    for (const delay of delays()) {
      const parent = await house.spawn('p')
      const [ended, born] = await both(
        house,
        [
          ['terminate', 'p', '--recursive'],
          ['spawn', '--name', 'c', '--parent', parent],
        ],
        delay,
      )
      expect(ended.exit, ended.stderr).toBe(0)
      expect([0, 13], born.stderr).toContain(born.exit)
      const { json } = await house.ok('list', '--json')
      expect(json.agents).toEqual([])
      expect(house.findings()).toEqual([])
    }
  }, 120_000)

  test('mail to it: each message that was stored is taken, or answered by an error', async () => {
    const house = new House()
    const outcomes = new Set<number>()
    for (const delay of delays()) {
      const a = await house.spawn('a')
      const b = await house.spawn('b', '--parent', 'a')
      const [ended, sent] = await both(
        house,
        [
          ['terminate', b],
          ['send', 'a/b', 'one', '--from', 'a', '--queue', '--no-drain'],
        ],
        delay,
      )
      expect(ended.exit, ended.stderr).toBe(0)
      outcomes.add(sent.exit)
      expect([0, 3, 13], sent.stderr).toContain(sent.exit)
      expect(house.inbox(b)).toEqual([])
      await house.ok('deliver', '--all')
      const answers = house
        .records(a)
        .flatMap((record) => (record.kind === 'mail.delivered' ? [record.mail_kind] : []))
      // Taken back by its sender, who was told so; or answered. Never without a word, and never both.
      expect(answers).toEqual(sent.exit === 0 ? ['error'] : [])
      await house.ok('terminate', a)
      expect(house.findings(true)).toEqual([])
    }
    expect(outcomes.size).toBeGreaterThan(1)
  }, 180_000)
})
