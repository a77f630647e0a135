/**
 * `terminate` racing with a spawn below it, and with mail to it: real processes, again and again. In any order, no
 * child outlives its parent, and each message is delivered, answered with an error, or refused.
 */
import { describe, expect, test } from 'vitest'
import { sleep } from '../../src/clock.js'
import { House, type Result } from '../support/cli.js'
import { msOf } from '../support/moments.js'

const ROUNDS = Number(process.env.RACES ?? 6)

interface Start {
  isSecondFirst: boolean
  /**
   * How much later the other one begins, as a share of what a command takes; once the first has ended where it is 1.
   */
  late: number
}

/** Each round another, both ways; once so that they do not meet. */
function* starts(): Generator<Start> {
  for (let round = 0; round < ROUNDS; round++)
    yield { isSecondFirst: round % 2 === 1, late: round < 2 ? 1 : ((round >> 1) - 1) / 8 }
}

async function both(
  house: House,
  commands: [string[], string[]],
  { isSecondFirst, late }: Start,
): Promise<[Result, Result]> {
  const [first, second] = isSecondFirst ? [commands[1], commands[0]] : commands
  commandMs ??= await msOf(house, 'list')
  const one = house.start(first).result
  await (late === 1 ? one : sleep(late * commandMs))
  const results = [await house.start(second).result, await one] as [Result, Result]
  return isSecondFirst ? results : [results[1], results[0]]
}

let commandMs: number | undefined

describe.concurrent('terminate racing with', () => {
  test('a spawn below it: the one or the other is refused, unless the child came and went first', async () => {
    const house = new House()
    const outcomes = new Set<string>()
    for (const start of starts()) {
      const parent = await house.spawn('p')
      const [ended, born] = await both(
        house,
        [
          ['terminate', 'p'],
          ['spawn', '--name', 'c', '--parent', parent],
        ],
        start,
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
  })

  test('a spawn below it, with --recursive: the child is never left alone', async () => {
    const house = new House()
    for (const start of starts()) {
      const parent = await house.spawn('p')
      const [ended, born] = await both(
        house,
        [
          ['terminate', 'p', '--recursive'],
          ['spawn', '--name', 'c', '--parent', parent],
        ],
        start,
      )
      expect(ended.exit, ended.stderr).toBe(0)
      expect([0, 13], born.stderr).toContain(born.exit)
      const { json } = await house.ok('list', '--json')
      expect(json.agents).toEqual([])
      expect(house.findings()).toEqual([])
    }
  })

  test('mail to it: each message that was stored is taken, or answered by an error', async () => {
    const house = new House()
    const outcomes = new Set<number>()
    for (const start of starts()) {
      const a = await house.spawn('a')
      const b = await house.spawn('b', '--parent', 'a')
      const [ended, sent] = await both(
        house,
        [
          ['terminate', b],
          ['send', 'a/b', 'one', '--from', 'a', '--queue', '--no-drain'],
        ],
        start,
      )
      expect(ended.exit, ended.stderr).toBe(0)
      outcomes.add(sent.exit)
      expect([0, 3, 13], sent.stderr).toContain(sent.exit)
      expect(house.inbox(b)).toEqual([])
      await house.ok('deliver', '--all')
      const answers = house
        .records(a)
        .flatMap((record) => (record.kind === 'mail.delivered' ? [record.mail_kind] : []))
      // Refused to its sender and removed, or answered. Never without a word, and never both.
      expect(answers).toEqual(sent.exit === 0 ? ['error'] : [])
      await house.ok('terminate', a)
      expect(house.findings(true)).toEqual([])
    }
    expect(outcomes.size).toBeGreaterThan(1)
  })
})
