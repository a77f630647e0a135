/**
 * The gate: a program is started as a shell that waits, and becomes the program only once its process group is on disk.
 * The death of substrat before that is end-of-file on the gate, and the shell exits having done nothing.
 */
import type { ChildProcess } from 'node:child_process'
import type { ProcessGroup } from '../session/records.js'
import { ownIdentity, processStartTime } from '../storage/identity.js'
import type { CallOptions, LaunchCommand, LaunchedProgram } from './contract.js'
import { providerFailure } from './failure.js'

export interface Gated {
  child: ChildProcess
  group: ProcessGroup
  /** Not at the end of its output: that waits for what the program left running, which may hold it open. */
  exited: LaunchedProgram['exited']
}

// The shell waits on descriptor 3 for a line; end-of-file means that substrat is gone. Then it becomes the program.
const GATE = 'read -r _ <&3 || exit 125; exec 3<&-; exec "$@"'

// execa takes descriptors as well, but its types lose them beside a fourth one.
const PIPES = ['pipe', 'pipe', 'pipe', 'pipe'] as const

/** `output`: pipes for all three, or the descriptor that stdout and stderr go to, beside an empty stdin. */
export async function startGated(
  command: LaunchCommand,
  environment: Record<string, string | undefined>,
  output: 'pipe' | number,
  options: CallOptions,
  record: (group: ProcessGroup) => void,
): Promise<Gated> {
  const { execa } = await import('execa')
  options.signal.throwIfAborted()
  const stdio = output === 'pipe' ? PIPES : (['ignore', output, output, 'pipe'] as unknown as typeof PIPES)
  const child = execa('/bin/sh', ['-c', GATE, 'sh', ...command.argv], {
    cwd: command.cwd,
    env: { ...environment, ...command.env },
    stdio,
    // A group of its own, so that all of it can be killed; not killed when we exit, because recovery does that.
    detached: true,
    cleanup: false,
    buffer: false,
    reject: false,
    encoding: 'buffer',
  })
  const exited = new Promise<Awaited<Gated['exited']>>((resolve) => {
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
  try {
    record(group)
  } catch (error) {
    // Before the gate is open there is nothing of it but the shell.
    child.kill('SIGKILL')
    await exited
    throw error
  }
  ;(child.stdio[3] as unknown as NodeJS.WritableStream).end('\n')
  return { child: child as unknown as ChildProcess, group, exited }
}

async function startError(
  child: PromiseLike<{ originalMessage?: string; shortMessage?: string }>,
): Promise<string> {
  const result = await child
  return result.originalMessage ?? result.shortMessage ?? 'it did not start'
}
