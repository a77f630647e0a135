/**
 * Programs that the log of an agent records on another host.
 *
 * Invariant: such a program counts as gone only after that host has checked it, after a person has declared the processes of that
 * host dead (`recover --host-gone`), or after its leash must have ended it (src/recovery/takeover.ts).
 */
import { type Place, placeOf } from '../host/whereabouts.js'
import type { ProcessGroup } from '../schema/types.js'
import type { State } from '../session/state.js'
import type { Store } from '../storage/store.js'

/** `state`: as the log has it before this process appends to it. */
export function placeOfGroup(store: Store, state: State, group: ProcessGroup): Place {
  const place = recordedPlace(state, group)
  return place === 'elsewhere' && store.hosts.has(group.kernel_boot_id) ? 'past' : place
}

/** The same, without the declarations of a person. */
export function recordedPlace({ recovery, updated_at }: State, group: ProcessGroup): Place {
  // Another process may have written the later records.
  const isLatest = recovery.last_boot_seen?.startsWith(`${group.kernel_boot_id}/`) === true
  return placeOf(group, isLatest ? updated_at : undefined)
}

/** The name of the host for a person, or its id if the name is not known. */
export function hostLabel({ run }: Pick<State, 'run'>, { host_id }: Pick<ProcessGroup, 'host_id'>): string {
  const name = run?.host_id === host_id ? run?.host_name : undefined
  return name ?? host_id ?? 'unknown'
}
