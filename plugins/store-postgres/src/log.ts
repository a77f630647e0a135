/** A log in the database. Read parts, and the appends of this process, stay in memory. */
import type { LogReader, OpenedLog } from 'substrat/store'
import { bytesOf } from './client.js'
import { call, type Shared } from './rights.js'

const PART_BYTES = 1024 * 1024
const PARTS_MAX = 8

interface Part {
  from: number
  bytes: Buffer
}

export interface RemoteLog extends OpenedLog, LogReader {
  /** After the batch is in the database. */
  grow(bytes: Buffer): void
  cut(end: number): void
}

/** `end`: the size of the log at the moment of the opening. */
export function openRemoteLog(shared: Shared, agentId: string, end: number, first: Part): RemoteLog {
  class Log extends shared.kit.LogReader implements RemoteLog {
    readonly path = `${shared.url}/agents/${agentId}`
    private parts: Part[] = [first]
    private end = end

    size(): number {
      return this.end
    }

    read(from: number, wanted: number): Buffer {
      const to = Math.min(wanted, this.end)
      if (from >= to) return Buffer.alloc(0)
      const known = this.parts.find((part) => from >= part.from && to <= part.from + part.bytes.length)
      const part = known ?? this.fetch(from, Math.min(this.end, Math.max(to, from + PART_BYTES)))
      return part.bytes.subarray(from - part.from, to - part.from)
    }

    private fetch(from: number, to: number): Part {
      const [row] = call(shared, agentId, (client) => client.read('log_bytes', agentId, from, to))
      const part = { from, bytes: bytesOf(row?.log_bytes) }
      this.parts = [...this.parts.slice(1 - PARTS_MAX), part]
      return part
    }

    grow(bytes: Buffer): void {
      this.parts = [...this.parts.slice(1 - PARTS_MAX), { from: this.end, bytes }]
      this.end += bytes.length
    }

    cut(at: number): void {
      this.parts = []
      this.end = at
    }

    /** Every read returns committed bytes. */
    sync(): void {}

    close(): void {}
  }
  return new Log()
}
