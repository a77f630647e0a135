import { SubstratError } from '../../../src/errors.js'
import { foldName } from '../../../src/format.js'
import type { NameEntry, Names, Right } from '../../../src/storage/store.js'
import { type MemoryNames, waitForLock } from './memory-home.js'

const LOCK_WAIT_MS = 10_000

export class MemoryNameIndex implements Names {
  private held: Right | undefined

  constructor(
    private readonly names: MemoryNames,
    private readonly hasAgent: (agentId: string) => boolean,
  ) {}

  get isComplete(): boolean {
    return this.names.isComplete
  }

  get isHeld(): boolean {
    return this.names.lock.owner !== undefined
  }

  lookUp(name: string): string | undefined {
    return this.names.entries.get(foldName(name))?.agentId
  }

  find(name: string): string | 'none' | 'unknown' {
    const id = this.lookUp(name)
    if (id !== undefined) return this.hasAgent(id) ? id : 'unknown'
    return this.isComplete ? 'none' : 'unknown'
  }

  isMissTrusted(): boolean {
    return this.isComplete
  }

  nameOf(agentId: string): string | undefined {
    return [...this.names.entries.values()].find((entry) => entry.agentId === agentId)?.name
  }

  ids(): string[] | undefined {
    return this.isComplete ? [...new Set(this.entries().map(({ agentId }) => agentId as string))] : undefined
  }

  entries(): NameEntry[] {
    return [...this.names.entries].map(([path, { agentId }]) => ({ path, agentId }))
  }

  count(): number {
    return this.names.entries.size
  }

  async lock(command: string): Promise<Right> {
    this.held = await waitForLock(this.names.lock, command, LOCK_WAIT_MS)
    if (this.held !== undefined) return this.held
    throw new SubstratError('LOCKED', 'the index of names is busy', { hint: 'run the same command again' })
  }

  reserve(name: string, agentId: string): void {
    this.held?.assertHeld()
    this.names.entries.set(foldName(name), { name, agentId })
  }

  forget(name: string): void {
    this.held?.assertHeld()
    this.names.entries.delete(foldName(name))
  }

  discard({ path }: NameEntry): void {
    this.held?.assertHeld()
    this.names.entries.delete(path)
  }

  markComplete(): void {
    this.held?.assertHeld()
    this.names.isComplete = true
  }
}
