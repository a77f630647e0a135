/** The snapshots of agents. Each is a cache of a log, and may be lost in a power cut: it is made again from the log. */

import * as io from '../host/disk/io.js'
import { replace } from '../host/disk/replace.js'
import { damageOf, frame, LF, type Unframed, unframedText, unframeFile } from './log/frame.js'
import { peek } from './log/peek.js'
import { recordHead } from './log/scan.js'
import type { HomePaths } from './paths.js'

/** The end of a log as a snapshot knows it. */
interface KnownEnd {
  id: string
  last_offset: number
  log_bytes: number
  last_seq: number
  updated_at: string
}

export class Snapshots {
  constructor(private readonly paths: HomePaths) {}

  read(agentId: string): Unframed {
    const bytes = io.readIfThere('snapshot.read', this.paths.agent(agentId).snapshot)
    return bytes === undefined ? { damage: 'it is missing' } : unframeFile(bytes)
  }

  /**
   * For who looks at very many agents: the text of its fields behind `head`, not parsed. Undefined where the snapshot is
   * missing, damaged or large, or begins otherwise.
   */
  peek(agentId: string, head: string): string | undefined {
    const line = peek('snapshot.read', this.paths.agent(agentId).snapshot, 0)?.subarray(0, -1)
    return line === undefined || damageOf(line, head) !== undefined ? undefined : unframedText(line, head)
  }

  /**
   * Whether the log ends with the record that the snapshot knows as the last, by seq and time: that is what makes a snapshot
   * trusted. The log of another agent of the same shape has another time there.
   */
  isEndOfLog({ id, last_offset, log_bytes, last_seq, updated_at }: KnownEnd): boolean {
    if (!(Number.isSafeInteger(last_offset) && last_offset >= 0)) return false
    const bytes = peek('log.read', this.paths.agent(id).log, last_offset)
    if (bytes?.length !== log_bytes - last_offset || bytes.at(-1) !== LF) return false
    return damageOf(bytes.subarray(0, -1), `${recordHead(last_seq)}"ts":"${updated_at}",`) === undefined
  }

  write(agentId: string, snapshot: object): void {
    this.replace(agentId, frame(snapshot))
  }

  /** Leaves one that says nothing: the next holder of the agent makes it again from the whole log. */
  clear(agentId: string): void {
    this.replace(agentId, Buffer.alloc(0))
  }

  private replace(agentId: string, bytes: Buffer): void {
    replace('snapshot', this.paths.agent(agentId).snapshot, bytes, { durableName: false })
  }
}
