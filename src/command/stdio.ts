/**
 * Handles failed writes to stdout and stderr.
 *
 * Invariants: a failed write ends no turn. After a failed write to stdout, later output there is dropped, so that a result
 * never has a gap. A result that was not printed completely is a failure (STORAGE_FAILED), unless the reader has closed the
 * pipe. A failed write to stderr changes nothing: the exit status is enough.
 */
import { EXIT_STATUS, errnoName, SubstratError } from '../errors.js'
import { writeStream } from '../host/streams.js'
import { errorLine, hasResultStatus } from './output.js'

class Stdout {
  /** The reason why the result cannot be printed. Undefined also if the reader has closed the pipe. */
  failure: SubstratError | undefined
  /** False once stdout cannot be written. A turn then continues; a command that only prints may stop. */
  isOpen = true
  /** The command that shows a result that was not printed. */
  private remedy: string | undefined

  /** Replaces the remedy. Each call of a command is closer to its result than the previous one. */
  keepRemedy(remedy: string): void {
    this.remedy = remedy
  }

  fail(errno: string, isTerminal: boolean): void {
    this.isOpen = false
    // A terminal returns EIO after it was hung up.
    if (this.failure !== undefined || errno === 'EPIPE' || (errno === 'EIO' && isTerminal)) return
    this.failure = new SubstratError('STORAGE_FAILED', `cannot write the result to stdout: ${errno}`, {
      facts: { errno },
    })
  }

  /** Prints the failure as the last line of the command, unless the command has already reported an error. */
  finish(): void {
    if (this.failure === undefined || !hasResultStatus(process.exitCode)) return
    const hint = this.remedy ?? 'free disk space or write to another file, then run the same command again'
    const { message, facts } = this.failure
    process.exitCode = EXIT_STATUS.STORAGE_FAILED
    process.stderr.write(`${errorLine(new SubstratError('STORAGE_FAILED', message, { hint, facts }))}\n`)
  }
}

export const stdout = new Stdout()

let isGuarded = false

/** Call it before the first write. */
export function guardStdio(): void {
  if (isGuarded) return
  isGuarded = true
  guard(process.stdout, 1, (errno) => stdout.fail(errno, process.stdout.isTTY === true))
  guard(process.stderr, 2, () => undefined)
}

/** Intercepts the stream's errors before any listener: oclif's listeners throw, which would end a turn in the middle. */
function guard(stream: NodeJS.WriteStream, fd: number, onFailure: (errno: string) => void): void {
  const emit = stream.emit.bind(stream) as (event: string | symbol, ...args: unknown[]) => boolean
  stream.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    if (event !== 'error') return emit(event, ...args)
    onFailure(String(errnoName(args[0] ?? {})))
    return true
  }
  if (!isFile(stream)) return
  let hasFailed = false
  // Node calls write once and ignores a short write: a disk that fills up would truncate the result without an error.
  stream._write = (bytes: Uint8Array, _encoding, done) => {
    const errno = hasFailed ? undefined : writeStream(fd, bytes)
    if (errno !== undefined) {
      hasFailed = true
      onFailure(errno)
    }
    done()
  }
}

/** Whether the stream is a file or a device, not a terminal or a pipe. */
function isFile(stream: NodeJS.WriteStream): boolean {
  return (stream as { _type?: string })._type === 'fs'
}
