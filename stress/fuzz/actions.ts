/** Commands that fast-check generates and shrinks. */
import fc, { type Arbitrary } from 'fast-check'
import type { Place } from './places.js'
import type { Program } from './program.js'
import type { Programs } from './programs.js'
import type { Action } from './steps.js'

export interface Actions {
  /** Actions whose result does not depend on their order, for several commands at once. */
  commuting: Arbitrary<Action>
  /** Actions whose result does not depend on an earlier interruption, for one command alone. */
  calm: Arbitrary<Action>
  wild: Arbitrary<Action>
}

type At = Arbitrary<Place>

export function actionsOf(places: readonly Place[], { commuting, calm, wild }: Programs): Actions {
  const at = fc.constantFrom(...places)
  const [managing, bringing, looking] = [managingAt(at), bringingAt(at), lookingAt(at)]
  return {
    commuting: fc.oneof(
      { weight: 8, arbitrary: sendAction(at, commuting, commuting) },
      { weight: 3, arbitrary: bringing },
      { weight: 1, arbitrary: looking },
    ),
    calm: fc.oneof(
      { weight: 12, arbitrary: sendAction(at, calm, commuting) },
      { weight: 5, arbitrary: spawnAction(at, commuting) },
      { weight: 7, arbitrary: managing },
      { weight: 3, arbitrary: bringing },
      { weight: 1, arbitrary: looking },
    ),
    wild: fc.oneof(
      { weight: 12, arbitrary: sendAction(at, wild, wild) },
      { weight: 5, arbitrary: spawnAction(at, wild) },
      { weight: 7, arbitrary: managing },
      { weight: 4, arbitrary: bringing },
      { weight: 1, arbitrary: looking },
      { weight: 1, arbitrary: fc.constant<Action>({ do: 'prune' }) },
    ),
  }
}

function sendAction(at: At, direct: Arbitrary<Program>, mailed: Arbitrary<Program>): Arbitrary<Action> {
  const facts = {
    do: fc.constant('send' as const),
    at,
    drains: fc.boolean(),
    key: oneOf('none', 'none', 'new', 'again'),
    ifWaiting: oneOf('supersede', 'fail', 'queue'),
    turnTimeout: fc.integer({ min: 0, max: 12 }).map((number) => number === 12),
  }
  return fc.oneof(
    fc.record({ ...facts, how: fc.constant('direct' as const), program: direct }),
    fc.record({
      ...facts,
      how: oneOf('queue', 'queue', 'notification', 'later', 'from_parent', 'from_sibling'),
      program: mailed,
    }),
  )
}

function spawnAction(at: At, prompt: Arbitrary<Program>): Arbitrary<Action> {
  return fc.record({
    do: fc.constant('spawn' as const),
    at,
    prompt: fc.option<Program>(prompt),
    ifExists: oneOf('fail', 'use'),
  })
}

function decidingAt(at: At): Arbitrary<Action> {
  return fc.record({
    do: fc.constant('decide' as const),
    at,
    decision: oneOf('approve', 'deny', 'input', 'result'),
    by: oneOf('token', 'token', 'token', 'machine', 'machine', 'old', 'foreign', 'forged', 'malformed'),
  })
}

function managingAt(at: At): Arbitrary<Action> {
  return fc.oneof(
    { weight: 6, arbitrary: decidingAt(at) },
    {
      weight: 6,
      arbitrary: fc.record({
        do: oneOf('rotate', 'resume', 'resume', 'retry', 'ungate', 'ungate', 'gate'),
        at,
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('suspend' as const), at, hold: fc.boolean() }) },
    {
      weight: 3,
      arbitrary: fc.record({ do: oneOf('cancel', 'terminate', 'remove'), at, recursive: fc.boolean() }),
    },
    { weight: 1, arbitrary: fc.record({ do: oneOf('fork', 'set'), at }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('schedule' as const),
        at,
        overlap: oneOf('skip', 'queue'),
        missed: oneOf('once', 'skip', 'all'),
      }),
    },
  )
}

function bringingAt(at: At): Arbitrary<Action> {
  return fc.oneof(
    fc.record({ do: fc.constant('deliver' as const), at: fc.option(at) }),
    fc.record({ do: fc.constant('recover' as const), continues: oneOf('roots', 'all', 'none') }),
    fc.record({
      do: fc.constant('wait' as const),
      at: fc.uniqueArray(at, { minLength: 1, maxLength: 3 }),
    }),
  )
}

function lookingAt(at: At): Arbitrary<Action> {
  return fc.record({
    do: fc.constant('look' as const),
    with: oneOf('show', 'list', 'tree', 'log', 'inbox'),
    at,
  })
}

function oneOf<const T extends string>(...words: T[]): Arbitrary<T> {
  return fc.constantFrom(...words)
}
