/**
 * The stdout of a program that is asked something outside a turn, and changes nothing. Its process group is dead once this returns;
 * if this process is killed, the program ends by itself.
 */
import { spawn } from 'node:child_process'
import type { LaunchCommand } from 'substrat/provider'
import { failure } from '../failure.js'
import { wordsOfExit } from './exit.js'

/** Limits: a program must not control this process's memory. */
const STDOUT_BYTES_MAX = 16 * 1024 * 1024
const STDERR_BYTES_KEPT = 2000

export interface Asked extends LaunchCommand {
  /** How the program is called in an error. */
  name: string
  /** Its whole stdin. */
  input?: string
  /** Ends the program as soon as its output has all that is wanted. */
  isEnough?: (stdout: string) => boolean
  signal: AbortSignal
}

export async function outputOf({
  name,
  argv,
  cwd,
  env,
  input = '',
  isEnough,
  signal,
}: Asked): Promise<string> {
  signal.throwIfAborted()
  const [program, ...words] = argv
  const { SUBSTRAT_TOKEN: _, ...passedOn } = process.env
  const child = spawn(program, words, { cwd, env: { ...passedOn, ...env }, detached: true })
  const kill = (): void => {
    // Without a pid it did not start. The group has ended if no process of it is left.
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {}
  }
  const [out, err]: [Buffer[], string[]] = [[], ['']]
  let bytes = 0
  let isDone = false
  const end = (): void => {
    isDone = true
    kill()
  }
  child.stdout.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (!isDone) out.push(piece)
    if (bytes > STDOUT_BYTES_MAX || isEnough?.(Buffer.concat(out).toString('utf8')) === true) end()
  })
  child.stderr.on('data', (piece: Buffer) => {
    err[0] = `${err[0]}${piece.toString('utf8')}`.slice(-STDERR_BYTES_KEPT)
  })
  // A program that does not read its stdin tells why by its exit.
  child.stdin.on('error', () => undefined)
  child.stdin.write(input)
  if (isEnough === undefined) child.stdin.end()
  signal.addEventListener('abort', kill, { once: true })
  const exit = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>(
    (resolve, reject) => {
      // Processes that it left running hold its pipes open.
      child.once('exit', kill)
      child.once('error', (error) => reject(failure('misconfigured', `${name} cannot run: ${error.message}`)))
      child.once('close', (code, killer) => resolve({ code, signal: killer }))
    },
  ).finally(() => signal.removeEventListener('abort', kill))
  signal.throwIfAborted()
  if (bytes > STDOUT_BYTES_MAX)
    throw failure('invalid_response', `${name} printed more than ${STDOUT_BYTES_MAX} bytes`)
  if (isDone || exit.code === 0) return Buffer.concat(out).toString('utf8')
  const why = err[0]?.trim() ?? ''
  const type = exit.code === 127 || exit.code === 126 ? 'misconfigured' : 'crashed'
  throw failure(type, `${name} ${wordsOfExit(exit)}${why === '' ? '' : `: ${why}`}`)
}
