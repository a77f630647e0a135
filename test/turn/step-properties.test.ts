/**
 * Random turns: a model, an agent program, tools and people act in any possible order, with a crash between any two
 * batches. After each crash the recovery table continues the turn or marks it.
 *
 * A counterexample shrinks to a script of words. The failure prints the log that the script wrote.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Usage } from '../../src/schema/types.js'
import { remainder } from '../../src/session/fold/usage.js'
import type { SessionRecord } from '../../src/session/records.js'
import type { State } from '../../src/session/state.js'
import { foldAll } from '../support/folding.js'
import { sumOf, World } from './world.js'

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

interface Part {
  run_id: string
  model: string | undefined
  usage: Usage
}

/**
 * The usage in the records. The end of a completed run repeats its total, so only the rest counts, and its models are those of
 * the rest. Nothing is the rest of most runs.
 */
function usageOf(log: SessionRecord[]): Part[] {
  const parts: Part[] = []
  for (const record of log) {
    if (!('usage' in record) || record.usage === undefined) continue
    const { run_id } = record
    const earlier = parts.filter((part) => part.run_id === run_id).map(({ usage }) => usage)
    const isTotal = record.kind === 'run.completed' && earlier.length > 0
    const usage = withoutZeros(isTotal ? remainder(record.usage, sumOf(earlier)) : record.usage)
    if (isTotal && Object.values(usage).every((count) => count === 0)) continue
    const models = 'models' in record ? record.models : undefined
    const model = 'model' in record ? record.model : undefined
    if (models === undefined) parts.push({ run_id, model, usage })
    else for (const { model, ...usage } of models) parts.push({ run_id, model, usage })
  }
  return parts
}

/** The rest of a field that is not in the last part. No provider of this world reports a 0. */
function withoutZeros(usage: Usage): Usage {
  const fields = Object.entries(usage).filter(([, count]) => count !== 0)
  return { input_tokens: 0, output_tokens: 0, ...Object.fromEntries(fields) }
}

function groupedBy<T, Key>(items: T[], keyOf: (item: T) => Key): Map<Key, T[]> {
  const groups = new Map<Key, T[]>()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}

function sums<Key>(groups: Map<Key, { usage: Usage }[]>): Map<Key, Usage> {
  return new Map([...groups].map(([key, parts]) => [key, sumOf(parts.map(({ usage }) => usage))]))
}

/** Facts that hold after any order of events, with a crash at any batch. Each is checked in a world that has ended. */
const FACTS: [string, (world: World) => void][] = [
  [
    'each usage that a provider reported counts once, in its run and in the session, with every field',
    (world) => {
      const { state, reported } = world
      const runs = [...groupedBy(reported, ({ run_id }) => run_id).values()]
      const totals = runs.map((parts) => sumOf(parts.map(({ usage }) => usage)))
      expect(state.usage).toEqual({
        ...sumOf(reported.map(({ usage }) => usage)),
        runs: world.begun().length,
        runs_with_usage: totals.length,
        runs_with_cost: totals.filter(({ cost_usd }) => cost_usd !== undefined).length,
      })
    },
  ],
  [
    'the log has the usage of each run and of each model',
    ({ log, reported }) => {
      const counted = usageOf(log)
      for (const key of ['run_id', 'model'] as const) {
        const expected = groupedBy(reported, (part) => part[key])
        const found = groupedBy(counted, (part) => part[key])
        expect(sums(found)).toEqual(sums(expected))
      }
    },
  ],
  [
    'a rebuild from the log gives the same usage, for each run that ends and for the session',
    ({ log, state }) => {
      const rebuilt = foldAll(log)
      expect(rebuilt.usage).toEqual(state.usage)
      expect(rebuilt.run?.usage).toEqual(state.run?.usage)
      // A snapshot in the middle, as it is on disk, gives the same.
      const half = Math.floor(log.length / 2)
      const stored = JSON.parse(JSON.stringify(foldAll(log.slice(0, Math.max(1, half))))) as State
      expect(foldAll(log.slice(Math.max(1, half)), stored).usage).toEqual(state.usage)
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
