/**
 * Servers that agents' programs keep between turns: whether one lives, and its end.
 *
 * Invariants: a server is recorded before it runs, and is in the log until it is dead; one for an agent at most. Whoever
 * ends one has the agent's lock. A group is taken for a server's only where its leader has the recorded start time, under
 * the same start of the kernel and in the same pid namespace, and no SUBSTRAT_SERVER or SUBSTRAT_HOME of another.
 */
import type { Session } from '../session/session.js'
import type { WarmServer } from '../session/state.js'
import { environmentOf, ownIdentity, processGroup, processStartTime } from '../storage/identity.js'
import { listDirectory, realPath, realPathIfThere } from '../storage/io.js'
import { type KillOutcome, killGroup, killMarked, killStrays, type Mark } from './program.js'

/** What an idle server has to end by itself. */
const SERVER_TERMINATE_MS = 1000

/** Kills the server that the agent has kept, and records that it is gone. Nothing where it has none. */
export async function stopServer(session: Session, note: (text: string) => void): Promise<void> {
  const { warm } = session.state
  if (warm === undefined) return
  const remark = REMARKS[await killServer(session.store.root, warm, SERVER_TERMINATE_MS)]
  if (remark !== undefined)
    note(`the server of ${session.state.path}, process group ${warm.group.process_group}, ${remark}`)
  session.append([{ kind: 'server.stopped', server_id: warm.server_id }])
  session.store.servers.forget(session.id)
}

/** Where nothing can be done about it, it is forgotten all the same: `recover --all` in its own place finds it. */
const REMARKS: Partial<Record<KillOutcome, string>> = {
  foreign: 'is in another pid namespace: it was not killed',
  alive: 'has a process that does not die, or cannot be told from a stranger: left it alone',
}

export async function killServer(home: string, server: WarmServer, graceMs: number): Promise<KillOutcome> {
  const { group, server_id } = server
  // As long as its leader is there the group is ours, also those in it that have cleared their environment.
  const isWhole = isLiving(home, server)
  if (isWhole) await killGroup(group, undefined, graceMs)
  else if (isOfAnotherHome(home, group.process_group)) return 'gone'
  const mark: Mark = { variable: 'SUBSTRAT_SERVER', value: server_id }
  const outcome = await killMarked(group, mark, 0)
  // What it had put into groups of its own has the mark too; in a copy of a home it may be that of the other.
  await killStrays(group, mark, (pid) => !isOfAnotherHome(home, pid))
  return isWhole && outcome === 'gone' ? 'killed' : outcome
}

/** This home may be a copy of the one whose agent has that server. */
function isOfAnotherHome(home: string, pid: number): boolean {
  const its = environmentOf(pid, 'SUBSTRAT_HOME')
  return (
    its !== undefined && its !== home && realPathIfThere('proc.home', its) !== realPath('proc.home', home)
  )
}

export function isLiving(home: string, { group, server_id }: WarmServer): boolean {
  const own = ownIdentity()
  const { process_group: pid } = group
  return (
    group.kernel_boot_id === own.kernel_boot_id &&
    group.pid_namespace === own.pid_namespace &&
    processStartTime(pid) === group.start_time &&
    // Not where it is only not yet waited for.
    processGroup(pid) === pid &&
    // One that becomes another program, as at the gate, has none for a moment.
    (environmentOf(pid, 'SUBSTRAT_SERVER') ?? server_id) === server_id &&
    !isOfAnotherHome(home, pid)
  )
}

/** Whether it may live where it cannot be seen from here. */
export function isForeign({ group }: WarmServer): boolean {
  const own = ownIdentity()
  return group.kernel_boot_id === own.kernel_boot_id && group.pid_namespace !== own.pid_namespace
}

/** Processes, as far as they can be seen from here, of servers of this home. Those in which we run ourselves are in use. */
export function serverProcesses(home: string): { pid: number; agentId: string }[] {
  const pids = listDirectory('proc.list', '/proc').map(Number).filter(Number.isInteger)
  return pids.flatMap((pid) => {
    const agentId = environmentOf(pid, 'SUBSTRAT_AGENT')
    const isServer = pid !== process.pid && environmentOf(pid, 'SUBSTRAT_SERVER') !== undefined
    const isOurs = isServer && agentId !== undefined && !isOfAnotherHome(home, pid)
    return isOurs ? [{ pid, agentId }] : []
  })
}
