/** The snapshots of agents. Each is a cache of a log and is rebuilt from it if a power cut loses it. */

import * as io from '../host/disk/io.js'
import { replace } from '../host/disk/replace.js'
import { damageOf, frame, LF, type Unframed, unframedText, unframeFile } from './log/frame.js'
import { peek } from './log/peek.js'
import { recordHead } from './log/scan.js'
import type { HomePaths } from './paths.js'

/** The end of a log, as recorded in a snapshot. */
interface KnownEnd {
  id: string
  last_offset: number
  log_bytes: number
  last_seq: number
  updated_at: string
}

/** A snapshot, and the text of its fields after a known head. */
export interface PeekedSnapshot {
  head: string
  text: string
}

export class Snapshots {
  constructor(private readonly paths: HomePaths) {}

  read(agentId: string): Unframed {
    const bytes = io.readIfThere('snapshot.read', this.paths.agent(agentId).snapshot)
    return bytes === undefined ? { damage: 'it is missing' } : unframeFile(bytes)
  }

  /**
   * Fast path for lists of very many agents: the fields are not parsed. Undefined if the snapshot is missing, damaged or large,
   * or begins with none of the heads.
   */
  peek(agentId: string, heads: string[]): PeekedSnapshot | undefined {
    const line = peek('snapshot.read', this.paths.agent(agentId).snapshot, 0)?.subarray(0, -1)
    if (line === undefined) return undefined
    const head = heads.find((each) => line.toString('latin1', 0, each.length) === each)
    return head === undefined || damageOf(line, head) !== undefined
      ? undefined
      : { head, text: unframedText(line, head) }
  }

  /**
   * Whether the log ends with the snapshot's last record, by seq and time. Only then is a snapshot trusted. A log of
   * another agent with the same shape has another time there.
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

  /** Empties the snapshot. The next holder of the agent rebuilds it from the whole log. */
  clear(agentId: string): void {
    this.replace(agentId, Buffer.alloc(0))
  }

  private replace(agentId: string, bytes: Buffer): void {
    replace('snapshot', this.paths.agent(agentId).snapshot, bytes, { durableName: false })
  }
}
