/** The faults tried at a step: each error once, each lasting condition, and short writes. */
import type { Operation } from '../../src/host/disk/operation.js'
import type { Fault } from '../machine/process.js'
import { CONDITIONS, type Condition, changes, errorsOf, FILLING, SHORT_WRITES } from './errors.js'

export interface Plan {
  /** The command's step, from 1. */
  step: number
  /** The name that `--fault` takes. */
  name: string
  first(operation: Operation): Fault
  /** The condition that lasts from this step on; undefined for a single error. */
  condition: Condition | undefined
}

/**
 * The provider or the tool reports errors of the user's own files. Such an error is not a failure of the home. The
 * settings file counts as the home's.
 */
export function isOurs({ point, path }: Operation): boolean {
  if (point.startsWith('user_file.')) return path.startsWith(process.env.SUBSTRAT_HOME as string)
  return !point.startsWith('workspace.')
}

export const FAILING_CLOSES = 'failing closes'

/**
 * `isKilled`: also kill the process at this step. The kill sweep does that to the other commands, as real processes.
 */
export function plansAt(step: number, operation: Operation, isKilled: boolean): Plan[] {
  // No step of the fault hook, because a failed close is ignored. So one run has them all.
  const closes: Plan = {
    step,
    name: FAILING_CLOSES,
    first: () => ({ closesFail: true }),
    condition: undefined,
  }
  const ofAll = step === 1 ? [closes] : []
  if (!isOurs(operation)) return ofAll
  const killed: Plan = { step, name: 'killed', first: () => ({ kill: true }), condition: undefined }
  return [
    ...ofAll,
    ...(isKilled && changes(operation) ? [killed] : []),
    ...onceAt(step, operation),
    ...shortAt(step, operation),
    ...lastingFrom(step, operation),
  ]
}

function onceAt(step: number, operation: Operation): Plan[] {
  return errorsOf(operation).map((errno) => ({
    step,
    name: `${errno} once`,
    first: () => ({ errno }),
    condition: undefined,
  }))
}

function shortAt(step: number, { name, bytes }: Operation): Plan[] {
  if (name !== 'write' || bytes === undefined || bytes.length < 2) return []
  const cut = (of: (bytes: number) => number) => () => ({ writtenBytesMax: of(bytes.length) })
  return Object.entries(SHORT_WRITES).flatMap(([length, of]) => [
    { step, name: `short write, ${length}`, first: cut(of), condition: undefined },
    { step, name: `short write, ${length}, then full`, first: cut(of), condition: FILLING },
  ])
}

/** If the condition does not affect this step, it equals the same condition from a later step on. */
function lastingFrom(step: number, operation: Operation): Plan[] {
  const hit = CONDITIONS.filter((condition) => condition.fault(operation) !== undefined)
  return hit.map((condition) => ({
    step,
    name: condition.name,
    first: (met) => condition.fault(met),
    condition,
  }))
}
