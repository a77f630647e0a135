/**
 * The processes of a recorded group: which of them are ours, and how they are killed.
 *
 * Invariant: recovery kills those members of a recorded group that carry our SUBSTRAT_RUN and started no earlier than recorded, and
 * nothing in a foreign pid namespace or of another home. Recovery, and a turn that does not come to its end, kill also what has that
 * tag outside of the group.
 */
import { clock, sleep } from '../clock.js'
import { environmentOf, isExiting, ownIdentity, processGroup, processStartTime } from '../host/identity.js'
import { isHome, processIds } from '../host/processes.js'
import type { ProcessGroup } from '../session/fields.js'

/**
 * `foreign`: out of reach in another pid namespace. `alive`: something of it is still there, which does not die (as in a
 * hung file system) or cannot be told from a stranger, because it has not our environment any more.
 */
export type KillOutcome = 'gone' | 'killed' | 'foreign' | 'alive'

/** How long the death of what was sent SIGKILL is waited for. */
const DEATH_MS_MAX = 5000

/** How long what was killed outside of its group is looked for again: it may have started more. */
const ESCAPED_MS_MAX = 1000

/** A process shows no environment while it dies, and while it becomes another program: it is looked at again for so long. */
const NAMELESS_MS_MAX = 500

/** What recovery does with the group of a run whose holder died. Resolves when its members are gone. */
export function killOrphanedGroup(group: ProcessGroup, runId: string, home?: string): Promise<KillOutcome> {
  return killTagged(group, tagOfRun(runId, home), 0)
}

/**
 * What an agent's program has put outside of its group: a command in a session of its own, as codex without its sandbox
 * does. It is known by the tag that it has inherited. Says how many were killed. Nothing of another start of the kernel,
 * or of another pid namespace, is looked at.
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

/** Which home the process was started in. Undefined where nothing says it: one that was moved is not there any more. */
export function homeOf(pid: number, home: string): 'this' | 'another' | undefined {
  const its = environmentOf(pid, 'SUBSTRAT_HOME')
  // By its log too: in a turn somebody may work with a home of their own.
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
  // After a reboot nothing of it can live; in another pid namespace its numbers mean other processes.
  if (group.kernel_boot_id !== own.kernel_boot_id) return 'gone'
  if (group.pid_namespace !== own.pid_namespace) return 'foreign'
  let wasThere = false
  for (const end = clock.monotonic() + graceMs + NAMELESS_MS_MAX; ; await sleep(10)) {
    if (membersOf(group, tag).length > 0) {
      wasThere = true
      await killGroup(group, tag, graceMs)
    }
    const unknown = membersOf(group, undefined).filter((pid) => isPossiblyTagged(pid, tag))
    if (unknown.length === 0) return wasThere ? 'killed' : 'gone'
    // The leash may be killing it at this very moment; a large process, on a busy machine, takes its time to die.
    const isDying = unknown.every(isExiting)
    if (clock.monotonic() >= end + (isDying ? DEATH_MS_MAX : 0)) return 'alive'
  }
}

/** A process that names no run may have cleared its environment; one that names another is another's. */
function isPossiblyTagged(pid: number, { variable, value }: ProcessTag): boolean {
  return (environmentOf(pid, variable) ?? value) === value
}

/** Whether the group's number has gone to another program since. One that has lost its leader keeps its number. */
function isReused(group: ProcessGroup): boolean {
  const leaderStart = processStartTime(group.process_group)
  return leaderStart !== undefined && leaderStart !== group.start_time
}

/** Without a tag all of it, for a caller that knows its own group; but nothing once another has its number. */
export async function killGroup(
  group: ProcessGroup,
  tag: ProcessTag | undefined,
  graceMs: number,
): Promise<void> {
  const end = clock.monotonic() + graceMs
  let members = membersOf(group, tag)
  if (graceMs > 0) for (const pid of members) send(pid, 'SIGTERM')
  for (let pauseMs = 1; members.length > 0; pauseMs = Math.min(pauseMs * 2, 20)) {
    if (clock.monotonic() >= end + DEATH_MS_MAX) return
    if (clock.monotonic() >= end) for (const pid of members) send(pid, 'SIGKILL')
    await sleep(pauseMs)
    members = membersOf(group, tag)
  }
}

/**
 * Living members of the group that are ours. The start time keeps out what is older than the record. A group id is
 * reused only when the group is empty, and then its members do not carry our tag: recovery, which cannot know how long ago
 * the record was written, asks for that too. Without a tag a leader of another start time shows that all are strangers.
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

/** False where there is nothing to send it to. */
export function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

/** An entry of the environment that only our own programs have. */
export interface ProcessTag {
  variable: 'SUBSTRAT_RUN' | 'SUBSTRAT_SERVER' | 'SUBSTRAT_LAUNCH'
  value: string
  /** A copy of a home has the runs and the servers of the first in its logs: what runs there is none of its own. */
  home?: string
}

/** What a launched program, and what it has started, has in its environment; undefined for a group that names no launch. */
export function tagOfLaunch({ launch_id }: ProcessGroup, home?: string): ProcessTag | undefined {
  if (launch_id === undefined) return undefined
  return { variable: 'SUBSTRAT_LAUNCH', value: launch_id, ...(home !== undefined && { home }) }
}

/** What every program of a run has in its environment. */
export function tagOfRun(runId: string, home?: string): ProcessTag {
  return { variable: 'SUBSTRAT_RUN', value: runId, ...(home !== undefined && { home }) }
}
