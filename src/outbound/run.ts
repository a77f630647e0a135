/** One attempt by a program, which gets the event as JSON on stdin. Exit status 0 means that it has taken the event. */
import { spawn } from 'node:child_process'
import type { Attempt } from './target.js'

/** `stderr`: whether the user sees what the program prints there. It is in no record, because it may have secrets. */
export function runOnce(
  argv: string[],
  input: string,
  { timeoutMs, signal, stderr }: { timeoutMs: number; signal: AbortSignal; stderr: 'ignore' | 'inherit' },
): Promise<Attempt> {
  const [program = '', ...args] = argv
  return new Promise((resolve) => {
    // A process group of its own: its children end with it, and a signal of the terminal does not reach it.
    const child = spawn(program, args, { stdio: ['pipe', 'ignore', stderr], detached: true })
    let ended: Attempt | undefined
    const end = (attempt: Attempt): void => {
      ended ??= attempt
      if (child.pid !== undefined) killGroup(child.pid)
    }
    const timer = setTimeout(
      () => end({ outcome: 'failed', why: `it did not exit within ${timeoutMs / 1000} s` }),
      timeoutMs,
    )
    const onAbort = (): void => end({ outcome: 'unknown' })
    signal.addEventListener('abort', onAbort, { once: true })
    const settle = (attempt: Attempt): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      resolve(ended ?? attempt)
    }
    child.on('error', (error) => {
      const { code } = error as NodeJS.ErrnoException
      settle({ outcome: 'failed', why: `it cannot be started: ${code ?? error.name}` })
    })
    child.on('exit', (status, killedBy) => {
      const why = killedBy === null ? `its exit status is ${status}` : `it was killed by ${killedBy}`
      settle(status === 0 ? { outcome: 'accepted' } : { outcome: 'failed', why })
    })
    // A program that exits early, or reads no input.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(`${input}\n`)
    if (signal.aborted) onAbort()
  })
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
