/** What the audit looks at, and `doctor --rebuild` and `unlock` put right, that no other part of the store needs. */
import { clock } from '../clock.js'
import { changeMode, lstatIfThere, statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { keepDamaged, replaceLog, type SetAside } from './aside.js'
import { type Holder, isHeld, type LockSystem, lockDirectory, readHolder } from './locks/lease.js'
import { type HomePaths, isSpawnLeftover } from './paths.js'
import type { Entry } from './survey.js'

/** The holder of a lock directory touches it every 10 s. */
const LOCK_DIRECTORY_FRESH_MS = 60_000

export class Upkeep {
  constructor(
    private readonly paths: HomePaths,
    private readonly locks: LockSystem,
  ) {}

  /** Whether a lock of this kernel is all that a lock is here, so that it cannot outlive its holder. */
  get isLocal(): boolean {
    return this.locks.isLocal
  }

  /** Who is behind a lock directory: a process of this machine, one elsewhere that touches it, or nobody. */
  lifeOf(directory: string): 'here' | 'elsewhere' | 'none' {
    if (isHeld({ ...this.locks, isLocal: true }, lockOf(directory))) return 'here'
    const facts = lstatIfThere('lock.stat', directory)
    const isFresh = facts !== undefined && clock.now() - facts.modifiedMs < LOCK_DIRECTORY_FRESH_MS
    return isFresh && !this.locks.isLocal ? 'elsewhere' : 'none'
  }

  holderOf(directory: string): Holder | undefined {
    return readHolder(lockOf(directory))
  }

  /** For a person who knows that its holder is gone. */
  breakLock(directory: string): void {
    io.removeTree('lock.break', directory)
  }

  /** Whether the spawn that is building an agent there lives. */
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

  /** Under the agent's lock. */
  keepDamaged(agentId: string): SetAside {
    return keepDamaged(this.paths.agent(agentId))
  }

  /** Under the agent's lock. */
  replaceLog(agentId: string, bytes: Buffer, snapshot: object): void {
    replaceLog(this.paths.agent(agentId), bytes, snapshot)
  }

  /** To the modes of the format; what the owner has put there stays readable as it was. */
  tighten({ path, isTheirs, facts }: Entry): void {
    const mode = facts.kind === 'directory' ? 0o700 : 0o600
    changeMode('mode.tighten', path, isTheirs ? facts.mode & ~0o022 : mode)
  }
}

function lockOf(directory: string): string {
  return directory.slice(0, -lockDirectory('').length)
}
