/**
 * Programs that a turn starts, and their end.
 *
 * Invariants: a program execs only after the record that names its process group is durable (the gate); before that,
 * the death of substrat is end-of-file on the gate, and it exits having done nothing. Recovery kills those members of a
 * recorded group that carry our SUBSTRAT_RUN and started no earlier than recorded, and nothing in a foreign pid namespace.
 */
import { sleep } from '../clock.js'
import type { ProcessGroup } from '../session/records.js'
import { environmentOf, ownIdentity, processGroup, processStartTime } from '../storage/identity.js'
import { listDirectory } from '../storage/io.js'
import type { AgentHost, CallOptions, LaunchCommand, LaunchedProgram } from './contract.js'
import { providerFailure } from './failure.js'

export interface LaunchContext {
  /** SUBSTRAT_HOME, SUBSTRAT_AGENT, SUBSTRAT_RUN, SUBSTRAT_LOG. */
  environment: Record<string, string>
  /** Variables of our own environment that the program is not given. */
  withheld?: string[]
  /** Makes the group durable; the program runs only once this has returned. */
  record(group: ProcessGroup): void
}

// The shell waits on descriptor 3 for a line; end-of-file means that substrat is gone. Then it becomes the program.
const GATE = 'read -r _ <&3 || exit 125; exec 3<&-; exec "$@"'

export function createHost(context: LaunchContext): AgentHost {
  return { launch: (command, options) => launch(context, command, options) }
}

async function launch(
  context: LaunchContext,
  command: LaunchCommand,
  options: CallOptions,
): Promise<LaunchedProgram> {
  const { execa } = await import('execa')
  options.signal.throwIfAborted()
  const child = execa('/bin/sh', ['-c', GATE, 'sh', ...command.argv], {
    cwd: command.cwd,
    // A person's token for `resume` is no program's: what it prints is in the log.
    env: { SUBSTRAT_TOKEN: undefined, ...without(context.withheld), ...context.environment, ...command.env },
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    // A group of its own, so that all of it can be killed; not killed when we exit, because recovery does that.
    detached: true,
    cleanup: false,
    buffer: false,
    reject: false,
    encoding: 'buffer',
  })
  // Not execa's own promise: that waits for the end of the output too, which what the program left running may hold open.
  const exited = new Promise<Awaited<LaunchedProgram['exited']>>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  const { pid } = child
  if (pid === undefined)
    throw providerFailure(
      'crashed',
      `cannot start ${command.argv[0]} in ${command.cwd}: ${await startError(child)}`,
    )
  for (const stream of child.stdio) stream?.on('error', () => undefined)
  const { kernel_boot_id, pid_namespace } = ownIdentity()
  const group = { process_group: pid, start_time: processStartTime(pid) ?? 0, kernel_boot_id, pid_namespace }
  const kill = (graceMs: number): Promise<void> => killGroup(group, undefined, graceMs)
  try {
    context.record(group)
  } catch (error) {
    await kill(0)
    throw error
  }
  ;(child.stdio[3] as unknown as NodeJS.WritableStream).end('\n')
  return {
    stdin: child.stdin as unknown as NodeJS.WritableStream,
    stdout: child.stdout as NodeJS.ReadableStream,
    stderr: child.stderr as NodeJS.ReadableStream,
    exited,
    kill,
  }
}

async function startError(
  child: PromiseLike<{ originalMessage?: string; shortMessage?: string }>,
): Promise<string> {
  const result = await child
  return result.originalMessage ?? result.shortMessage ?? 'it did not start'
}

/**
 * `foreign`: out of reach in another pid namespace. `alive`: something of it is still there, which does not die (as in a
 * hung file system) or cannot be told from a stranger, because it has not our environment any more.
 */
export type KillOutcome = 'gone' | 'killed' | 'foreign' | 'alive'

/** How long the death of what was sent SIGKILL is waited for. */
const DEATH_MS_MAX = 5000
/** A process shows no environment while it dies, and while it becomes another program: it is looked at again for so long. */
const NAMELESS_MS_MAX = 500

function without(names: string[] = []): Record<string, undefined> {
  return Object.fromEntries(names.map((name) => [name, undefined]))
}

/** What recovery does with the group of a run whose holder died. Resolves when its members are gone. */
export async function killLeftGroup(group: ProcessGroup, runId: string): Promise<KillOutcome> {
  const own = ownIdentity()
  // After a reboot nothing of it can live; in another pid namespace its numbers mean other processes.
  if (group.kernel_boot_id !== own.kernel_boot_id) return 'gone'
  if (group.pid_namespace !== own.pid_namespace) return 'foreign'
  let wasThere = false
  for (const end = performance.now() + NAMELESS_MS_MAX; ; await sleep(10)) {
    if (membersOf(group, runId).length > 0) {
      wasThere = true
      await killGroup(group, runId, 0)
    }
    const isOver = isReused(group) || !membersOf(group, undefined).some((pid) => mayBeOf(pid, runId))
    if (isOver) return wasThere ? 'killed' : 'gone'
    if (performance.now() >= end) return 'alive'
  }
}

/** A process that names no run may have cleared its environment; one that names another is another's. */
function mayBeOf(pid: number, runId: string): boolean {
  return (environmentOf(pid, 'SUBSTRAT_RUN') ?? runId) === runId
}

/** Whether the group's number has gone to another program since. One that has lost its leader keeps its number. */
function isReused(group: ProcessGroup): boolean {
  const leaderStart = processStartTime(group.process_group)
  return leaderStart !== undefined && leaderStart !== group.start_time
}

async function killGroup(group: ProcessGroup, runId: string | undefined, graceMs: number): Promise<void> {
  const end = performance.now() + graceMs
  let members = membersOf(group, runId)
  if (graceMs > 0) for (const pid of members) send(pid, 'SIGTERM')
  for (let pauseMs = 1; members.length > 0; pauseMs = Math.min(pauseMs * 2, 20)) {
    if (performance.now() >= end + DEATH_MS_MAX) return
    if (performance.now() >= end) for (const pid of members) send(pid, 'SIGKILL')
    await sleep(pauseMs)
    members = membersOf(group, runId)
  }
}

/**
 * Living members of the group that are ours. The start time keeps out what is older than the record. A group id is
 * reused only when the group is empty, and then its members have not our SUBSTRAT_RUN: recovery, which cannot know how
 * long ago the record was written, asks for that too.
 */
function membersOf(group: ProcessGroup, runId: string | undefined): number[] {
  if (!send(-group.process_group, 0)) return []
  const pids = listDirectory('proc.list', '/proc').map(Number).filter(Number.isInteger)
  return pids.filter(
    (pid) =>
      processGroup(pid) === group.process_group &&
      (processStartTime(pid) ?? 0) >= group.start_time &&
      (runId === undefined || environmentOf(pid, 'SUBSTRAT_RUN') === runId),
  )
}

/** False where there is nothing to send it to. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
