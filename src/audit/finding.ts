/** Findings of the audit, and how a check adds them. */
import { SubstratError } from '../errors.js'
import type { Invariant } from './invariants.js'

export interface Finding {
  agent_id: string | null
  /** The invariant that does not hold, in words. */
  invariant: Invariant
  detail: string
  /** The affected file or directory. */
  path?: string
  /** The next command for this finding, in place of the one in its row of INVARIANTS. */
  remedy?: string
  /** Seq of the log's last record at the check. If it differs at the second check, a writer was active, and the finding is dropped. */
  last_seq?: number
}

export type AddFinding = (invariant: Invariant, detail: string, path?: string, remedy?: string) => void

export function addFindingTo(findings: Finding[], agentId: string | null): AddFinding {
  return (invariant, detail, path, remedy) => {
    const known = { ...(path === undefined ? {} : { path }), ...(remedy === undefined ? {} : { remedy }) }
    findings.push({ agent_id: agentId, invariant, detail, ...known })
  }
}

/** Reports an unreadable file as a finding, so that the audit can check the rest. */
export function reportUnreadable(error: unknown, path: string, found: AddFinding): void {
  // `checkFiles` reports each symlink once.
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
