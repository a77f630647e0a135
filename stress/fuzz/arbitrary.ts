/** Sequences, as fast-check makes and shrinks them. */
import fc, { type Arbitrary } from 'fast-check'
import type { Call, Program } from './program.js'
import {
  type Action,
  type Command,
  type Harm,
  PLACES,
  type Place,
  type Sequence,
  type Step,
} from './steps.js'

const place = fc.constantFrom(...PLACES)
const seconds = (most: number): Arbitrary<number> => fc.integer({ min: 0, max: most * 1000 })

/** About half of the sequences are those that have a twin. */
export const sequences: Arbitrary<Sequence> = fc
  .boolean()
  .chain((hasTwin) =>
    fc.record(
      { salt: fc.nat(), hasTwin: fc.constant(hasTwin), steps: stepsOf(hasTwin) },
      { noNullPrototype: true },
    ),
  )

/** Parts of a bounded length rather than one long list: their sum is seldom short, and each shrinks to nothing. */
function stepsOf(hasTwin: boolean): Arbitrary<Step[]> {
  const part = fc.array(stepOf(hasTwin), { maxLength: 36, size: 'max' })
  return fc.tuple(births, part, part, part, part).map((parts) => parts.flat())
}

function stepOf(hasTwin: boolean): Arbitrary<Step> {
  const alone = commandOf(hasTwin ? calmAction : wildAction)
  const together = commandOf(hasTwin ? commutingAction : wildAction)
  const recoveryHarms: Arbitrary<Harm[]> = fc.oneof(
    { weight: 4, arbitrary: fc.constant<Harm[]>([]) },
    { weight: 1, arbitrary: fc.array(harm, { minLength: 1, maxLength: 2 }) },
  )
  const commands = (list: Arbitrary<Command[]>): Arbitrary<Step> =>
    fc.record({ kind: fc.constant('commands' as const), commands: list, recoveryHarms })
  return fc.oneof(
    { weight: 70, arbitrary: commands(fc.tuple(alone)) },
    { weight: 14, arbitrary: commands(fc.array(together, { minLength: 2, maxLength: 4 })) },
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('clock' as const), ms: jump }) },
    { weight: 2, arbitrary: fc.constant({ kind: 'cut' as const }) },
  )
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** Over the time of a token (7 days), over that of what is sent for later (an hour), and back; no sum of few comes near either. */
const jump = fc.constantFrom(
  31_000,
  3 * HOUR + 7 * MINUTE,
  9 * 24 * HOUR + 17 * MINUTE,
  -HOUR - 3 * MINUTE,
  -20 * HOUR,
)

const at = fc.oneof(
  fc.integer({ min: 1, max: 12 }),
  fc.integer({ min: 1, max: 40 }),
  fc.integer({ min: 1, max: 150 }),
)

const harm: Arbitrary<Harm> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ harm: fc.constant('kill' as const), at }) },
  { weight: 5, arbitrary: fc.record({ harm: fc.constant('kill_later' as const), ms: seconds(3) }) },
  { weight: 6, arbitrary: fc.record({ harm: fc.constant('cut' as const), at }) },
  {
    weight: 5,
    arbitrary: fc.record({
      harm: fc.constant('fault' as const),
      at,
      errno: fc.constantFrom('ENOSPC' as const, 'EIO' as const, 'EDQUOT' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ harm: fc.constant('short_write' as const), at }) },
  {
    weight: 2,
    arbitrary: fc.record({
      harm: fc.constant('signal' as const),
      ms: seconds(3),
      name: fc.constantFrom('SIGTERM' as const, 'SIGINT' as const),
    }),
  },
)

function commandOf(action: Arbitrary<Action>): Arbitrary<Command> {
  return fc.record({
    action,
    harm: fc.oneof({ weight: 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: harm }),
    startMs: fc.oneof(fc.constant(0), seconds(1)),
  })
}

/** Most places have somebody from the beginning. */
const births: Arbitrary<Step[]> = fc
  .tuple(
    ...PLACES.map((at) =>
      fc.option(commandOf(fc.constant<Action>({ do: 'spawn', at, prompt: null, ifExists: 'fail' })), {
        freq: 9,
      }),
    ),
  )
  .map((commands) =>
    commands.flatMap((command): Step[] =>
      command === null ? [] : [{ kind: 'commands', commands: [command], recoveryHarms: [] }],
    ),
  )

// Programs

const delay = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: seconds(2) })
const pad = fc.oneof({ weight: 30, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(70_000) })
const leaf: Arbitrary<Program> = fc.record({ delay, pad })

