/**
 * Finds and kills the processes of a recorded group.
 *
 * Invariants: recovery kills a member of a recorded group only if it carries our SUBSTRAT_RUN and did not start before the record.
 * It kills nothing on another host or in a foreign pid namespace, and nothing of another home. Recovery, and a turn that does not complete, also
 * kill tagged processes outside of the group.
 */
import { clock, sleep } from '../clock.js'
import { environmentOf, isExiting, ownIdentity, processGroup, processStartTime } from '../host/identity.js'
import { isHome, processIds } from '../host/processes.js'
import { placeOf } from '../host/whereabouts.js'
import type { ProcessGroup } from '../schema/types.js'

/**
 * `elsewhere`: the group is on another host. `foreign`: it is in another pid namespace. `alive`: a process is left that does not die (as in a hung file system), or
 * that cannot be identified because it has cleared its environment.
 */
export type KillOutcome = 'gone' | 'killed' | 'elsewhere' | 'foreign' | 'alive'

/** The longest wait for a process to die after SIGKILL. */
const DEATH_MS_MAX = 5000

/** How long to search again after killing processes outside of the group: they may have started more. */
const ESCAPED_MS_MAX = 1000

/** How long to check a process without an environment again: it has none while it exits and during exec. */
const NAMELESS_MS_MAX = 500

/** Kills the orphaned group of a run whose holder died. Resolves when its members are gone. */
export function killOrphanedGroup(group: ProcessGroup, runId: string, home?: string): Promise<KillOutcome> {
  return killTagged(group, tagOfRun(runId, home), 0)
}

/**
 * Kills processes that an agent program started outside of its group, such as commands in their own session (codex without its
 * sandbox does this). They are found by the inherited tag. Returns how many were killed. Does nothing for a group of another
 * host, another boot or another pid namespace.
 */
export async function killEscaped(group: ProcessGroup, tag: ProcessTag): Promise<number> {
  const own = ownIdentity()
  if (group.kernel_boot_id !== own.kernel_boot_id || group.pid_namespace !== own.pid_namespace) return 0
  const killed = new Set<number>()
  for (const end = clock.monotonic() + ESCAPED_MS_MAX; clock.monotonic() < end; await sleep(10)) {
    const escaped = escapedFrom(group, tag)
    if (escaped.length === 0) break
    for (const pid of escaped) if (send(pid, 'SIGKILL')) killed.add(pid)
  }
  return killed.size
}

function escapedFrom({ start_time }: ProcessGroup, tag: ProcessTag): number[] {
  const pids = processIds()
  return pids.filter(
    (pid) => pid !== process.pid && hasTag(pid, tag) && (processStartTime(pid) ?? 0) >= start_time,
  )
}

function hasTag(pid: number, { variable, value, home }: ProcessTag): boolean {
  return environmentOf(pid, variable) === value && (home === undefined || homeOf(pid, home) !== 'another')
}

/** The home that started the process. Undefined if unknown: the home in its environment may have been moved. */
export function homeOf(pid: number, home: string): 'this' | 'another' | undefined {
  const its = environmentOf(pid, 'SUBSTRAT_HOME')
  // SUBSTRAT_LOG counts too: a program may set SUBSTRAT_HOME to a home of its own during a turn.
  if (its === home || environmentOf(pid, 'SUBSTRAT_LOG')?.startsWith(`${home}/`) === true) return 'this'
  if (its === undefined) return undefined
  const isThis = isHome(its, home)
  if (isThis === undefined) return undefined
  return isThis ? 'this' : 'another'
}

export async function killTagged(
  group: ProcessGroup,
  tag: ProcessTag,
  graceMs: number,
): Promise<KillOutcome> {
  const own = ownIdentity()
  // After a reboot no process of the group is alive. In another pid namespace the same numbers are other processes.
  const place = placeOf(group)
  if (place !== 'here') return place === 'past' ? 'gone' : 'elsewhere'
  if (group.pid_namespace !== own.pid_namespace) return 'foreign'
  let wasThere = false
  for (const end = clock.monotonic() + graceMs + NAMELESS_MS_MAX; ; await sleep(10)) {
    if (membersOf(group, tag).length > 0) {
      wasThere = true
      await killGroup(group, tag, graceMs)
    }
    const unknown = membersOf(group, undefined).filter((pid) => isPossiblyTagged(pid, tag))
    if (unknown.length === 0) return wasThere ? 'killed' : 'gone'
    // The leash may be killing the group now. A large process on a busy machine takes long to exit.
    const isDying = unknown.every(isExiting)
    if (clock.monotonic() >= end + (isDying ? DEATH_MS_MAX : 0)) return 'alive'
  }
}

/** A process without the variable may have cleared its environment. One with another value belongs to another run. */
function isPossiblyTagged(pid: number, { variable, value }: ProcessTag): boolean {
  return (environmentOf(pid, variable) ?? value) === value
}

/** Whether the kernel has reused the group's number. A group without a leader keeps its number. */
function isReused(group: ProcessGroup): boolean {
  const leaderStart = processStartTime(group.process_group)
  return leaderStart !== undefined && leaderStart !== group.start_time
}

/**
 * Without a tag, kills all members, for a caller that started the group itself; but none if the number was reused. Returns
 * whether no member is left.
 */
export async function killGroup(
  group: ProcessGroup,
  tag: ProcessTag | undefined,
  graceMs: number,
): Promise<boolean> {
  const end = clock.monotonic() + graceMs
  let members = membersOf(group, tag)
  if (graceMs > 0) for (const pid of members) send(pid, 'SIGTERM')
  for (let pauseMs = 1; members.length > 0; pauseMs = Math.min(pauseMs * 2, 20)) {
    if (clock.monotonic() >= end + DEATH_MS_MAX) return false
    if (clock.monotonic() >= end) for (const pid of members) send(pid, 'SIGKILL')
    await sleep(pauseMs)
    members = membersOf(group, tag)
  }
  return true
}

/**
 * The living members of the group that are ours. The start time excludes processes older than the record. The kernel reuses a
 * group id only when the group is empty, and then the new members do not carry our tag. Recovery needs the tag, because the
 * record may be old. Without a tag, a leader with another start time means that the number was reused.
 */
export function membersOf(group: ProcessGroup, tag: ProcessTag | undefined): number[] {
  if (!send(-group.process_group, 0) || (tag === undefined && isReused(group))) return []
  const pids = processIds()
  return pids.filter(
    (pid) =>
      processGroup(pid) === group.process_group &&
      (processStartTime(pid) ?? 0) >= group.start_time &&
      (tag === undefined || hasTag(pid, tag)),
  )
}

/** Returns false if there is no such process. */
export function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

/** An environment variable that only our own programs have. */
export interface ProcessTag {
  variable: 'SUBSTRAT_RUN' | 'SUBSTRAT_SERVER' | 'SUBSTRAT_LAUNCH'
  value: string
  /** The logs in a copied home name runs and servers of the original home. Their processes do not belong to the copy. */
  home?: string
}

/** The tag of a launched program and its children. Undefined for a group without a launch id. */
export function tagOfLaunch({ launch_id }: ProcessGroup, home?: string): ProcessTag | undefined {
  if (launch_id === undefined) return undefined
  return { variable: 'SUBSTRAT_LAUNCH', value: launch_id, ...(home !== undefined && { home }) }
}

/** The tag of every program of a run. */
export function tagOfRun(runId: string, home?: string): ProcessTag {
  return { variable: 'SUBSTRAT_RUN', value: runId, ...(home !== undefined && { home }) }
}
