/** Sequences that fast-check generates and shrinks. */
import fc, { type Arbitrary } from 'fast-check'
import { type Actions, actionsOf } from './actions.js'
import type { Pace } from './pace.js'
import type { Place } from './places.js'
import { delayAt, programsAt } from './programs.js'
import type { Action, Command, Harm, Sequence, Step } from './steps.js'

/** About half of the sequences have a twin. */
export function sequencesAt(pace: Pace): Arbitrary<Sequence> {
  const actions = actionsOf(pace.places, programsAt(pace))
  return fc
    .boolean()
    .chain((hasTwin) =>
      fc.record({ salt: fc.nat(), hasTwin: fc.constant(hasTwin), steps: stepsOf(pace, actions, hasTwin) }),
    )
}

/** Four bounded parts instead of one long list: the sum is rarely short, and each part can shrink to nothing. */
function stepsOf(pace: Pace, actions: Actions, hasTwin: boolean): Arbitrary<Step[]> {
  const part = fc.array(stepOf(pace, actions, hasTwin), { maxLength: pace.partSteps, size: 'max' })
  return fc.tuple(birthsAt(pace), part, part, part, part).map((parts) => parts.flat())
}

/** Most places have an agent from the start. */
function birthsAt(pace: Pace): Arbitrary<Step[]> {
  const birth = (at: Place): Arbitrary<Command | null> =>
    fc.option(commandOf(pace, fc.constant<Action>({ do: 'spawn', at, prompt: null, ifExists: 'fail' })), {
      freq: 9,
    })
  return fc
    .tuple(...pace.places.map(birth))
    .map((commands) =>
      commands.flatMap((command): Step[] =>
        command === null ? [] : [{ kind: 'commands', commands: [command], recoveryHarms: [], clockOffMs: 0 }],
      ),
    )
}

function stepOf(pace: Pace, actions: Actions, hasTwin: boolean): Arbitrary<Step> {
  const alone = commandOf(pace, hasTwin ? actions.calm : actions.wild)
  const together = commandOf(pace, hasTwin ? actions.commuting : actions.wild)
  const recoveryHarms: Arbitrary<Harm[]> = fc.oneof(
    { weight: 4, arbitrary: fc.constant<Harm[]>([]) },
    // After two failed attempts recovery leaves a turn to the operator, and the next message overtakes it. The twin
    // cannot reproduce that.
    { weight: 1, arbitrary: fc.array(harmAt(pace), { minLength: 1, maxLength: hasTwin ? 1 : 2 }) },
  )
  const commands = (
    list: Arbitrary<Command[]>,
    clockOffMs: Arbitrary<number> = fc.constant(0),
  ): Arbitrary<Step> =>
    fc.record({
      kind: fc.constant('commands' as const),
      commands: list,
      recoveryHarms,
      clockOffMs,
    })
  const steps = [
    { weight: 70, arbitrary: commands(fc.tuple(alone)) },
    { weight: 14, arbitrary: commands(fc.array(together, { minLength: 2, maxLength: 4 })) },
  ]
  if (pace.mode === 'processes') return fc.oneof(...steps)
  if (pace.hasWrongClocks) steps.push({ weight: 6, arbitrary: commands(fc.tuple(alone), clockOff) })
  return fc.oneof(
    ...steps,
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('clock' as const), ms: jump }) },
    { weight: 2, arbitrary: fc.constant<Step>({ kind: 'cut' }) },
  )
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/**
 * Past the life of a token (7 days), past the delay of a scheduled message, and back. No sum of a few jumps comes near
 * either limit.
 */
const jump = fc.constantFrom(
  31_000,
  3 * HOUR + 7 * MINUTE,
  9 * DAY + 17 * MINUTE,
  -HOUR - 3 * MINUTE,
  -20 * HOUR,
)

/** A clock that was never set, or is set to the wrong year. */
const clockOff = fc.constantFrom(400 * DAY, -DAY)

const at = fc.oneof(
  fc.integer({ min: 1, max: 12 }),
  fc.integer({ min: 1, max: 40 }),
  fc.integer({ min: 1, max: 150 }),
)

/** Uniform over the persisting steps; one of the last, which acknowledge, is chosen twice as often. */
const killPersisting: Arbitrary<Harm> = fc.record({
  harm: fc.constant('kill_persisting' as const),
  sharePercent: fc.oneof(
    { weight: 2, arbitrary: fc.integer({ min: 0, max: 99 }) },
    { weight: 1, arbitrary: fc.integer({ min: 75, max: 99 }) },
  ),
  isAfter: fc.boolean(),
})

function harmAt({ mode, delayMsMax }: Pace): Arbitrary<Harm> {
  const ms = fc.integer({ min: 0, max: (3 * delayMsMax) / 2 })
  const both = [
    { weight: 6, arbitrary: fc.record({ harm: fc.constant('kill' as const), at }) },
    { weight: 8, arbitrary: killPersisting },
    { weight: 5, arbitrary: fc.record({ harm: fc.constant('kill_later' as const), ms }) },
    {
      weight: 2,
      arbitrary: fc.record({
        harm: fc.constant('signal' as const),
        ms,
        name: fc.constantFrom('SIGTERM' as const, 'SIGINT' as const),
      }),
    },
  ]
  if (mode === 'processes') return fc.oneof(...both)
  const errno = fc.constantFrom('ENOSPC' as const, 'EIO' as const, 'EDQUOT' as const)
  return fc.oneof(
    ...both,
    { weight: 6, arbitrary: fc.record({ harm: fc.constant('cut' as const), at }) },
    { weight: 5, arbitrary: fc.record({ harm: fc.constant('fault' as const), at, errno }) },
    { weight: 1, arbitrary: fc.record({ harm: fc.constant('short_write' as const), at }) },
  )
}

function commandOf(pace: Pace, action: Arbitrary<Action>): Arbitrary<Command> {
  return fc.record({
    action,
    harm: fc.oneof(fc.constant(null), harmAt(pace)),
    startMs: delayAt(pace),
  })
}