const failing: Arbitrary<Program> = fc
  .record({
    delay,
    fail: fc.constantFrom('overloaded' as const, 'invalid' as const),
    times: fc.constantFrom(1, 2, 3),
  })
  .map((program) => (program.fail === 'invalid' ? { ...program, times: 1_000_000 } : program))

/** Whether that can be made shorter depends on what came before it. */
const overflowing: Arbitrary<Program> = fc.record({ delay, fail: fc.constant('overflow' as const) })

const limited: Arbitrary<Program> = fc.record({
  delay,
  fail: fc.constant('rate_limit' as const),
  times: fc.constantFrom(1, 5),
})

const child = fc.constantFrom('x', 'y', 'p', 'q')
const kind = fc.constantFrom('request', 'notification')

function sending(to: Arbitrary<string>, sends: Arbitrary<Program>): Arbitrary<Call> {
  return fc.record({ to, kind, sends }).map((message) => ({
    name: 'send_message',
    input: { to: message.to, kind: message.kind },
    sends: message.sends,
  }))
}

const remember: Arbitrary<Call> = fc.constantFrom(60, 1800).map((delay_seconds) => ({
  name: 'remind_me',
  input: { delay_seconds },
  sends: {},
}))
const reading: Arbitrary<Call> = fc.oneof(
  fc.constant({ name: 'read_file', input: { path: 'notes.txt' } }),
  fc.constant({ name: 'check_inbox', input: {} }),
  fc.constant({ name: 'list_children', input: {} }),
  fc.constant({ name: 'there_is_no_such_tool', input: {} }),
)
const inspecting: Arbitrary<Call> = child.map((agent) => ({ name: 'inspect_agent', input: { agent } }))
const nested: Arbitrary<Program> = fc.oneof(
  { weight: 4, arbitrary: leaf },
  {
    weight: 2,
    arbitrary: fc
      .record({ delay, call: sending(fc.oneof(fc.constant('parent'), child), leaf) })
      .map(({ delay: before, call }) => ({ delay: before, rounds: [[call]] })),
  },
)
const waitingForChild: Arbitrary<Call> = fc.record({ to: child, sends: leaf }).map(({ to, sends }) => ({
  name: 'send_message',
  input: { to, wait: true },
  sends,
}))
const bearing: Arbitrary<Call> = fc
  .record({ wait: fc.boolean(), isDone: fc.boolean(), sends: leaf, number: fc.integer({ min: 0, max: 999 }) })
  .map(({ wait, isDone, sends, number }) => ({
    name: 'spawn_agent',
    input: { name: `c${number}`, ...(wait ? { wait } : {}) },
    sends: isDone ? { rounds: [[{ name: 'complete', input: { result: 'all is done' } }]] } : sends,
  }))

const call: Arbitrary<Call> = fc.oneof(
  { weight: 8, arbitrary: sending(fc.oneof(fc.constant('parent'), child, place), nested) },
  { weight: 4, arbitrary: waitingForChild },
  { weight: 4, arbitrary: reading },
  { weight: 1, arbitrary: inspecting },
  { weight: 2, arbitrary: remember },
  { weight: 3, arbitrary: bearing },
)

const acting: Arbitrary<Program> = fc.record({
  delay,
  pad,
  rounds: fc.array(fc.array(call, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 2 }),
})
const broadcasting: Arbitrary<Program> = fc.record({ delay, kind }).map(({ delay: before, kind: of }) => ({
  delay: before,
  rounds: [[{ name: 'broadcast', input: { kind: of }, sends: {} }]],
}))
/** `set_metadata` is allowed to nobody here: a person is asked. */
const asking: Arbitrary<Program> = fc
  .record({
    delay,
    tools: fc.constantFrom(['set_metadata'], ['ask_operator'], ['set_metadata', 'set_metadata']),
  })
  .map(({ delay: before, tools }) => ({
    delay: before,
    rounds: [
      tools.map((name) => ({
        name,
        input: name === 'ask_operator' ? { question: 'which?' } : { metadata: { a: 'b' } },
      })),
    ],
  }))
const controlling: Arbitrary<Program> = fc
  .record({
    agent: child,
    name: fc.constantFrom('gate', 'ungate', 'permit_turn', 'poke', 'subscribe', 'unsubscribe'),
  })
  .map(({ agent, name }) => ({ rounds: [[{ name, input: { agent } }]] }))

