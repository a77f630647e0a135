/** A check of `selftest`: its result, and the remedy. */
import { SubstratError } from '../../errors.js'
import type { SelftestCheck } from '../../schema/output-home.js'

export interface Found {
  verdict: SelftestCheck['verdict']
  detail: string
  /** The remedy. */
  next?: string | undefined
}

export function holds(detail: string): Found {
  return { verdict: 'holds', detail }
}

export function doesNotHold(detail: string, next: string): Found {
  return { verdict: 'does_not_hold', detail, next }
}

export function cannotTell(detail: string, next?: string): Found {
  return { verdict: 'unknown', detail, next }
}

/** The setting that helps on a file system that does not do what it should. */
export const LOCAL_HOME =
  'set SUBSTRAT_HOME to a directory on a local disk (ext4, xfs, btrfs), or for several hosts to a home in PostgreSQL'

/** For these, the hint of the failed step helps. For any other, only another file system does. */
const OF_USER = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'EMFILE', undefined])

/** A step that fails means that the machine does not do what substrat needs. */
export async function check(what: string, look: () => Found | Promise<Found>): Promise<SelftestCheck> {
  let found: Found
  try {
    found = await look()
  } catch (error) {
    if (!(error instanceof SubstratError)) throw error
    const next = OF_USER.has(error.facts.errno as string | undefined) ? error.hint : undefined
    found = doesNotHold(error.message, next ?? LOCAL_HOME)
  }
  return { what, verdict: found.verdict, detail: found.detail, next: found.next ?? null }
}
