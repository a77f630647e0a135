/**
 * The index of names below one parent (or of the roots): one small file per name, holding the id of the agent that has
 * it or had it last. Written under the index's own short lock.
 *
 * Invariants: an entry is durable before the agent that it names exists, so a living agent with a name is always found
 * by it. An entry may name an agent that never came to be, or is gone: its reader looks at the agent. An index without
 * `complete` has lost entries (it was deleted by hand) and a miss in it means nothing; nor does that of a damaged entry.
 */

import { dirname } from 'node:path'
import { assert, SubstratError } from '../errors.js'
import { isUuid } from '../format.js'
import { statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { replace } from '../host/disk/replace.js'
import { isHeld, type Lease, type LockSystem, waitForLease } from './locks/lease.js'
import { frame, unframeFile } from './log/frame.js'
import { isNameEntry, type NameIndexPaths } from './paths.js'

const LOCK_WAIT_MS = 10_000

export class NameIndex {
  private held: Lease | undefined

  constructor(
    private readonly paths: NameIndexPaths,
    private readonly locks: LockSystem,
  ) {}

  get isComplete(): boolean {
    return statIfThere('names.stat', this.paths.complete) !== undefined
  }

  /** The id that the name's entry holds; undefined where there is none that can be read. */
  lookUp(name: string): string | undefined {
    return this.read(this.paths.entry(name))
  }

  /** Whether a miss says that nobody has the name. */
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
    return typeof id === 'string' && isUuid(id) ? id : undefined
  }

  /** The ids of all entries: agents that live, are gone, or never came to be. Undefined where some are lost or damaged. */
  ids(): string[] | undefined {
    const files = io.listDirectory('names.list', this.paths.directory).filter(isNameEntry)
    const ids = files.map((file) => this.read(`${this.paths.directory}/${file}`))
    const known = ids.filter((id) => id !== undefined)
    return this.isComplete && known.length === ids.length ? [...new Set(known)] : undefined
  }

  /** Each entry's file, with what it says; a damaged one says nothing. */
  entries(): { path: string; agentId: string | undefined }[] {
    const files = io.listDirectory('names.list', this.paths.directory).filter(isNameEntry)
    return files.map((file) => {
      const path = `${this.paths.directory}/${file}`
      return { path, agentId: this.read(path) }
    })
  }

  /** Whether somebody is changing it right now. */
  get isHeld(): boolean {
    return isHeld(this.locks, this.paths.lock)
  }

  /** Takes an entry away that leads nowhere, or says nothing. Only under the lock. */
  discard(path: string): void {
    this.held?.assertHeld()
    assert(dirname(path) === this.paths.directory, 'an entry is of its own index')
    io.unlink('names.discard', path)
  }

  /** How many entries there are: no fewer than agents that live. */
  count(): number {
    return io.listDirectory('names.list', this.paths.directory).filter(isNameEntry).length
  }

  /** Forgets the entry of one that is gone. It may come back in a power cut, and is then as good as before. */
  forget(name: string): void {
    this.held?.assertHeld()
    io.unlink('names.forget', this.paths.entry(name))
  }

  /** Durable when it returns. Only under the lock. */
  reserve(name: string, agentId: string): void {
    this.held?.assertHeld()
    io.mkdir('names.mkdir', this.paths.directory)
    replace('names.reserve', this.paths.entry(name), frame({ name, agent_id: agentId }), {
      durableName: true,
    })
  }

  /** Says that every living name has an entry. Only under the lock. */
  markComplete(): void {
    this.held?.assertHeld()
    const file = io.open('names.complete', this.paths.complete, 'create')
    io.close(file)
    io.syncDirectory('names.sync_directory', this.paths.directory)
  }

  async lock(command: string): Promise<Lease> {
    io.mkdir('names.mkdir', this.paths.directory)
    const lease = await waitForLease(this.locks, this.paths.lock, command, LOCK_WAIT_MS)
    this.held = lease
    if (lease !== undefined) return lease
    throw new SubstratError('LOCKED', `the index of names ${this.paths.directory} is busy`, {
      hint: 'run the same command again; if it stays busy, look who has the lock file open',
      facts: { path: this.paths.lock },
    })
  }
}