/** What several agents may be asked at once, and in any order: the same comes of it. */
const commuting: Arbitrary<Program> = fc.oneof(
  { weight: 4, arbitrary: leaf },
  { weight: 5, arbitrary: acting },
  { weight: 1, arbitrary: failing },
)
const calm: Arbitrary<Program> = fc.oneof(
  { weight: 9, arbitrary: commuting },
  { weight: 1, arbitrary: broadcasting },
  { weight: 4, arbitrary: asking },
)
const wild: Arbitrary<Program> = fc.oneof(
  { weight: 10, arbitrary: calm },
  { weight: 1, arbitrary: limited },
  { weight: 1, arbitrary: overflowing },
  { weight: 2, arbitrary: controlling },
)

// Actions

function sendingTo(program: Arbitrary<Program>, direct: Arbitrary<Program> = program): Arbitrary<Action> {
  const facts = {
    do: fc.constant('send' as const),
    at: place,
    drains: fc.boolean(),
    key: fc.constantFrom('none' as const, 'none' as const, 'new' as const, 'again' as const),
    ifWaiting: fc.constantFrom('supersede' as const, 'fail' as const, 'queue' as const),
    turnTimeout: fc.oneof(
      { weight: 12, arbitrary: fc.constant(false) },
      { weight: 1, arbitrary: fc.constant(true) },
    ),
  }
  const mailed = fc.constantFrom(
    'queue' as const,
    'queue' as const,
    'notification' as const,
    'later' as const,
    'from_parent' as const,
    'from_sibling' as const,
  )
  return fc.oneof(
    fc.record({ ...facts, how: fc.constant('direct' as const), program: direct }),
    fc.record({ ...facts, how: mailed, program }),
  )
}

const looking: Arbitrary<Action> = fc.record({
  do: fc.constant('look' as const),
  with: fc.constantFrom('show' as const, 'list' as const, 'tree' as const, 'log' as const, 'inbox' as const),
  at: place,
})
const bringing: Arbitrary<Action> = fc.oneof(
  fc.record({ do: fc.constant('deliver' as const), at: fc.option(place) }),
  fc.record({
    do: fc.constant('recover' as const),
    continues: fc.constantFrom('roots' as const, 'all' as const, 'none' as const),
  }),
  fc.record({ do: fc.constant('wait' as const), at: fc.uniqueArray(place, { minLength: 1, maxLength: 3 }) }),
)
const spawning = (program: Arbitrary<Program>): Arbitrary<Action> =>
  fc.record({
    do: fc.constant('spawn' as const),
    at: place,
    prompt: fc.option<Program>(program),
    ifExists: fc.constantFrom('fail' as const, 'use' as const),
  })
const deciding: Arbitrary<Action> = fc.record({
  do: fc.constant('decide' as const),
  at: place,
  decision: fc.constantFrom('approve' as const, 'deny' as const, 'input' as const, 'result' as const),
  by: fc.constantFrom(
    'token' as const,
    'token' as const,
    'machine' as const,
    'old' as const,
    'foreign' as const,
    'forged' as const,
    'malformed' as const,
  ),
})
const managing: Arbitrary<Action> = fc.oneof(
  { weight: 6, arbitrary: deciding },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom<'rotate' | 'resume' | 'retry' | 'ungate' | 'gate'>(
        'rotate',
        'resume',
        'resume',
        'retry',
        'ungate',
        'ungate',
        'gate',
      ),
      at: place,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('suspend' as const), at: place, hold: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('cancel' as const, 'terminate' as const, 'remove' as const),
      at: place,
      recursive: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fork' as const), at: place }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('set' as const), at: place }) },
)

const commutingAction: Arbitrary<Action> = fc.oneof(
  { weight: 8, arbitrary: sendingTo(commuting) },
  { weight: 3, arbitrary: bringing },
  { weight: 1, arbitrary: looking },
)
const calmAction: Arbitrary<Action> = fc.oneof(
  { weight: 12, arbitrary: sendingTo(commuting, calm) },
  { weight: 5, arbitrary: spawning(commuting) },
  { weight: 7, arbitrary: managing },
  { weight: 3, arbitrary: bringing },
  { weight: 1, arbitrary: looking },
)
const wildAction: Arbitrary<Action> = fc.oneof(
  { weight: 12, arbitrary: sendingTo(wild) },
  { weight: 5, arbitrary: spawning(wild) },
  { weight: 7, arbitrary: managing },
  { weight: 4, arbitrary: bringing },
  { weight: 1, arbitrary: looking },
  { weight: 1, arbitrary: fc.constant({ do: 'prune' as const }) },
)

export type { Place }
