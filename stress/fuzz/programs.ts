/** The work asked of agents, as fast-check generates and shrinks it. */
import fc, { type Arbitrary } from 'fast-check'
import type { Pace } from './pace.js'
import type { Call, Program } from './program.js'

export interface Programs {
  /** For several agents at once: the result does not depend on the order. */
  commuting: Arbitrary<Program>
  /** For one agent with no other work: it may need a decision, or write to any agent that exists. */
  calm: Arbitrary<Program>
  /** The result depends on what other agents do at the same time. */
  wild: Arbitrary<Program>
}

const child = fc.constantFrom('x', 'y', 'p', 'q')
const kind = fc.constantFrom('request', 'notification')

export function programsAt(pace: Pace): Programs {
  const delay = delayAt(pace)
  const pad = fc.oneof(
    { weight: 30, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.constant(pace.padCharacters) },
  )
  const leaf: Arbitrary<Program> = fc.record({ delay, pad })
  const acting: Arbitrary<Program> = fc.record({
    delay,
    pad,
    rounds: fc.array(fc.array(callAt(pace, leaf), { minLength: 1, maxLength: 3 }), {
      minLength: 1,
      maxLength: 2,
    }),
  })
  const commuting = fc.oneof(
    { weight: 4, arbitrary: leaf },
    { weight: 6, arbitrary: acting },
    { weight: 1, arbitrary: failureProgram(delay) },
  )
  const calm = fc.oneof(
    { weight: 9, arbitrary: commuting },
    { weight: 1, arbitrary: broadcastProgram(delay) },
    { weight: 4, arbitrary: approvalProgram(delay) },
  )
  const wild = fc.oneof(
    { weight: 10, arbitrary: calm },
    { weight: 1, arbitrary: limitProgram(pace) },
    { weight: 1, arbitrary: overflowing },
    { weight: 2, arbitrary: controlling },
    { weight: 1, arbitrary: fc.constant<Program>({ rounds: [[reminderCall(pace.soonReminderSeconds)]] }) },
  )
  return { commuting, calm, wild }
}

export function delayAt({ delayMsMax }: Pace): Arbitrary<number> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: delayMsMax }) },
  )
}

/** The number of failures before an answer. A permanently invalid request fails every time. */
function failureProgram(delay: Arbitrary<number>): Arbitrary<Program> {
  return fc.oneof(
    fc.record({ delay, fail: fc.constant('overloaded' as const), times: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ delay, fail: fc.constant('invalid' as const), times: fc.constant(1_000_000) }),
  )
}

function limitProgram({ retryAfterMs }: Pace): Arbitrary<Program> {
  return fc.constantFrom(1, 5).map((times) => ({ fail: 'rate_limit' as const, times, retryAfterMs }))
}

/** Whether the conversation can be shortened depends on what came before. */
const overflowing: Arbitrary<Program> = fc.constant({ fail: 'overflow' as const })

function broadcastProgram(delay: Arbitrary<number>): Arbitrary<Program> {
  return fc.record({ delay, kind }).map((of) => ({
    delay: of.delay,
    rounds: [[{ name: 'broadcast', input: { kind: of.kind }, sends: {} }]],
  }))
}

/** No agent here may run `set_metadata` by itself: the operator has to approve it. Others wait for an answer, or for a result. */
function approvalProgram(delay: Arbitrary<number>): Arbitrary<Program> {
  const metadata: Call = { name: 'set_metadata', input: { metadata: { a: 'b' } } }
  const question: Call = { name: 'ask_operator', input: { question: 'which?' } }
  const result: Call = { name: 'await_external', input: { what: 'the build' } }
  const calls = fc.constantFrom<Call[]>(
    [metadata],
    [question],
    [result],
    [metadata, metadata],
    [result, result],
  )
  return fc.record({ delay, calls }).map((of) => ({ delay: of.delay, rounds: [of.calls] }))
}

const controlling: Arbitrary<Program> = fc
  .record({
    agent: child,
    name: fc.constantFrom('gate', 'ungate', 'permit_turn', 'poke', 'subscribe', 'unsubscribe'),
  })
  .map(({ agent, name }) => ({ rounds: [[{ name, input: { agent } }]] }))

function callAt(pace: Pace, leaf: Arbitrary<Program>): Arbitrary<Call> {
  const relative = fc.oneof(fc.constant('parent'), child, fc.constantFrom(...pace.places))
  const passing = fc
    .record({ delay: delayAt(pace), call: sendCall(fc.oneof(fc.constant('parent'), child), leaf) })
    .map((of): Program => ({ delay: of.delay, rounds: [[of.call]] }))
  const nested = fc.oneof({ weight: 4, arbitrary: leaf }, { weight: 2, arbitrary: passing })
  return fc.oneof(
    { weight: 8, arbitrary: sendCall(relative, nested) },
    { weight: 4, arbitrary: waitCall(leaf) },
    { weight: 4, arbitrary: reading },
    { weight: 2, arbitrary: fc.constant(reminderCall(pace.reminderSeconds)) },
    { weight: 3, arbitrary: spawnCall(leaf) },
    // Tool programs are not part of the bundle, so the machine cannot run them.
    ...(pace.mode === 'processes' ? [{ weight: 4, arbitrary: running }] : []),
  )
}

function sendCall(to: Arbitrary<string>, sends: Arbitrary<Program>): Arbitrary<Call> {
  return fc
    .record({ to, kind, sends })
    .map((of) => ({ name: 'send_message', input: { to: of.to, kind: of.kind }, sends: of.sends }))
}

/**
 * If two agents waited for each other, chance would decide which one is refused. A name addresses a child, a sibling or
 * the parent. An agent named p or y has no relative with either name, so it never waits itself (places.ts).
 */
const waitedFor = child.map((name) => (name === 'x' || name === 'p' ? 'p' : 'y'))

function waitCall(leaf: Arbitrary<Program>): Arbitrary<Call> {
  return fc
    .record({ to: waitedFor, sends: leaf })
    .map(({ to, sends }) => ({ name: 'send_message', input: { to, wait: true }, sends }))
}

function reminderCall(delay_seconds: number): Call {
  return { name: 'remind_me', input: { delay_seconds }, sends: {} }
}

const reading: Arbitrary<Call> = fc.oneof(
  fc.constantFrom(
    { name: 'read_file', input: { path: 'notes.txt' } },
    { name: 'check_inbox', input: {} },
    { name: 'list_children', input: {} },
    { name: 'there_is_no_such_tool', input: {} },
  ),
  child.map((agent) => ({ name: 'inspect_agent', input: { agent } })),
)

const running: Arbitrary<Call> = fc
  .constantFrom('echo done', 'sleep 0.3', 'sleep 0.1; echo done; exit 3')
  .map((command) => ({ name: 'shell', input: { command } }))

function spawnCall(leaf: Arbitrary<Program>): Arbitrary<Call> {
  const completing: Program = { rounds: [[{ name: 'complete', input: { result: 'all is done' } }]] }
  return fc
    .record({
      wait: fc.boolean(),
      sends: fc.oneof(leaf, fc.constant(completing)),
      number: fc.integer({ min: 0, max: 9999 }),
    })
    .map(({ wait, sends, number }) => ({
      name: 'spawn_agent',
      input: { name: `c${number}`, ...(wait ? { wait } : {}) },
      sends,
    }))
}
