/** The snapshots of agents. Each is a cache of a log and is rebuilt from it if a power cut loses it. */

import * as io from '../host/disk/io.js'
import { replace } from '../host/disk/replace.js'
import { beginsWith, damageOf, frame, LF, SUFFIX_BYTES, type Unframed, unframeFile } from './log/frame.js'
import { recordHead } from './log/lines.js'
import { peek } from './log/peek.js'
import type { HomePaths } from './paths.js'

/** The end of a log, as recorded in a snapshot. */
interface KnownEnd {
  id: string
  last_offset: number
  log_bytes: number
  last_seq: number
  updated_at: string
}

interface Peeked {
  head: string
  text(encoding: 'utf8' | 'latin1'): string
}

export class Snapshots {
  constructor(private readonly paths: HomePaths) {}

  read(agentId: string): Unframed {
    const bytes = io.readIfThere('snapshot.read', this.paths.agent(agentId).snapshot)
    return bytes === undefined ? { damage: 'it is missing' } : unframeFile(bytes)
  }

  /**
   * Fast path for lists of very many agents: the fields are not parsed. Undefined if the snapshot is missing, damaged or large,
   * or begins with none of the heads. Its text can be read until the next call.
   */
  peek(agentId: string, heads: string[]): Peeked | undefined {
    const bytes = peek('snapshot.read', this.paths.agent(agentId).snapshot, 0)
    if (bytes === undefined) return undefined
    const head = heads.find((each) => beginsWith(bytes, each))
    const length = bytes.length - 1
    return head === undefined || damageOf(bytes, head, length) !== undefined
      ? undefined
      : { head, text: (encoding) => bytes.toString(encoding, head.length, length - SUFFIX_BYTES) }
  }

  /**
   * Whether the log ends with the snapshot's last record, by seq and time. Only then is a snapshot trusted. A log of
   * another agent with the same shape has another time there.
   */
  isEndOfLog({ id, last_offset, log_bytes, last_seq, updated_at }: KnownEnd): boolean {
    if (!(Number.isSafeInteger(last_offset) && last_offset >= 0)) return false
    const bytes = peek('log.read', this.paths.agent(id).log, last_offset)
    if (bytes?.length !== log_bytes - last_offset || bytes.at(-1) !== LF) return false
    const head = `${recordHead(last_seq)}"ts":"${updated_at}",`
    return damageOf(bytes, head, bytes.length - 1) === undefined
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
