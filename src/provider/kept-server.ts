/**
 * Finds and stops kept servers, which run between the turns of an agent. The state field is `warm`.
 *
 * Invariants: a server is recorded before it runs and until it is dead. An agent has at most one. Only the holder of the
 * agent's lock stops it. A process group counts as the server's only if its leader has the recorded start time, kernel boot id
 * and pid namespace, and no SUBSTRAT_SERVER or SUBSTRAT_HOME of another server.
 */
import { RUN_AGAIN, SessionStateError, shellWord } from '../errors.js'
import { environmentOf, ownIdentity, processGroup, processStartTime } from '../host/identity.js'
import { processIds } from '../host/processes.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { RecordedServer, State } from '../session/state.js'
import type { Store } from '../storage/store.js'
import { hostLabel, placeOfGroup, recordedPlace } from './other-host.js'
import {
  homeOf,
  type KillOutcome,
  killEscaped,
  killGroup,
  killTagged,
  type ProcessTag,
} from './process-group.js'

/** The time between SIGTERM and SIGKILL for an idle server. */
const SERVER_TERMINATE_MS = 1000

/** Kills the agent's kept server and records its end. Returns false if it still runs; it then stays recorded. */
export async function stopKeptServer(session: Session, note: (text: string) => void): Promise<boolean> {
  const { warm } = session.state
  if (warm === undefined) return true
  const outcome = await killKeptServer(session, warm, SERVER_TERMINATE_MS)
  if (outcome === 'killed' || outcome === 'gone') {
    forgetKeptServer(session)
    return true
  }
  const why =
    outcome === 'elsewhere' ? `it is on the host ${hostLabel(session.state, warm.group)}` : REMARKS[outcome]
  note(
    `could not kill the kept server of ${session.state.path} (process group ${warm.group.process_group}): ${why}`,
  )
  return false
}

const REMARKS: Record<'foreign' | 'alive', string> = {
  foreign: 'it is in another pid namespace',
  alive: 'one of its processes survives SIGKILL, or may belong to another program',
}

function forgetKeptServer(session: Session): void {
  session.append(stoppedRecords(session.state))
  session.store.local.keptServers.forget(session.id)
}

/**
 * Terminates the agent after `records`. A kept server in another pid namespace may still run: `recover --all` there ends it. The
 * server is forgotten in the same batch, not earlier: otherwise, after a crash, a living agent could start a turn beside it.
 */
export function terminateSession(session: Session, records: NewRecord[], isOwnEnd = false): void {
  const forgets = stoppedRecords(session.state)
  const by = isOwnEnd ? { actor: undefined } : {}
  session.append([...records, ...forgets, { kind: 'session.terminated', ...by }])
  if (forgets.length > 0) session.store.local.keptServers.forget(session.id)
}

function stoppedRecords({ warm }: State): NewRecord[] {
  return warm === undefined ? [] : [{ kind: 'server.stopped', server_id: warm.server_id }]
}

/** Call it before a turn that starts another program: two programs must never share one native session. */
export async function stopKeptServerOrThrow(session: Session, note: (text: string) => void): Promise<void> {
  if (!(await stopKeptServer(session, note))) throw keptServerError(session.state)
}

export function keptServerError(state: State): SessionStateError {
  const { warm, path, id } = state
  const { group } = warm as RecordedServer
  const { process_group } = group
  if (recordedPlace(state, group) === 'elsewhere') return serverOfHostError(state, group)
  const isForeign = isServerForeign(warm as RecordedServer)
  const where = isForeign ? 'in another pid namespace' : 'still running'
  return new SessionStateError(
    `the kept server of ${path} is ${where} and could not be stopped: process group ${process_group}`,
    {
      hint: isForeign
        ? `stop it in that namespace: substrat suspend ${shellWord(path)}`
        : `kill it: kill -9 -- -${process_group}, then ${RUN_AGAIN}`,
      facts: { agent_id: id, process_group },
    },
  )
}

function serverOfHostError(state: State, group: RecordedServer['group']): SessionStateError {
  const host = hostLabel(state, group)
  const { process_group, host_id = null } = group
  return new SessionStateError(`the kept server of ${state.path} may still be running on the host ${host}`, {
    hint: `stop it there: substrat suspend ${shellWord(state.path)}; or, if that host is down: substrat recover --host-gone ${shellWord(host)}`,
    facts: { agent_id: state.id, process_group, host_id },
  })
}

/** Kills the recorded server. If it cannot be reached or identified, its open output file shows whether it still runs. */
export async function killKeptServer(
  { store, id, state }: Session,
  server: RecordedServer,
  graceMs: number,
): Promise<KillOutcome> {
  const place = placeOfGroup(store, state, server.group)
  if (place !== 'here') return place === 'past' ? 'gone' : 'elsewhere'
  const outcome = await killServerProcesses(store.address, server, graceMs)
  if (outcome === 'killed' || outcome === 'gone') return outcome
  return store.local.keptServers.isPrinting(id) ? outcome : 'gone'
}

export async function killServerProcesses(
  home: string,
  server: RecordedServer,
  graceMs: number,
): Promise<KillOutcome> {
  const { group, server_id } = server
  // While its leader is alive the whole group is ours, including processes that have cleared their environment.
  const isWhole = isServerAlive(home, server)
  if (isWhole) await killGroup(group, undefined, graceMs)
  else if (homeOf(group.process_group, home) === 'another') return 'gone'
  const tag: ProcessTag = { variable: 'SUBSTRAT_SERVER', value: server_id, home }
  const outcome = await killTagged(group, tag, 0)
  // The server may have put processes into other groups. They carry the tag too.
  await killEscaped(group, tag)
  return isWhole && outcome === 'gone' ? 'killed' : outcome
}

export function isServerAlive(home: string, { group, server_id }: RecordedServer): boolean {
  const own = ownIdentity()
  const { process_group: pid } = group
  return (
    group.kernel_boot_id === own.kernel_boot_id &&
    group.pid_namespace === own.pid_namespace &&
    processStartTime(pid) === group.start_time &&
    // False for a zombie.
    processGroup(pid) === pid &&
    // During exec, as at the start barrier, a process shows no environment for a moment.
    (environmentOf(pid, 'SUBSTRAT_SERVER') ?? server_id) === server_id &&
    homeOf(pid, home) !== 'another'
  )
}

/** Whether the server is on another host or in another pid namespace, where this process cannot kill it. */
export function isServerElsewhere(store: Store, state: State): boolean {
  const { warm, id } = state
  if (warm === undefined) return false
  if (placeOfGroup(store, state, warm.group) === 'elsewhere') return true
  return isServerForeign(warm) && store.local.keptServers.isPrinting(id)
}

function isServerForeign({ group }: RecordedServer): boolean {
  const own = ownIdentity()
  return group.kernel_boot_id === own.kernel_boot_id && group.pid_namespace !== own.pid_namespace
}

/** Visible processes of this home's kept servers, without this process. */
export function keptServerProcesses(home: string): { pid: number; agentId: string }[] {
  const pids = processIds()
  return pids.flatMap((pid) => {
    const agentId = environmentOf(pid, 'SUBSTRAT_AGENT')
    const isServer = pid !== process.pid && environmentOf(pid, 'SUBSTRAT_SERVER') !== undefined
    const isOurs = isServer && agentId !== undefined && homeOf(pid, home) === 'this'
    return isOurs ? [{ pid, agentId }] : []
  })
}
