/**
 * The append-only log of one agent, open for appending or reading.
 *
 * Invariant: nothing is appended while an earlier batch is unsynced (durability rules 4 and 5).
 */
import { damagedConversation, REBUILD, RUN_AGAIN, SubstratError } from '../../errors.js'
import { nameOf } from '../../host/disk/facts.js'
import * as io from '../../host/disk/io.js'
import { LogReader } from './reader.js'

abstract class LogFile extends LogReader {
  /** A reader keeps the size at opening, although another process may append meanwhile. */
  protected end: number

  constructor(readonly file: io.OpenFile) {
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

/** A batch up to this size stays in memory: its records are read right after the append. */
const RECENT_BYTES_MAX = 1024 * 1024

export class LogWriter extends LogFile {
  private isBroken = false
  private recent: { from: number; bytes: Buffer } = { from: 0, bytes: Buffer.alloc(0) }

  private constructor(file: io.OpenFile) {
    super(file)
  }

  /**
   * `locked`: the log, opened and locked by the agent's lease. Undefined if the lease could not open it for writing.
   */
  static open(path: string, locked: io.OpenFile | undefined): LogWriter {
    if (locked !== undefined) return new LogWriter(locked)
    // The open reports any obstacle by its own error.
    const unlocked = io.openIfThere('log.open', path, 'write')
    if (unlocked !== undefined) {
      // The obstacle is gone, for example after a remount. But this process has not locked the log.
      io.close(unlocked)
      throw new SubstratError('STORAGE_FAILED', `${path} could not be opened for writing`, {
        hint: RUN_AGAIN,
        facts: { path },
      })
    }
    throw damagedConversation(`${path} is missing`, {
      hint: `restore it from a backup, or continue from its snapshot: ${REBUILD}`,
      facts: { path },
    })
  }

  /**
   * Truncates the log at `end` and makes the bytes from `from` durable. Call it before acting on those bytes if the last
   * writer did not close cleanly: they may be only in the page cache. It rewrites them in place, because a failed fsync
   * may have marked their pages clean.
   */
  resyncTail(from: number, end: number): void {
    const bytes = this.read(from, end)
    // No append may follow unless every step succeeds.
    this.isBroken = true
    if (end < this.end) io.truncate('log.cut', this.file, end)
    io.writeAll('log.rewrite', this.file, bytes, from)
    io.fdatasync('log.resync', this.file)
    this.assertNamed()
    this.end = end
    this.isBroken = false
  }

  override read(from: number, to: number): Buffer {
    const { from: start, bytes } = this.recent
    const isRecent = from >= start && to <= start + bytes.length
    return isRecent ? bytes.subarray(from - start, to - start) : super.read(from, to)
  }

  /**
   * Appends one batch, durable on return. STORAGE_FAILED means that the log is unchanged, or that its tail will be cut.
   */
  append(batch: Buffer): void {
    if (this.isBroken)
      throw new SubstratError(
        'SYNC_FAILED',
        `${this.path} had a failed write or sync: nothing more is appended to it`,
      )
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
    // After the sync, so that a batch in a log replaced before the sync is not acknowledged either.
    this.assertNamed()
    if (batch.length <= RECENT_BYTES_MAX) this.recent = { from: this.end, bytes: batch }
    this.end += batch.length
  }

  /** Throws if the log was unlinked or replaced: its appended records vanish with the last descriptor. */
  private assertNamed(): void {
    const name = nameOf('log.check', this.file)
    if (name === 'same' || name === 'unknown') return
    this.isBroken = true
    const what = name === 'none' ? 'removed' : 'replaced'
    throw new SubstratError('CORRUPT', `${this.path} was ${what} while it was in use`, {
      hint: 'this command writes nothing more; restore the log from a backup',
      facts: { path: this.path },
    })
  }

  private takeBack(): void {
    try {
      io.truncate('log.take_back', this.file, this.end)
    } catch {
      // The rest is a truncated tail. The next writer cuts it before it appends.
      this.isBroken = true
    }
  }
}

export function openLogForRead(path: string): FileLog | undefined {
  const file = io.openIfThere('log.open', path, 'read')
  return file === undefined ? undefined : new FileLog(file)
}

export class FileLog extends LogFile {
  /** Call before acknowledging records read without the lock: their writer may not have fsynced them yet. */
  sync(): void {
    io.fdatasync('log.sync_read', this.file)
  }

  close(): void {
    io.close(this.file)
  }
}
