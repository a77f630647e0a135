/**
 * The start barrier: a shell waits, and becomes the program only once its process group is on disk. If substrat dies before
 * that, the shell reads end-of-file on the barrier and exits. After that the leash kills the program.
 */
import { type ChildProcess, type SpawnOptions, type StdioOptions, spawn } from 'node:child_process'
import { ownIdentity, processStartTime } from '../host/identity.js'
import type { ProcessGroup } from '../session/fields.js'
import { providerFailure } from './failure.js'
import type { CallOptions, LaunchCommand, LaunchedProgram } from './host-contract.js'
import { type Leash, leash } from './leash.js'
import type { ProcessTag } from './process-group.js'

export interface StartedProgram {
  child: ChildProcess
  group: ProcessGroup
  /** Not at the end of its output: that waits for what the program left running, which may hold it open. */
  exited: LaunchedProgram['exited']
  /** Held until it is released. */
  leash: Leash
}

/**
 * Node reports death by a real-time signal as exit 0 (its names of signals end at 31), and a reply that was cut short
 * would count as a whole one. So a program begins with those signals ignored, and keeps that unless it handles them.
 * macOS has none: there the shell refuses the first, and goes on.
 */
const REAL_TIME = Array.from({ length: 31 }, (_, index) => 34 + index).join(' ')

// The shell waits on descriptor 3 for a line; end-of-file means that substrat is gone. Then it becomes the program.
const BARRIER = `command trap '' ${REAL_TIME} 2>/dev/null; read -r _ <&3 || exit 125; exec 3<&-; exec "$@"`

export interface StartOptions {
  environment: Record<string, string | undefined>
  /** What only this program, and what it starts, has in its environment. */
  tag: ProcessTag
  /** Pipes for all three, or the descriptor that stdout and stderr go to, beside an empty stdin. */
  output: 'pipe' | number
}

export async function startBehindBarrier(
  command: LaunchCommand,
  { environment, tag, output }: StartOptions,
  options: CallOptions,
  record: (group: ProcessGroup) => void,
): Promise<StartedProgram> {
  options.signal.throwIfAborted()
  const stdio: StdioOptions =
    output === 'pipe' ? ['pipe', 'pipe', 'pipe', 'pipe'] : ['ignore', output, output, 'pipe']
  const child = start(command, {
    cwd: command.cwd,
    env: { ...process.env, ...environment, ...command.env, [tag.variable]: tag.value },
    stdio,
    // A group of its own, so that all of it can be killed; not killed when we exit, because recovery does that.
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
  const { kernel_boot_id, pid_namespace } = ownIdentity()
  const start_time = processStartTime(pid) ?? 0
  const launched = tag.variable === 'SUBSTRAT_LAUNCH' && { launch_id: tag.value }
  const group = { process_group: pid, start_time, kernel_boot_id, pid_namespace, ...launched }
  let held: Leash | undefined
  try {
    held = leash(group, tag)
    record(group)
  } catch (error) {
    // Before the barrier opens, the shell is the only process.
    child.kill('SIGKILL')
    await exited
    held?.release()
    throw error
  }
  ;(child.stdio[3] as unknown as NodeJS.WritableStream).end('\n')
  return { child, group, exited, leash: held }
}

/** What the kernel refuses at once is thrown, what it refuses later comes as an event. */
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
