/**
 * Kept servers, which agents' programs leave running between turns: tells whether one is alive, and stops it. The state
 * field is `warm`.
 *
 * Invariants: a server is recorded before it runs, and is in the log until it is dead; an agent has at most one. The process
 * that stops one has the agent's lock. A group is taken for a server's only where its leader has the recorded start time, under
 * the same start of the kernel and in the same pid namespace, and no SUBSTRAT_SERVER or SUBSTRAT_HOME of another.
 */
import { SessionStateError, shellWord } from '../errors.js'
import { environmentOf, ownIdentity, processGroup, processStartTime } from '../host/identity.js'
import { processIds } from '../host/processes.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { RecordedServer, State } from '../session/state.js'
import type { FileStore } from '../storage/store.js'
import {
  homeOf,
  type KillOutcome,
  killEscaped,
  killGroup,
  killTagged,
  type ProcessTag,
} from './process-group.js'

/** What an idle server has to end by itself. */
const SERVER_TERMINATE_MS = 1000

/** Kills the server that the agent has kept, and records that it is gone. False where it runs on, and stays recorded. */
export async function stopKeptServer(session: Session, note: (text: string) => void): Promise<boolean> {
  const { warm } = session.state
  if (warm === undefined) return true
  const outcome = await killKeptServer(session, warm, SERVER_TERMINATE_MS)
  if (outcome === 'killed' || outcome === 'gone') {
    forgetKeptServer(session)
    return true
  }
  note(`the server of ${session.state.path}, process group ${warm.group.process_group}, ${REMARKS[outcome]}`)
  return false
}

const REMARKS: Record<'foreign' | 'alive', string> = {
  foreign: 'is in another pid namespace: it was not killed',
  alive: 'has a process that does not die, or cannot be told from a stranger: left it alone',
}

function forgetKeptServer(session: Session): void {
  session.append(stoppedRecords(session.state))
  session.store.keptServers.forget(session.id)
}

/**
 * After `records` the agent is no more, and a server of it that runs on elsewhere is in nobody's way: `recover --all` in its
 * own place ends it. It is forgotten with the agent and not before, or the next turn of one that lives on is begun beside it.
 */
export function terminateSession(session: Session, records: NewRecord[]): void {
  const forgets = stoppedRecords(session.state)
  session.append([...records, ...forgets, { kind: 'session.terminated' }])
  if (forgets.length > 0) session.store.keptServers.forget(session.id)
}

function stoppedRecords({ warm }: State): NewRecord[] {
  return warm === undefined ? [] : [{ kind: 'server.stopped', server_id: warm.server_id }]
}

/** Before a turn that would run beside it: two servers must never share one native session. */
export async function stopKeptServerOrThrow(session: Session, note: (text: string) => void): Promise<void> {
  if (!(await stopKeptServer(session, note))) throw keptServerError(session.state)
}

export function keptServerError({ warm, path, id }: State): SessionStateError {
  const { process_group } = (warm as RecordedServer).group
  const isForeign = isServerForeign(warm as RecordedServer)
  const where = isForeign ? ', in another pid namespace' : ''
  return new SessionStateError(
    `the server that ${path} has kept still runs (process group ${process_group}${where}), and nothing is done beside it`,
    {
      hint: isForeign
        ? `end it where it runs: substrat suspend ${shellWord(path)}`
        : `end it: kill -9 -- -${process_group}, then run the same command again`,
      facts: { agent_id: id, process_group },
    },
  )
}

/** The server that the log names. Where it cannot be reached, or told from a stranger, its open output says whether it runs. */
export async function killKeptServer(
  { store, id }: Session,
  server: RecordedServer,
  graceMs: number,
): Promise<KillOutcome> {
  const outcome = await killServerProcesses(store.root, server, graceMs)
  if (outcome === 'killed' || outcome === 'gone') return outcome
  return store.keptServers.isPrinting(id) ? outcome : 'gone'
}

export async function killServerProcesses(
  home: string,
  server: RecordedServer,
  graceMs: number,
): Promise<KillOutcome> {
  const { group, server_id } = server
  // As long as its leader is there the group is ours, also those in it that have cleared their environment.
  const isWhole = isServerAlive(home, server)
  if (isWhole) await killGroup(group, undefined, graceMs)
  else if (homeOf(group.process_group, home) === 'another') return 'gone'
  const tag: ProcessTag = { variable: 'SUBSTRAT_SERVER', value: server_id, home }
  const outcome = await killTagged(group, tag, 0)
  // Processes that it put into groups of their own carry the tag too.
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
    // Not where it is only not yet waited for.
    processGroup(pid) === pid &&
    // One that becomes another program, as at the start barrier, has none for a moment.
    (environmentOf(pid, 'SUBSTRAT_SERVER') ?? server_id) === server_id &&
    homeOf(pid, home) !== 'another'
  )
}

/** Whether it lives where it cannot be reached from here. */
export function isServerElsewhere(store: FileStore, agentId: string, server: RecordedServer): boolean {
  return isServerForeign(server) && store.keptServers.isPrinting(agentId)
}

function isServerForeign({ group }: RecordedServer): boolean {
  const own = ownIdentity()
  return group.kernel_boot_id === own.kernel_boot_id && group.pid_namespace !== own.pid_namespace
}

/** Processes, as far as they can be seen from here, of servers of this home. Those in which we run ourselves are in use. */
export function keptServerProcesses(home: string): { pid: number; agentId: string }[] {
  const pids = processIds()
  return pids.flatMap((pid) => {
    const agentId = environmentOf(pid, 'SUBSTRAT_AGENT')
    const isServer = pid !== process.pid && environmentOf(pid, 'SUBSTRAT_SERVER') !== undefined
    const isOurs = isServer && agentId !== undefined && homeOf(pid, home) === 'this'
    return isOurs ? [{ pid, agentId }] : []
  })
}
