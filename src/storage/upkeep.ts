/** Store functions that only the audit, `doctor --rebuild` and `unlock` need. */
import { clock } from '../clock.js'
import { changeMode, lstatIfThere, statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { placeOf } from '../host/whereabouts.js'
import { keepDamaged, replaceLog, type SetAside } from './aside.js'
import type { HomeFormat } from './home.js'
import { isHeld, type LockSystem, lockDirectory, readHolder } from './locks/lease.js'
import { writeBlob } from './log/blobs.js'
import type { Markers } from './markers.js'
import type { Holder, Upkeep } from './parts.js'
import { type HomePaths, isSpawnLeftover } from './paths.js'
import type { Snapshots } from './snapshots.js'
import type { BlobReference, Unframed } from './store.js'
import { type Entry, surveyHome, type Unseen } from './survey.js'
import { sweepAgent } from './sweep.js'
import type { WaitEdges } from './wait-edges.js'

/** The holder of a lock directory touches it every 10 s. */
const LOCK_DIRECTORY_FRESH_MS = 60_000

/** The parts of the store that an upkeep uses. */
interface StoreForUpkeep {
  readonly homeFormat: HomeFormat
  readonly snapshots: Snapshots
  readonly visits: Markers
  readonly waits: WaitEdges
}

export class FileUpkeep implements Upkeep {
  constructor(
    private readonly paths: HomePaths,
    private readonly locks: LockSystem,
    private readonly store: StoreForUpkeep,
  ) {}

  survey(): Iterable<Entry | Unseen> {
    return surveyHome(this.paths.root)
  }

  sweep(agentId: string): number {
    this.store.waits.sweep(agentId)
    return sweepAgent(this.paths.agent(agentId))
  }

  readSnapshot(agentId: string): Unframed {
    return this.store.snapshots.read(agentId)
  }

  clearSnapshot(agentId: string): void {
    this.store.snapshots.clear(agentId)
  }

  writeBlob(agentId: string, content: Buffer): BlobReference {
    return writeBlob(this.paths.agent(agentId), content)
  }

  waitsLeft(agentId: string): string[] {
    return this.store.waits.leftBy(agentId)
  }

  isSpawning(agentId: string): boolean {
    return this.store.visits.isSpawning(agentId)
  }

  /** Whether locks here are only kernel locks, which cannot outlive their holders. */
  get isLocal(): boolean {
    return this.locks.isLocal
  }

  /** Where the holder of a lock directory lives. `elsewhere`: another machine touches the directory. */
  lifeOf(directory: string): 'here' | 'elsewhere' | 'none' {
    if (isHeld({ ...this.locks, isLocal: true }, lockOf(directory)))
      return isOnOtherHost(readHolder(lockOf(directory))) ? 'elsewhere' : 'here'
    const facts = lstatIfThere('lock.stat', directory)
    const isFresh = facts !== undefined && clock.now() - facts.modifiedMs < LOCK_DIRECTORY_FRESH_MS
    return isFresh && !this.locks.isLocal ? 'elsewhere' : 'none'
  }

  holderOf(directory: string): Holder | undefined {
    return readHolder(lockOf(directory))
  }

  /** Only for a person who knows that the holder is dead. */
  breakLock(directory: string): void {
    io.removeTree('lock.break', directory)
  }

  /** Whether the spawn that owns this staging directory lives. */
  isStagingAlive(path: string): boolean {
    if (!isSpawnLeftover(path.slice(path.lastIndexOf('/') + 1))) return false
    return isHeld({ ...this.locks, isLocal: true }, `${path}/lock`)
  }

  blobNames(agentId: string): string[] {
    return io
      .listDirectory('blob.list', this.paths.agent(agentId).blobs)
      .filter((name) => /^[0-9a-f]{64}$/.test(name))
  }

  blobPath(agentId: string, blob: string): string {
    return this.paths.agent(agentId).blob(blob)
  }

  hasServerFiles(agentId: string): boolean {
    return statIfThere('server.stat', this.paths.agent(agentId).serverHandle) !== undefined
  }

  requestPath(agentId: string, runId: string, verb: 'suspend' | 'terminate' | 'cancel'): string {
    return this.paths.agent(agentId).request(runId, verb)
  }

  keepDamaged(agentId: string): SetAside {
    return keepDamaged(this.paths.agent(agentId))
  }

  replaceLog(agentId: string, bytes: Buffer, snapshot: object): void {
    this.store.homeFormat.raise()
    replaceLog(this.paths.agent(agentId), bytes, snapshot)
  }

  /** Sets the mode that the format requires. A file of the owner loses only write permission for other users. */
  tighten({ path, isTheirs, facts }: Entry): void {
    const mode = facts.kind === 'directory' ? 0o700 : 0o600
    changeMode('mode.tighten', path, isTheirs ? facts.mode & ~0o022 : mode)
  }
}

function isOnOtherHost(holder: Holder | undefined): boolean {
  if (typeof holder?.boot_id !== 'string') return false
  const [kernel_boot_id = ''] = holder.boot_id.split('/')
  return placeOf({ kernel_boot_id, host_id: holder.host_id }) === 'elsewhere'
}

function lockOf(directory: string): string {
  return directory.slice(0, -lockDirectory('').length)
}
