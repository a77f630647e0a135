/** The key indexes of agents. Each is a cache of a log, and may be lost, or spoilt, in a power cut: it is made again from the log. */
import { statIfThere } from '../host/disk/facts.js'
import { forgetOld, type KeyPlace, type KeyRetention, mergeEntries } from './log/key-entries.js'
import { KeyFile, type KeyFileEnd, type SalvagedKeys, salvageKeyFile, writeKeyFile } from './log/key-file.js'
import type { HomePaths } from './paths.js'

interface IndexedKeys {
  /** Entries of the index before, as `KeyFile.entries` has them. */
  known?: Buffer | undefined
  /** The place of each key that is added, by the hash of the key in hex. */
  added: ReadonlyMap<string, KeyPlace>
  kept: KeyRetention
}

export class KeyIndexes {
  constructor(private readonly paths: HomePaths) {}

  isThere(agentId: string): boolean {
    return statIfThere('keys.stat', this.paths.agent(agentId).keys) !== undefined
  }

  /** Undefined where there is none, or its head does not check. To be closed. */
  open(agentId: string): KeyFile | undefined {
    return KeyFile.open(this.paths.agent(agentId).keys, agentId)
  }

  /** Under the agent's lock. */
  write(end: KeyFileEnd, { known = Buffer.alloc(0), added, kept }: IndexedKeys): void {
    const entries = forgetOld(mergeEntries(known, added), kept)
    writeKeyFile(this.paths.agent(end.agent_id).keys, end, entries)
  }

  /** What of it checks, whatever its log is. */
  salvage(agentId: string): SalvagedKeys {
    return salvageKeyFile(this.paths.agent(agentId).keys, agentId)
  }
}
