/**
 * stdout and stderr as steps that can fail.
 *
 * Invariants: a failed write ends no turn and is never written about on stdout; what follows it there is dropped, so
 * that a result is never printed with a gap. A result that was not printed whole is a failure (STORAGE_FAILED), except
 * where its reader has gone away. A failed write to stderr changes nothing: the exit status says it all.
 */
import { EXIT_STATUS, errnoName, SubstratError } from '../errors.js'
import { writeStream } from '../host/streams.js'
import { errorLine, hasResultStatus } from './output.js'

class Stdout {
  /** Why the result cannot be printed; undefined while it can be, and where only the reader is gone. */
  failure: SubstratError | undefined
  /** False once nothing more can be printed: a turn goes on, a command that only prints need not. */
  isOpen = true
  /** What the user can do about a result that was not printed. */
  private remedy: string | undefined

  /** The first remedy that a command names is the one that is closest to its result. */
  keepRemedy(remedy: string): void {
    this.remedy = remedy
  }

  fail(errno: string, isTerminal: boolean): void {
    this.isOpen = false
    // EIO on a terminal: it was hung up.
    if (this.failure !== undefined || errno === 'EPIPE' || (errno === 'EIO' && isTerminal)) return
    this.failure = new SubstratError('STORAGE_FAILED', `cannot write the result to stdout: ${errno}`, {
      facts: { errno },
    })
  }

  /** The last line of a command. An error that was reported already keeps its own status and line. */
  finish(): void {
    if (this.failure === undefined || !hasResultStatus(process.exitCode)) return
    const hint = this.remedy ?? 'make room there or name another file, then run the same command again'
    const { message, facts } = this.failure
    process.exitCode = EXIT_STATUS.STORAGE_FAILED
    process.stderr.write(`${errorLine(new SubstratError('STORAGE_FAILED', message, { hint, facts }))}\n`)
  }
}

export const stdout = new Stdout()

let isGuarded = false

/** Before the first write. */
export function guardStdio(): void {
  if (isGuarded) return
  isGuarded = true
  guard(process.stdout, 1, (errno) => stdout.fail(errno, process.stdout.isTTY === true))
  guard(process.stderr, 2, () => undefined)
}

/** The streams' own errors reach no listener: those of oclif throw, which would end a turn in the middle. */
function guard(stream: NodeJS.WriteStream, fd: number, onFailure: (errno: string) => void): void {
  const emit = stream.emit.bind(stream) as (event: string | symbol, ...args: unknown[]) => boolean
  stream.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    if (event !== 'error') return emit(event, ...args)
    onFailure(String(errnoName(args[0] ?? {})))
    return true
  }
  if (!isFile(stream)) return
  let hasFailed = false
  // Node writes once, and takes a short write for a whole one: a disk that fills up would cut the result in silence.
  stream._write = (bytes: Uint8Array, _encoding, done) => {
    const errno = hasFailed ? undefined : writeStream(fd, bytes)
    if (errno !== undefined) {
      hasFailed = true
      onFailure(errno)
    }
    done()
  }
}

/** A file or a device: what Node calls neither a terminal nor a pipe. */
function isFile(stream: NodeJS.WriteStream): boolean {
  return (stream as { _type?: string })._type === 'fs'
}
