/**
 * Runs a command that only reads. Its process group is not recorded, so recovery could not find it. It must therefore
 * never outlive this process.
 *
 * Invariants:
 * - The group is dead once its output is known, the caller aborts, or this process dies.
 * - The command receives no secret of substrat.
 */
import { spawn } from 'node:child_process'

const OUTPUT_BYTES_MAX = 256 * 1024 * 1024

/**
 * Node reports death by a real-time signal as exit 0, so partial output would count as complete. These signals are
 * ignored.
 */
const REAL_TIME = Array.from({ length: 31 }, (_, index) => 34 + index).join(' ')

/** A guard process kills the whole group when a pipe closes that only this process holds open. */
const GUARD = `command trap "" ${REAL_TIME} 2>/dev/null
  { trap "" HUP INT QUIT TERM; read -r _ <&3; kill -9 0; } </dev/null >/dev/null 2>&1 & exec 3<&-`

/** Secrets of the user or of another substrat. `host.launch` withholds them from programs too. */
const OURS = ['SUBSTRAT_TOKEN', 'SUBSTRAT_SERVER']

/**
 * Returns stdout, or an empty string if the command fails or prints too much. Rejects if the command was killed or
 * could not start, because its output is then unknown. An aborted signal kills it.
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
      // The guard is still alive, so the group id cannot have been reused.
      if (pid !== undefined) killGroup(pid)
      for (const stream of child.stdio) stream?.destroy()
      if (typeof output === 'string') resolve(output)
      else reject(output)
    }
    const stop = (): void => settle(new Error(`${command} was aborted`))
    signal?.addEventListener('abort', stop, { once: true })
    if (signal?.aborted === true) stop()
    stdout?.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes > OUTPUT_BYTES_MAX) settle('')
      else pieces.push(piece)
    })
    child.on('error', settle)
    child.on('exit', (code, killer) => {
      // Processes that it left running can hold its stdout open.
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
    // The group has ended.
  }
}
