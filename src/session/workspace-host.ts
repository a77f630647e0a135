/**
 * The host of an agent, in a home that several hosts share: its workspace and the native session of its program are there. A home
 * of one host records none.
 */
import { hostName, ownIdentity } from '../host/identity.js'
import type { Store } from '../storage/store.js'
import type { State } from './state.js'

export interface Host {
  host_id?: string | undefined
  host_name?: string | undefined
}

type Sharing = Pick<Store, 'isShared'>

/** The fields of a record that gives the agent to this host. None in a home of one host. */
export function placeHere({ isShared }: Sharing): { host_id?: string; host_name?: string } {
  if (!isShared) return {}
  const { host_id } = ownIdentity()
  return { ...(host_id === undefined ? {} : { host_id }), host_name: hostName() }
}

/** An agent from a home of one host has none yet. It then belongs to the host of its latest turn. */
export function hostOf({ workspace_host, run }: Pick<State, 'workspace_host' | 'run'>): Host | undefined {
  if (workspace_host !== undefined) return workspace_host
  return run?.host_id === undefined ? undefined : { host_id: run.host_id, host_name: run.host_name }
}

/** The other host to which the turns of the agent belong. Undefined if it may run them here. */
export function otherHost({ isShared }: Sharing, state: State): Host | undefined {
  if (!isShared || state.workspace_host?.scope === 'any') return undefined
  const host = hostOf(state)
  return host === undefined || isThisHost(host) ? undefined : host
}

/** Without a machine-id, as in many containers, the name decides. */
function isThisHost({ host_id, host_name }: Host): boolean {
  const own = ownIdentity().host_id
  return host_id === undefined || own === undefined ? host_name === hostName() : host_id === own
}

export function hostWord({ host_id, host_name }: Host): string {
  return host_name ?? host_id ?? 'unknown'
}
