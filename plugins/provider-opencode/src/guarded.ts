/**
 * A command that only reads, and of which no record is kept: recovery could not find it, so it cannot be left behind.
 *
 * Invariants: nothing of its group runs once its output is known, once nobody waits for it, or without us; it has no secret of ours.
 */
import { spawn } from 'node:child_process'

const OUTPUT_BYTES_MAX = 256 * 1024 * 1024

/** Node reports death by a real-time signal as exit 0, and half the output would count as all of it: they are ignored. */
const REAL_TIME = Array.from({ length: 31 }, (_, index) => 34 + index).join(' ')

/** Beside the command waits one that kills the whole group at the end of a pipe which only we hold open. */
const GUARD = `command trap "" ${REAL_TIME} 2>/dev/null
  { trap "" HUP INT QUIT TERM; read -r _ <&3; kill -9 0; } </dev/null >/dev/null 2>&1 & exec 3<&-`

/** What a person has given us, or another substrat: `host.launch` gives it to no program either. */
const OURS = ['SUBSTRAT_TOKEN', 'SUBSTRAT_SERVER']

/**
 * Its stdout; empty where it fails, or says more than is sensible. Rejects where it was killed, or could not be started: that
 * says nothing of what it would have said. Where the signal is aborted it is killed.
 */
export function outputOf(command: string, cwd: string, signal?: AbortSignal): Promise<string> {
  const others = Object.entries(process.env).filter(([name]) => !OURS.includes(name))
  const child = spawn('/bin/sh', ['-c', `${GUARD}\n${command}`], {
    cwd,
    env: Object.fromEntries(others),
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
    detached: true,
  })
  const { pid, stdout } = child
  for (const stream of child.stdio) stream?.on('error', () => undefined)
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    let bytes = 0
    const settle = (output: string | Error): void => {
      signal?.removeEventListener('abort', stop)
      // The guard is there still, and the number of the group with it.
      if (pid !== undefined) killGroup(pid)
      for (const stream of child.stdio) stream?.destroy()
      if (typeof output === 'string') resolve(output)
      else reject(output)
    }
    const stop = (): void => settle(new Error(`${command} was not waited for any longer`))
    signal?.addEventListener('abort', stop, { once: true })
    if (signal?.aborted === true) stop()
    stdout?.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes > OUTPUT_BYTES_MAX) settle('')
      else pieces.push(piece)
    })
    child.on('error', settle)
    child.on('exit', (code, killer) => {
      // What it left running may hold its output open.
      const settleWhole = (): void => {
        if (code === 0) settle(Buffer.concat(pieces).toString('utf8'))
        else if (killer === null && (code ?? 0) <= 128) settle('')
        else settle(new Error(`${command} was killed${killer === null ? '' : ` by ${killer}`}`))
      }
      if (stdout?.destroyed !== false) settleWhole()
      else stdout.once('close', settleWhole)
    })
  })
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
