/**
 * The index of names below one parent, or of the roots. One small file per name holds the id of the name's latest
 * agent. Writers hold the index's own lock, briefly.
 *
 * Invariants:
 * - An entry is durable before its agent exists, so every living agent with a name is found by it.
 * - An entry may name an agent that was never created or no longer exists. Its reader checks the agent.
 * - An index without `complete` may have lost entries (a person deleted it), so a miss in it proves nothing. The same
 *   holds for a damaged entry.
 */

import { dirname } from 'node:path'
import { assert, RUN_AGAIN, SubstratError } from '../errors.js'
import { statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { replace } from '../host/disk/replace.js'
import { FILE_PREDICATES } from '../schema/generated/file-predicates.js'
import { isHeld, type KernelLease, type LockSystem, waitForLease } from './locks/lease.js'
import { frame, unframeFile } from './log/frame.js'
import type { NameEntry, Names } from './parts.js'
import { isNameEntry, type NameIndexPaths } from './paths.js'

const LOCK_WAIT_MS = 10_000

export class NameIndex implements Names {
  private held: KernelLease | undefined

  constructor(
    private readonly paths: NameIndexPaths,
    private readonly locks: LockSystem,
    private readonly hasAgent: (agentId: string) => boolean,
    /** Makes the parent durable, whose name another process may not have fsynced (durability rule 3). */
    private readonly syncParent: () => void = () => undefined,
  ) {}

  get isComplete(): boolean {
    return statIfThere('names.stat', this.paths.complete) !== undefined
  }

  /** The agent id in the name's entry. Undefined if the entry is missing or damaged. */
  lookUp(name: string): string | undefined {
    return this.read(this.paths.entry(name))
  }

  find(name: string): string | 'none' | 'unknown' {
    const id = this.lookUp(name)
    if (id !== undefined) return this.hasAgent(id) ? id : 'unknown'
    return this.isMissTrusted(name) ? 'none' : 'unknown'
  }

  /** Whether a miss proves that no agent has the name. */
  isMissTrusted(name: string): boolean {
    const path = this.paths.entry(name)
    const isThere = statIfThere('names.stat', path) !== undefined
    return this.isComplete && !(isThere && this.read(path) === undefined)
  }

  private read(path: string): string | undefined {
    const bytes = io.readIfThere('names.read', path)
    if (bytes === undefined) return undefined
    const entry = unframeFile(bytes)
    const id = 'damage' in entry ? undefined : entry.object.agent_id
    return FILE_PREDICATES.nameEntry.agent_id?.(id) ? (id as string) : undefined
  }

  /** The name in the agent's entry. Undefined if it has no entry, or a damaged one. */
  nameOf(agentId: string): string | undefined {
    const path = this.entries().find((entry) => entry.agentId === agentId)?.path
    const bytes = path === undefined ? undefined : io.readIfThere('names.read', path)
    const entry = bytes === undefined ? undefined : unframeFile(bytes)
    const name = entry === undefined || 'damage' in entry ? undefined : entry.object.name
    return FILE_PREDICATES.nameEntry.name?.(name) ? (name as string) : undefined
  }

  /** Agent ids of all entries, also of agents removed or never created. Undefined if entries are lost or damaged. */
  ids(): string[] | undefined {
    const files = io.listDirectory('names.list', this.paths.directory).filter(isNameEntry)
    const ids = files.map((file) => this.read(`${this.paths.directory}/${file}`))
    const known = ids.filter((id) => id !== undefined)
    return this.isComplete && known.length === ids.length ? [...new Set(known)] : undefined
  }

  /** All entries. A damaged one has no `agentId`. */
  entries(): NameEntry[] {
    const files = io.listDirectory('names.list', this.paths.directory).filter(isNameEntry)
    return files.map((file) => {
      const path = `${this.paths.directory}/${file}`
      return { path, agentId: this.read(path) }
    })
  }

  /** Whether a process holds the lock of the index now. */
  get isHeld(): boolean {
    return isHeld(this.locks, this.paths.lock)
  }

  /** Removes a damaged entry, or one without an agent. Needs the lock. */
  discard({ path }: NameEntry): void {
    this.held?.assertHeld()
    assert(dirname(path) === this.paths.directory, 'an entry belongs to this index')
    io.unlink('names.discard', path)
  }

  /** Number of entries. Never less than the number of living agents. */
  count(): number {
    return io.listDirectory('names.list', this.paths.directory).filter(isNameEntry).length
  }

  /** Removes the entry of an agent that no longer exists. A power cut may bring the entry back, which is harmless. */
  forget(name: string): void {
    this.held?.assertHeld()
    io.unlink('names.forget', this.paths.entry(name))
  }

  /** Durable on return. Needs the lock. */
  reserve(name: string, agentId: string): void {
    this.held?.assertHeld()
    io.mkdir('names.mkdir', this.paths.directory)
    replace('names.reserve', this.paths.entry(name), frame({ name, agent_id: agentId }), {
      durableName: true,
    })
  }

  /** Records that every living name has an entry. Needs the lock. */
  markComplete(): void {
    this.held?.assertHeld()
    const file = io.open('names.complete', this.paths.complete, 'create')
    io.close(file)
    io.syncDirectory('names.sync_directory', this.paths.directory)
  }

  async lock(command: string): Promise<KernelLease> {
    this.syncParent()
    io.mkdir('names.mkdir', this.paths.directory)
    const lease = await waitForLease(this.locks, this.paths.lock, command, LOCK_WAIT_MS)
    this.held = lease
    if (lease !== undefined) return lease
    throw new SubstratError('LOCKED', `the index of names ${this.paths.directory} is busy`, {
      hint: `${RUN_AGAIN}; if the index stays busy, find the process that has the lock file open`,
      facts: { path: this.paths.lock },
    })
  }
}
