/**
 * Writes to stdout and stderr of a command, and handles failed writes there.
 *
 * Invariants: a failed write ends no turn. After a failed write to stdout, later output there is dropped, so that a result
 * never has a gap. A result that was not printed completely is a failure (STORAGE_FAILED), unless the reader has closed the
 * pipe. A failed write to stderr changes nothing: the exit status is enough.
 */
import { EXIT_STATUS, errnoName, RUN_AGAIN, SubstratError } from '../errors.js'
import {
  areStreamsLoaded,
  isTerminal,
  streamMaker,
  unblockedDescriptor,
  writeStream,
} from '../host/streams.js'
import { errorLine, hasResultStatus, printableText } from './output.js'
import { noteLines } from './print/note-lines.js'

/**
 * Writes to the descriptor itself where that cannot block, because most commands print one result, and Node's streams take longer
 * to load than that takes to print. Node's stream takes over at the first use of `process.stdout` or `process.stderr`, and when a
 * pipe is full: the process must not wait for its reader while a turn runs.
 */
abstract class Output {
  readonly isTTY: boolean
  /** Undefined before `take`, and once Node's stream is in use. */
  private direct: number | undefined
  private stream: NodeJS.WriteStream | undefined
  private isTaken = false
  private hasFailed = false

  constructor(
    private readonly fd: 1 | 2,
    private readonly name: 'stdout' | 'stderr',
  ) {
    this.isTTY = isTerminal(fd)
  }

  /** From here on, this object handles every failed write, also those through Node's stream. */
  take(): void {
    if (this.isTaken) return
    this.isTaken = true
    const make = streamMaker(this.fd)
    if (make === undefined) {
      this.stream = this.guard(process[this.name])
      return
    }
    const guarded = (): NodeJS.WriteStream => {
      this.stream ??= this.guard(make.call(process))
      this.direct = undefined
      return this.stream
    }
    Object.defineProperty(process, this.name, { configurable: true, enumerable: true, get: guarded })
    // A thread or a preloaded module may already have Node's stream, and must get no error from it.
    if (areStreamsLoaded()) guarded()
    else this.direct = unblockedDescriptor(this.fd)
  }

  /** Columns of a terminal. */
  get columns(): number | undefined {
    return this.isTTY ? process[this.name].columns : undefined
  }

  get rows(): number | undefined {
    return this.isTTY ? process[this.name].rows : undefined
  }

  write(content: string | Uint8Array): void {
    if (this.hasFailed) return
    if (this.direct === undefined) {
      process[this.name].write(content)
      return
    }
    const bytes = typeof content === 'string' ? Buffer.from(content) : content
    const written = this.writeTo(this.direct, bytes)
    if (written < bytes.length) process[this.name].write(bytes.subarray(written))
  }

  /**
   * Settles when everything is written, or a write has failed: then with false. `exit` would discard the queue of a pipe.
   */
  flush(): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.hasFailed || this.stream === undefined) resolve(!this.hasFailed)
      else this.stream.write('', (error) => resolve(error == null))
    })
  }

  protected abstract failed(errno: string): void

  /** Returns how many bytes need no further write: fewer than all if a pipe is full, which was opened again. */
  private writeTo(fd: number, bytes: Uint8Array): number {
    if (this.hasFailed) return bytes.length
    const { written, errno } = writeStream(fd, bytes)
    if (errno === undefined || (errno === 'EAGAIN' && fd !== this.fd)) return written
    this.fail(errno)
    return bytes.length
  }

  private fail(errno: string): void {
    this.hasFailed = true
    this.failed(errno)
  }

  /** Intercepts the stream's errors before any listener: oclif's listeners throw, which would end a turn in the middle. */
  private guard(stream: NodeJS.WriteStream): NodeJS.WriteStream {
    const emit = stream.emit.bind(stream) as (event: string | symbol, ...args: unknown[]) => boolean
    stream.emit = (event: string | symbol, ...args: unknown[]): boolean => {
      if (event !== 'error') return emit(event, ...args)
      this.fail(String(errnoName(args[0] ?? {})))
      return true
    }
    if (!isFile(stream)) return stream
    // Node calls write once and ignores a short write: a disk that fills up would truncate the result without an error.
    stream._write = (bytes: Uint8Array, _encoding, done) => {
      this.writeTo(this.fd, bytes)
      done()
    }
    return stream
  }
}

class Stdout extends Output {
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

  /** Prints the failure as the last line of the command, unless the command has already reported an error. */
  finish(): void {
    if (this.failure === undefined || !hasResultStatus(process.exitCode)) return
    const hint = this.remedy ?? `free disk space or write to another file, then ${RUN_AGAIN}`
    const { message, facts } = this.failure
    process.exitCode = EXIT_STATUS.STORAGE_FAILED
    stderr.line(errorLine(new SubstratError('STORAGE_FAILED', message, { hint, facts })))
  }

  protected override failed(errno: string): void {
    this.isOpen = false
    // A terminal returns EIO after it was hung up.
    if (this.failure !== undefined || errno === 'EPIPE' || (errno === 'EIO' && this.isTTY)) return
    this.failure = new SubstratError('STORAGE_FAILED', `cannot write the result to stdout: ${errno}`, {
      facts: { errno },
    })
  }
}

class Stderr extends Output {
  private isAfterEcho = false

  /** After Ctrl-C, which a terminal shows as `^C` where the cursor is: the next text begins in a row of its own. */
  endEcho(): void {
    this.isAfterEcho = this.isTTY
  }

  override write(content: string | Uint8Array): void {
    const breaks = this.isAfterEcho && content !== '\n'
    this.isAfterEcho = false
    if (breaks) super.write('\n')
    super.write(content)
  }

  /** A line for a person. A terminal shows it in as many rows as it needs; a pipe or file gets one line. */
  line(text: string): void {
    this.write(`${this.shown(text)}\n`)
  }

  /** The text as this stream shows it, for a question whose answer follows in the same line. */
  shown(text: string): string {
    const printable = printableText(text, this)
    return this.isTTY && process.env.TERM !== 'dumb' ? noteLines(printable, this.columns || 80) : printable
  }

  protected override failed(): void {}
}

export const stdout = new Stdout(1, 'stdout')
export const stderr = new Stderr(2, 'stderr')

/** Call it before the first write. */
export function guardStdio(): void {
  stdout.take()
  stderr.take()
}

/** Whether the stream is a file or a device, not a terminal or a pipe. */
function isFile(stream: NodeJS.WriteStream): boolean {
  return (stream as { _type?: string })._type === 'fs'
}
