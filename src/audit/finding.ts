/** What the audit of a home finds. */
import { SubstratError } from '../errors.js'
import type { Invariant } from './invariants.js'

export interface Finding {
  agent_id: string | null
  /** Which invariant does not hold, in words. */
  invariant: Invariant
  detail: string
  /** The file or directory that it is about. */
  path?: string
  /** The last record of the agent's log when it was looked at: what only a living writer can have changed since. */
  last_seq?: number
}

export type AddFinding = (invariant: Invariant, detail: string, path?: string) => void

export function addFindingTo(findings: Finding[], agentId: string | null): AddFinding {
  return (invariant, detail, path) => {
    findings.push({ agent_id: agentId, invariant, detail, ...(path === undefined ? {} : { path }) })
  }
}

/** What is in the way of a look is a finding too, and the look goes on elsewhere. */
export function reportUnreadable(error: unknown, path: string, found: AddFinding): void {
  // A link is found by its name, once: that nothing behind it is read needs no saying.
  if (error instanceof SubstratError && error.code === 'HOME_EXPOSED') return
  const { message } = error as Error
  const where = error instanceof SubstratError ? error.facts.path : undefined
  found('all files of a home can be read', message, typeof where === 'string' ? where : path)
}

export function unlessUnreadable(path: string, found: AddFinding, look: () => void): void {
  try {
    look()
  } catch (error) {
    reportUnreadable(error, path, found)
  }
}
