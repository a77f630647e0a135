/**
 * One attempt by a program, which gets the event as JSON on stdin. Exit status 0 means that it has taken the event.
 *
 * Invariant: the program and its children end with the attempt, at the timeout, or with this process, even if that is killed.
 * So no program of an earlier attempt runs beside the next one. Children that a program leaves after exit status 0 live on.
 */
import { environmentWithout } from '../provider/program.js'
import { startBehindBarrier } from '../provider/start-barrier.js'
import { randomUuid } from '../start/random.js'
import type { Attempt } from './target.js'

interface RunLimits {
  timeoutMs: number
  signal: AbortSignal
  /** Whether the user sees what the program prints there. It is in no record, because it may have secrets. */
  stderr: 'ignore' | 'inherit'
}

export async function runOnce(
  argv: string[],
  input: string,
  { timeoutMs, signal, stderr }: RunLimits,
): Promise<Attempt> {
  let started: Awaited<ReturnType<typeof startWith>>
  try {
    started = await startWith(argv, signal, stderr)
  } catch {
    return signal.aborted
      ? { outcome: 'unknown' }
      : { outcome: 'failed', why: 'it cannot be started by /bin/sh' }
  }
  const { child, group, exited, leash } = started
  let cut: Attempt | undefined
  const end = (attempt: Attempt): void => {
    cut ??= attempt
    killGroup(group.process_group)
  }
  const why = `it did not exit within ${timeoutMs / 1000} s`
  const timer = setTimeout(() => end({ outcome: 'failed', why }), timeoutMs)
  const onAbort = (): void => end({ outcome: 'unknown' })
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  child.stdin?.end(`${input}\n`)
  const attempt = attemptOf(await exited)
  clearTimeout(timer)
  signal.removeEventListener('abort', onAbort)
  // A failed program may have left children, which must not run beside the next attempt.
  if (attempt.outcome !== 'accepted') killGroup(group.process_group)
  leash.release()
  return cut ?? attempt
}

/** In a process group of its own, which a signal of the terminal does not reach. */
function startWith(argv: string[], signal: AbortSignal, stderr: RunLimits['stderr']) {
  const tag = { variable: 'SUBSTRAT_LAUNCH' as const, value: randomUuid() }
  const environment = environmentWithout(['SUBSTRAT_TOKEN'])
  const command = { argv: argv as [string, ...string[]], cwd: process.cwd() }
  const options = { environment, tag, output: { stderr }, deadline: undefined }
  return startBehindBarrier(command, options, { signal }, () => undefined)
}

function attemptOf({ code, signal }: { code: number | null; signal: string | null }): Attempt {
  if (code === 0) return { outcome: 'accepted' }
  if (code === null) return { outcome: 'failed', why: `it was killed by ${signal}` }
  // The statuses of the shell that executes it.
  if (code === 126 || code === 127)
    return { outcome: 'failed', why: `it cannot be started: exit status ${code}` }
  return { outcome: 'failed', why: `its exit status is ${code}` }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
