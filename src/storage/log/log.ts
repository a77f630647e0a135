/**
 * The append-only log of one agent, open to be appended to or to be read.
 *
 * Invariant: nothing is appended while an earlier batch is unsynced (durability rules 4 and 5).
 */
import { damagedConversation, SubstratError } from '../../errors.js'
import { nameOf } from '../../host/disk/facts.js'
import * as io from '../../host/disk/io.js'
import { LogReader } from './reader.js'

abstract class LogFile extends LogReader {
  /** Of a log that is only read it stays what it was: another process may append meanwhile. */
  protected end: number

  constructor(protected readonly file: io.OpenFile) {
    super()
    this.end = io.sizeOf(file)
  }

  get path(): string {
    return this.file.path
  }

  size(): number {
    return this.end
  }

  read(from: number, to: number): Buffer {
    return io.readRange('log.read', this.file, from, Math.min(to, this.end))
  }
}

export class LogWriter extends LogFile {
  private isBroken = false

  private constructor(file: io.OpenFile) {
    super(file)
  }

  /** `locked`: the log, as the agent's lease has it open; undefined where it could not be opened to be written. */
  static open(path: string, locked: io.OpenFile | undefined): LogWriter {
    if (locked !== undefined) return new LogWriter(locked)
    // What is in the way has a name. A log that has come back meanwhile is not locked by us, and still missing to us.
    const unlocked = io.openIfThere('log.open', path, 'write')
    if (unlocked !== undefined) io.close(unlocked)
    throw damagedConversation(`${path} is missing`, {
      hint: 'restore it from a backup',
      facts: { path },
    })
  }

  /**
   * Makes the bytes past `from` durable before anyone acts on them, and cuts the log at `end`: the last writer did not
   * close cleanly, so they may be only in the page cache, with pages that a failed fsync marked clean.
   */
  resyncTail(from: number, end: number): void {
    const bytes = this.read(from, end)
    // Until all of it is done nothing may follow.
    this.isBroken = true
    if (end < this.end) io.truncate('log.cut', this.file, end)
    io.writeAll('log.rewrite', this.file, bytes, from)
    io.fdatasync('log.resync', this.file)
    this.assertNamed()
    this.end = end
    this.isBroken = false
  }

  /** One batch. Durable when it returns; as if it had never been tried when it throws STORAGE_FAILED. */
  append(batch: Uint8Array): void {
    if (this.isBroken)
      throw new SubstratError('SYNC_FAILED', `${this.path} was left unsynced: nothing more is appended`)
    try {
      io.writeAll('log.append', this.file, batch, this.end)
    } catch (error) {
      this.takeBack()
      throw error
    }
    try {
      io.fdatasync('log.sync', this.file)
    } catch (error) {
      this.isBroken = true
      throw error
    }
    // After the sync: a log that is replaced before it is not acknowledged either.
    this.assertNamed()
    this.end += batch.length
  }

  /** What is appended to a log that nobody can open any more is lost with its last descriptor. */
  private assertNamed(): void {
    const name = nameOf('log.check', this.file)
    if (name === 'same' || name === 'unknown') return
    this.isBroken = true
    const what = name === 'none' ? 'removed' : 'replaced'
    throw new SubstratError('CORRUPT', `${this.path} was ${what} while it was in use`, {
      hint: 'nothing more is written; restore it from a backup',
      facts: { path: this.path },
    })
  }

  private takeBack(): void {
    try {
      io.truncate('log.take_back', this.file, this.end)
    } catch {
      // What stays behind is a torn tail: the next opener cuts it before it appends.
      this.isBroken = true
    }
  }
}

export function openLogForRead(path: string): OpenedLog | undefined {
  const file = io.openIfThere('log.open', path, 'read')
  return file === undefined ? undefined : new OpenedLog(file)
}

export class OpenedLog extends LogFile {
  close(): void {
    io.close(this.file)
  }
}
