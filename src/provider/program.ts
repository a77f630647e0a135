/**
 * Programs that a turn starts, and their end.
 *
 * Invariants: a program execs only after the record that names its process group is durable (the start barrier); before
 * that, the death of substrat is end-of-file on the barrier, and the shell exits. Recovery kills those members of a
 * recorded group that carry our SUBSTRAT_RUN and started no earlier than recorded, and nothing in a foreign pid namespace
 * or of another home; it, and a turn that does not come to its end, also kill tagged processes outside of the group.
 */
import { clock, sleep } from '../clock.js'
import { ProgramFiles } from '../files/program-files.js'
import { environmentOf, isExiting, ownIdentity, processGroup, processStartTime } from '../host/identity.js'
import { isHome, processIds } from '../host/processes.js'
import type { ProcessGroup } from '../session/fields.js'
import { randomUuid } from '../start/random.js'
import type {
  AgentHost,
  CallOptions,
  LaunchCommand,
  LaunchedProgram,
  McpStdioServer,
} from './host-contract.js'
import { type ProcessTag, tagOfRun } from './process-tag.js'
import { startBehindBarrier } from './start-barrier.js'

export interface LaunchEnvironment {
  /** SUBSTRAT_HOME, SUBSTRAT_AGENT, SUBSTRAT_RUN, SUBSTRAT_LOG. */
  environment: Record<string, string>
  /** Variables of our own environment that the program is not given. */
  withheld?: string[]
  /** The tool server that the program may start; null where it is to have none. */
  tools?: McpStdioServer | null
  files?: ProgramFiles
  /** Makes the group durable; the program runs only once this has returned. */
  record(group: ProcessGroup): void
}

/** Nothing that outlives the turn: see `KeptServerHost`. */
export function createHost(context: LaunchEnvironment): AgentHost {
  const { files = new ProgramFiles() } = context
  return {
    launch: (command, options) => launch(context, command, options),
    privateFile: (name, text) => files.write(name, text),
    tools: context.tools ?? null,
    launchServer: null,
    server: null,
  }
}

async function launch(
  context: LaunchEnvironment,
  command: LaunchCommand,
  options: CallOptions,
): Promise<LaunchedProgram> {
  const environment = {
    ...environmentWithout([...(context.withheld ?? []), ...NEVER_PASSED_ON]),
    ...context.environment,
  }
  const tag: ProcessTag = { variable: 'SUBSTRAT_LAUNCH', value: randomUuid() }
  const start = { environment, tag, output: 'pipe' as const }
  const { child, group, exited, leash } = await startBehindBarrier(command, start, options, context.record)
  // What the program has left in its group is killed by `kill`, or with us.
  const releaseWhenGone = (): void => {
    if (membersOf(group, undefined).length === 0) leash.release()
  }
  void exited.then(releaseWhenGone)
  return {
    stdin: child.stdin as unknown as NodeJS.WritableStream,
    stdout: child.stdout as NodeJS.ReadableStream,
    stderr: child.stderr as NodeJS.ReadableStream,
    exited,
    async kill(graceMs) {
      await killGroup(group, undefined, graceMs)
      releaseWhenGone()
    },
  }
}

/**
 * What our own environment may have and no program is given. A person's token for `resume` is no program's: what it
 * prints is in the log. And we may run within the server, or the tool, of another agent.
 */
const NEVER_PASSED_ON = ['SUBSTRAT_TOKEN', 'SUBSTRAT_SERVER', 'SUBSTRAT_LAUNCH']

export function environmentWithout(names: string[]): Record<string, undefined> {
  return Object.fromEntries(names.map((name) => [name, undefined]))
}

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
function membersOf(group: ProcessGroup, tag: ProcessTag | undefined): number[] {
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
