/** Which faults are tried at a step: each error once, each condition that lasts, and writes that are cut short. */
import type { Operation } from '../../src/host/disk/operation.js'
import type { Fault } from '../machine/process.js'
import { CONDITIONS, type Condition, changes, errorsOf, FILLING, SHORT_WRITES } from './errors.js'

export interface Plan {
  /** Of the command, from 1. */
  step: number
  /** As `--fault` names it. */
  name: string
  first(operation: Operation): Fault
  /** What lasts from then on; nothing, where the fault comes once. */
  condition: Condition | undefined
}

/** Of a file of the user's its provider, or its tool, says what is wrong: that is no failure of the home. Settings are in it. */
export function isOurs({ point, path }: Operation): boolean {
  if (point.startsWith('user_file.')) return path.startsWith(process.env.SUBSTRAT_HOME as string)
  return !point.startsWith('workspace.')
}

/** `isKilled`: the process also dies there; the kill sweep does that to the others, as real processes. */
export function plansAt(step: number, operation: Operation, isKilled: boolean): Plan[] {
  if (!isOurs(operation)) return []
  const killed: Plan = { step, name: 'killed', first: () => ({ kill: true }), condition: undefined }
  return [
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

/** Where it makes no difference to this step it is the same as from a later one on. */
function lastingFrom(step: number, operation: Operation): Plan[] {
  const hit = CONDITIONS.filter((condition) => condition.fault(operation) !== undefined)
  return hit.map((condition) => ({
    step,
    name: condition.name,
    first: (met) => condition.fault(met),
    condition,
  }))
}
