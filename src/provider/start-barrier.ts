/**
 * The start barrier: a shell waits until its process group is on disk, then execs the program. If substrat dies before that, the
 * shell reads end-of-file on the barrier and exits. If substrat dies later, the leash kills the program.
 */
import { type ChildProcess, type SpawnOptions, type StdioOptions, spawn } from 'node:child_process'
import { ownIdentity, processStartTime } from '../host/identity.js'
import type { ProcessGroup } from '../schema/types.js'
import type { LeaseDeadline } from '../storage/store.js'
import { providerFailure } from './failure.js'
import type { CallOptions, LaunchCommand, LaunchedProgram } from './host-contract.js'
import { type Leash, leash } from './leash.js'
import type { ProcessTag } from './process-group.js'

export interface StartedProgram {
  child: ChildProcess
  group: ProcessGroup
  /** Settles at the exit, not at the end of the output: orphans of the program may hold that open. */
  exited: LaunchedProgram['exited']
  /** The program waits at the barrier until `release`. */
  leash: Leash
}

/**
 * Node reports death by a real-time signal as exit 0, because its signal names end at 31. A truncated reply would then count as
 * complete. So a program starts with these signals ignored, unless it installs its own handlers. macOS has no real-time signals:
 * there the shell refuses the first one and continues.
 */
const REAL_TIME = Array.from({ length: 31 }, (_, index) => 34 + index).join(' ')

// The shell reads a line from descriptor 3, then execs the program. End-of-file means that substrat has died.
const BARRIER = `command trap '' ${REAL_TIME} 2>/dev/null; read -r _ <&3 || exit 125; exec 3<&-; exec "$@"`

export interface StartOptions {
  environment: Record<string, string | undefined>
  /** The tag in the environment of this program and its children. */
  tag: ProcessTag
  /**
   * `pipe` for stdin, stdout and stderr, or a descriptor for stdout and stderr with an empty stdin. With `stderr`, stdin is a
   * pipe and stdout is discarded.
   */
  output: 'pipe' | number | { stderr: 'ignore' | 'inherit' }
  /** When the program must be dead, unless the lease is renewed. */
  deadline: LeaseDeadline | undefined
}

export async function startBehindBarrier(
  command: LaunchCommand,
  { environment, tag, output, deadline }: StartOptions,
  options: CallOptions,
  record: (group: ProcessGroup) => void,
): Promise<StartedProgram> {
  options.signal.throwIfAborted()
  const child = start(command, {
    cwd: command.cwd,
    env: { ...process.env, ...environment, ...command.env, [tag.variable]: tag.value },
    stdio: stdioOf(output),
    // Its own group, so that the whole group can be killed. Nothing here kills it when this process exits: the leash and recovery do.
    detached: true,
  })
  const failed = new Promise<Error>((resolve) => {
    child.once('error', resolve)
  })
  const exited = new Promise<Awaited<StartedProgram['exited']>>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  const { pid } = child
  if (pid === undefined) throw cannotStart(command, await failed)
  for (const stream of child.stdio) stream?.on('error', () => undefined)
  const { kernel_boot_id, pid_namespace, host_id } = ownIdentity()
  const start_time = processStartTime(pid) ?? 0
  const launched = tag.variable === 'SUBSTRAT_LAUNCH' && { launch_id: tag.value }
  const host = host_id === undefined ? {} : { host_id }
  const group: ProcessGroup = {
    process_group: pid,
    start_time,
    kernel_boot_id,
    pid_namespace,
    ...host,
    ...launched,
  }
  let held: Leash | undefined
  let recorded = group
  try {
    held = leash(group, tag, deadline)
    if (deadline !== undefined && (await held.isComplete)) recorded = { ...group, lease: deadline.lease }
    options.signal.throwIfAborted()
    record(recorded)
  } catch (error) {
    // Until the barrier opens, the shell is the only process of the group.
    child.kill('SIGKILL')
    await exited
    held?.release()
    throw error
  }
  ;(child.stdio[3] as unknown as NodeJS.WritableStream).end('\n')
  return { child, group: recorded, exited, leash: held }
}

/** Descriptor 3 is the barrier. */
function stdioOf(output: StartOptions['output']): StdioOptions {
  if (output === 'pipe') return ['pipe', 'pipe', 'pipe', 'pipe']
  if (typeof output === 'number') return ['ignore', output, output, 'pipe']
  return ['pipe', 'ignore', output.stderr, 'pipe']
}

/** Throws for an error that spawn throws at once. Node emits other errors as an event of the child. */
function start(command: LaunchCommand, options: SpawnOptions): ChildProcess {
  try {
    return spawn('/bin/sh', ['-c', BARRIER, 'sh', ...command.argv], options)
  } catch (error) {
    throw cannotStart(command, error as Error)
  }
}

function cannotStart({ argv, cwd }: LaunchCommand, error: Error): Error {
  return providerFailure('crashed', `cannot start ${argv[0]} in ${cwd}: ${error.message}`)
}
