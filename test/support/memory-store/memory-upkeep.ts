import { createHash } from 'node:crypto'
import type { BlobReference, Unframed, Upkeep } from '../../../src/storage/store.js'
import type { MemoryHome } from './memory-home.js'

/** A home in memory has no files to look after: no modes, leftovers or lock directories. */
export class MemoryUpkeep implements Upkeep {
  readonly isLocal = true

  constructor(private readonly home: MemoryHome) {}

  survey(): [] {
    return []
  }

  tighten(): void {}

  lifeOf(): 'none' {
    return 'none'
  }

  holderOf(): undefined {
    return undefined
  }

  breakLock(): void {}

  isStagingAlive(): boolean {
    return false
  }

  isSpawning(): boolean {
    return false
  }

  blobNames(agentId: string): string[] {
    return [...(this.home.agents.get(agentId)?.blobs.keys() ?? [])]
  }

  blobPath(agentId: string, blob: string): string {
    return `memory:blob/${agentId}/${blob}`
  }

  requestPath(agentId: string, runId: string, verb: string): string {
    return `memory:request/${agentId}/${runId}.${verb}`
  }

  waitsLeft(): string[] {
    return []
  }

  hasServerFiles(): boolean {
    return false
  }

  sweep(): number {
    return 0
  }

  clearSnapshot(agentId: string): void {
    const agent = this.home.agents.get(agentId)
    if (agent !== undefined) agent.snapshot = undefined
  }

  readSnapshot(agentId: string): Unframed {
    const snapshot = this.home.agents.get(agentId)?.snapshot
    return snapshot === undefined ? { damage: 'it is missing' } : { object: JSON.parse(snapshot) }
  }

  keepDamaged(): { log: null; snapshot: null } {
    return { log: null, snapshot: null }
  }

  writeBlob(agentId: string, content: Buffer): BlobReference {
    const blob = createHash('sha256').update(content).digest('hex')
    this.home.agents.get(agentId)?.blobs.set(blob, content)
    return { blob, bytes: content.length }
  }

  replaceLog(agentId: string, bytes: Buffer, snapshot: object): void {
    const agent = this.home.agents.get(agentId)
    if (agent !== undefined) Object.assign(agent, { log: bytes, snapshot: JSON.stringify(snapshot) })
  }
}
