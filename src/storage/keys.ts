/** The key indexes of agents. Each is a cache of a log and is rebuilt from it if a power cut loses or damages it. */
import { statIfThere } from '../host/disk/facts.js'
import { forgetOld, type KeyPlace, type KeyRetention, mergeEntries } from './log/key-entries.js'
import { KeyFile, salvageKeyFile, writeKeyFile } from './log/key-file.js'
import type { KeyIndexEnd, KeyIndexes, SalvagedKeys } from './parts.js'
import type { HomePaths } from './paths.js'

interface IndexedKeys {
  /** Entries of the old index, from `KeyFile.entries`. */
  known?: Buffer | undefined
  /** Places of the new keys, by the key's hash in hex. */
  added: ReadonlyMap<string, KeyPlace>
  kept: KeyRetention
}

export class KeyIndexFiles implements KeyIndexes {
  constructor(private readonly paths: HomePaths) {}

  isThere(agentId: string): boolean {
    return statIfThere('keys.stat', this.paths.agent(agentId).keys) !== undefined
  }

  /** Undefined if there is no index, or its head is damaged or another agent's. The caller closes it. */
  open(agentId: string): KeyFile | undefined {
    return KeyFile.open(this.paths.agent(agentId).keys, agentId)
  }

  /** Needs the agent's lock. */
  write(end: KeyIndexEnd, { known = Buffer.alloc(0), added, kept }: IndexedKeys): void {
    const entries = forgetOld(mergeEntries(known, added), kept)
    writeKeyFile(this.paths.agent(end.agent_id).keys, end, entries)
  }

  /** The undamaged parts of the index, read without the log. */
  salvage(agentId: string): SalvagedKeys {
    return salvageKeyFile(this.paths.agent(agentId).keys, agentId)
  }
}
