/** A turn that stays interrupted because its programs may be alive on another host: checks again whether they are gone. */
import { ownIdentity } from '../host/identity.js'
import { killEscaped, killOrphanedGroup, tagOfRun } from '../provider/process-group.js'
import type { ProcessGroup } from '../schema/types.js'
import type { Session } from '../session/session.js'
import type { Run } from '../session/state.js'
import { outliveLeashes, programRow, type TakeoverRules } from './takeover.js'

/**
 * Waits for leashes first, also for those of an open run's programs. Then records that the programs of an interrupted run are gone,
 * so that the turn continues automatically. A crash before the record changes nothing: the next visit checks again.
 */
export async function checkPrograms(session: Session, rules: TakeoverRules): Promise<void> {
  await outliveLeashes(session, rules)
  const { run, recovery, state } = session.state
  if (recovery.interruption?.reason !== 'other_host' || state === 'terminated') return
  const { left } = run as Run
  const seen: (By | undefined)[] = []
  for (const group of left?.groups ?? [])
    seen.push(
      programRow(session, group, rules) === 'ended' ? 'leash' : await whoSaw(session, run as Run, group),
    )
  if (seen.length === 0 || seen.includes(undefined)) return
  const by = seen.includes('person') ? 'person' : 'host'
  const leash = by === 'host' && seen.includes('leash') ? { leash: true } : {}
  session.append([{ kind: 'run.programs_gone', run_id: (run as Run).run_id, by, ...leash }])
}

type By = 'host' | 'person' | 'leash'

/** Undefined: the program may be alive. */
async function whoSaw({ store }: Session, run: Run, group: ProcessGroup): Promise<By | undefined> {
  const own = ownIdentity()
  if (group.kernel_boot_id === own.kernel_boot_id) {
    const outcome = await killOrphanedGroup(group, run.run_id, store.address)
    await killEscaped(group, tagOfRun(run.run_id, store.address))
    return outcome === 'gone' || outcome === 'killed' ? 'host' : undefined
  }
  if (store.hosts.has(group.kernel_boot_id)) return 'person'
  // This machine has restarted since. If the host that could not check has the same id, it is a clone, or this is one.
  const isRestarted = group.host_id === own.host_id && run.left?.checked_by !== own.host_id
  return isRestarted ? 'host' : undefined
}
