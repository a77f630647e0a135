/**
 * Programs that this process cannot see, because they are on another host or in another container, and the leash that ends them.
 *
 * Invariants:
 * - Such a program counts as dead only if its record names a lease, and that lease has been over for `limits.leashMarginMs`.
 * - This process holds the agent, so every earlier lease is over. It counts the margin by its own clock, from the moment at which it
 *   got the agent, and adds only the time that the database has measured before.
 * - Nothing is recorded before the margin is over. A process that dies while it waits leaves the log as it was.
 */
import { sleep } from '../clock.js'
import { ownIdentity } from '../host/identity.js'
import { hostLabel, placeOfGroup } from '../provider/other-host.js'
import type { ProcessGroup } from '../schema/types.js'
import type { Session } from '../session/session.js'
import { isAtWork } from '../session/status.js'
import { PROGRAM_TABLE, type ProgramRow } from './table.js'

export interface TakeoverRules {
  /** The setting `recovery.takeover`. */
  takesOver?: boolean
  /** Whether the caller continues an open run. Only then it waits. */
  continuesTurn: boolean
  note(text: string): void
}

export function programRow(
  { store, state, leashesLeftMs }: Pick<Session, 'store' | 'state' | 'leashesLeftMs'>,
  group: ProcessGroup,
  { takesOver = false }: Partial<TakeoverRules>,
): ProgramRow {
  const place = placeOfGroup(store, state, group)
  if (place === 'past') return 'past'
  if (place === 'here' && group.pid_namespace === ownIdentity().pid_namespace) return 'here'
  if (takesOver && group.lease !== undefined && leashesLeftMs !== undefined)
    return leashesLeftMs > 0 ? 'leashed' : 'ended'
  return place === 'here' ? 'foreign' : 'elsewhere'
}

/** Waits until each `leashed` program of the turn is `ended`. Does not wait if another program stops the turn in any case. */
export async function outliveLeashes(session: Session, rules: TakeoverRules): Promise<void> {
  if (!rules.continuesTurn) return
  const groups = programsOf(session)
  const actions = groups.map((group) => PROGRAM_TABLE[programRow(session, group, rules)].action)
  const first = groups[actions.indexOf('outlive')]
  if (first === undefined || actions.includes('leave')) return
  const leftMs = session.leashesLeftMs ?? 0
  const host = hostLabel(session.state, first)
  rules.note(
    `waiting ${Math.ceil(leftMs / 1000)} s until the leash on the host ${host} has ended the programs of the interrupted turn`,
  )
  // The kernel counts the time since its start in steps of 10 ms, so that a few of them may be left after the first sleep.
  for (let left = leftMs, sleeps = 0; left > 0 && sleeps < SLEEPS_MAX; sleeps++) {
    await sleep(left + UPTIME_STEP_MS)
    left = session.leashesLeftMs ?? 0
  }
}

const UPTIME_STEP_MS = 10
const SLEEPS_MAX = 5

/** The programs on which the next step of the turn depends. */
function programsOf({ state }: Session): ProcessGroup[] {
  const { run, recovery } = state
  if (run === null) return []
  if (recovery.interruption?.reason === 'other_host') return run.left?.groups ?? []
  if (run.status !== 'open' || !isAtWork(state)) return []
  return [run.process, ...run.calls.map(({ group }) => group), ...run.servers].filter(
    (group) => group !== null,
  )
}
