/**
 * Random turns: a model, an agent program, tools and people act in any possible order, with a crash between any two
 * batches. After each crash the recovery table continues the turn or marks it.
 *
 * A counterexample shrinks to a script of words. The failure prints the log that the script wrote.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { World } from './world.js'

const EVENTS = [
  'begin model',
  'begin agent',
  'begin model, all allowed',
  'begin model, 1 step at most',
  'answer',
  'answer with a call',
  'answer with three calls',
  'answer with a question',
  'answer with the same ids again',
  'fail',
  'fail, overloaded',
  'fail, rate limit',
  'fail, too long',
  'tool is done',
  'launch',
  'state',
  'approve',
  'deny',
  'input',
  'decide with a used token',
  'rotate',
  'the time has come',
  'the token expires',
  'configure',
] as const

const STOPS = ['turn_timeout', 'terminated', 'cancelled', 'suspended', 'shutdown'] as const

/** A crash, and the action of the next process. */
const CRASHES = [
  'crash',
  'crash, unknown_tool=continue',
  'crash, then only mark',
  'crash, then a message',
  'crash, then cancel',
  'crash, and the program had finished',
] as const

const words = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...EVENTS) },
  { weight: 1, arbitrary: fc.constantFrom(...STOPS.map((reason) => `stop: ${reason}` as const)) },
  { weight: 2, arbitrary: fc.constantFrom(...CRASHES) },
)

const scripts = fc.array(fc.tuple(words, fc.boolean()), { maxLength: 60, size: 'max' })

function worldOf(script: [string, boolean][]): World {
  const world = new World()
  for (const [word, isLast] of script) world.take(word, isLast)
  return world
}

/** Facts that hold after any order of events, with a crash at any batch. Each is checked in a world that has ended. */
const FACTS: [string, (world: World) => void][] = [
  [
    'the usage of the session is the sum over the runs of its log',
    ({ log, state }) => {
      const byRun = new Map<string, number>()
      for (const record of log)
        if ('usage' in record && record.usage !== undefined) {
          const earlier = record.kind === 'run.completed' ? 0 : (byRun.get(record.run_id) ?? 0)
          byRun.set(record.run_id, earlier + record.usage.input_tokens)
        }
      const sum = [...byRun.values()].reduce((total, tokens) => total + tokens, 0)
      expect(state.usage).toMatchObject({ input_tokens: sum, runs_with_usage: byRun.size })
    },
  ],
  [
    'every call has exactly one result, right after it and in order, whenever a model is asked',
    (world) => world.checkAsked(),
  ],
  [
    'every run is ended exactly once, and the session is suspended',
    (world) => {
      expect(world.open).toBeUndefined()
      expect(world.state.state).not.toBe('active')
      expect(world.ends()).toEqual(new Map(world.begun().map((run) => [run, 1])))
    },
  ],
  [
    'the log has one result for each call of every ended run, except calls that an interruption left open',
    (world) => {
      expect(world.unanswered()).toEqual([])
      expect(world.answeredTwice()).toEqual([])
    },
  ],
  [
    'a token is consumed at most once, and only while its run is parked',
    (world) => {
      const consumed = world.records('token.consumed').map(({ token_id }) => token_id)
      expect(new Set(consumed).size).toBe(consumed.length)
      const spent = world.records('token.revoked').map(({ token_id }) => token_id)
      expect(new Set([...consumed, ...spent]).size).toBe(consumed.length + spent.length)
    },
  ],
  [
    'no run exceeds its limit of requests to the model',
    (world) => {
      for (const { asked, max } of world.bounded()) expect(asked).toBeLessThanOrEqual(max)
    },
  ],
]

/** Checks all facts in the same worlds: building a world takes far longer than checking it. */
test('every fact holds after any order of events, with a crash at any batch', () => {
  fc.assert(
    fc.property(scripts, (script) => {
      const world = worldOf(script)
      world.end()
      for (const [fact, holds] of FACTS) check(fact, world, holds)
    }),
    { numRuns: 1000 },
  )
})

/** Throws an error that contains the log, so that a counterexample is readable. */
function check(fact: string, world: World, holds: (world: World) => void): void {
  try {
    holds(world)
  } catch (error) {
    throw new Error(`${fact}: ${(error as Error).message}\n\nthe log\n${world.transcript()}`)
  }
}

test('the scripts reach every record kind and every row of the recovery table', () => {
  const [kinds, rows] = [new Set<string>(KINDS), new Set<string>(ROWS)]
  for (const script of fc.sample(scripts, { numRuns: 3000, seed: 1 })) {
    const world = worldOf(script)
    for (const { kind } of world.log) kinds.delete(kind)
    for (const row of world.rows) rows.delete(row)
    if (kinds.size + rows.size === 0) break
  }
  expect([...kinds, ...rows]).toEqual([])
})

const ROWS = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'H2', 'I', 'J']
const KINDS = [
  ...['wait.answered', 'tool.started', 'tool.finished', 'run.waiting', 'run.resumed'],
  ...['token.consumed', 'token.revoked', 'context.compacted'],
  ...['model.failed', 'run.failed', 'run.cancelled'],
]
