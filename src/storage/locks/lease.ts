/**
 * The exclusive right to an agent, an index or a slot. One holder at a time, across processes and containers of one
 * kernel (durability rule 8).
 *
 * Locks cannot deadlock. The holder of a name index never waits for an agent's lock, and a turn with a slot never waits
 * for another agent's lock.
 *
 * On a file system that is not local, kernel locks may not work between machines, so the holder also takes a lock
 * directory. It never expires, because a dead holder looks the same as a slow one.
 */
import { clock, sleep } from '../../clock.js'
import { RUN_AGAIN, SubstratError } from '../../errors.js'
import { nameOf, statIfThere } from '../../host/disk/facts.js'
import * as io from '../../host/disk/io.js'
import { bootId, hostName, ownIdentity } from '../../host/identity.js'
import type { Holder, LockKind } from '../../schema/files.js'
import { FILE_PREDICATES } from '../../schema/generated/file-predicates.js'
import { tryKernelLock } from './kernel-lock.js'
import { type LockedLog, tryLockLog } from './log-lock.js'

export interface LockSystem {
  kind: LockKind
  /** Whether statfs calls the home's file system local. */
  isLocal: boolean
}

export class KernelLease {
  /** Once set, this process never writes again: its state in memory may be older than the disk. */
  private failure: SubstratError | undefined

  constructor(
    private file: io.OpenFile | undefined,
    private readonly releaseDirectory: (() => Promise<void>) | undefined,
    /** The agent's log, open and locked. Undefined without a writable log. */
    readonly log: io.OpenFile | undefined = undefined,
  ) {}

  markCompromised(): void {
    this.failure = lostLeaseError()
  }

  /**
   * Fence: call before every write, and again before acknowledging it. Throws if the lease was lost or released, or if
   * the lock file was removed or replaced, because the next process then locks another file. Renaming the home is
   * harmless.
   */
  assertHeld(): void {
    if (this.failure !== undefined) throw this.failure
    if (this.file === undefined) throw lostLeaseError()
    this.assertNamed(this.file)
  }

  private assertNamed(file: io.OpenFile): void {
    const name = nameOf('lock.check', file)
    if (name === 'same' || name === 'unknown') return
    const what = name === 'none' ? 'removed' : 'replaced'
    this.failure = new SubstratError('LOCKED', `the lock file ${file.path} was ${what} while it was in use`, {
      hint: 'this command writes nothing more; never remove a lock file; to continue, run: substrat recover --all',
      facts: { path: file.path },
    })
    throw this.failure
  }

  async release(): Promise<void> {
    if (this.file === undefined) return
    if (this.log !== undefined) io.close(this.log)
    io.close(this.file)
    this.file = undefined
    await this.releaseDirectory?.().catch(() => undefined)
  }
}

function lostLeaseError(): SubstratError {
  return new SubstratError(
    'LOCKED',
    'the lock was lost while it was in use: this command writes nothing more',
    {
      hint: `check the file system of the home, then ${RUN_AGAIN}`,
    },
  )
}

/** Undefined if another process holds the lock. `log`: path of the agent's log, to lock as well. */
export async function tryLease(
  system: LockSystem,
  path: string,
  command: string,
  log?: string,
): Promise<KernelLease | undefined> {
  const file = tryKernelLock(system.kind, path, 'exclusive')
  const lockLog = (): LockedLog => (log === undefined ? 'none' : tryLockLog(system, log))
  return file === undefined ? undefined : leaseFrom(system, file, command, lockLog)
}

/** Completes a lease from a held kernel lock. Undefined if another process holds the lock directory or the log. */
export async function leaseFrom(
  system: LockSystem,
  file: io.OpenFile,
  command: string,
  lockLog: () => LockedLog,
): Promise<KernelLease | undefined> {
  let lease: KernelLease | undefined
  let releaseDirectory: (() => Promise<void>) | undefined
  try {
    if (!system.isLocal) releaseDirectory = await tryLockDirectory(file.path, () => lease?.markCompromised())
    if (!system.isLocal && releaseDirectory === undefined) return undefined
    const log = lockLog()
    if (log === 'busy') return undefined
    lease = new KernelLease(file, releaseDirectory, log === 'none' ? undefined : log)
    writeHolder(file, command)
    return lease
  } finally {
    if (lease === undefined) await new KernelLease(file, releaseDirectory).release()
  }
}

/**
 * A writer retries this long before it reports a busy lock: longer than a reader's probe, too short for a person to
 * notice.
 */
const PATIENCE_MS = 50

/** Retries for `waitMs`, and for at least 50 ms. Undefined if another process still holds the lock then. */
export async function waitForLease(
  system: LockSystem,
  path: string,
  command: string,
  waitMs: number,
  { signal, log }: { signal?: AbortSignal | undefined; log?: string } = {},
): Promise<KernelLease | undefined> {
  const start = clock.monotonic()
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 1.5, system.kind === 'ofd' ? 10 : 60)) {
    const lease = await tryLease(system, path, command, log)
    if (lease !== undefined) return lease
    const waited = clock.monotonic() - start
    if (waited >= Math.max(PATIENCE_MS, waitMs) || signal?.aborted === true) return undefined
    await sleep(pauseMs)
  }
}

/** Whether a process holds the lock exclusively now. Probes with a shared lock. Writes nothing. */
export function isHeld(system: LockSystem, path: string): boolean {
  if (statIfThere('lock.stat', path) === undefined) return false
  const file = tryKernelLock(system.kind, path, 'shared')
  if (file === undefined) return true
  io.close(file)
  return !system.isLocal && statIfThere('lock.stat', lockDirectory(path)) !== undefined
}

/** The holder's entry in the lock file. Undefined if it is missing or unreadable. */
export function readHolder(path: string): Holder | undefined {
  try {
    const { pid, since } = FILE_PREDICATES.holder
    const holder = JSON.parse(io.readIfThere('lock.read', path)?.toString('utf8') ?? '') as Holder | null
    return holder !== null && pid?.(holder.pid) && since?.(holder.since) ? holder : undefined
  } catch {
    return undefined
  }
}

export function lockDirectory(path: string): string {
  return `${path}.d`
}

function writeHolder(file: io.OpenFile, command: string): void {
  const { host_id } = ownIdentity()
  const holder: Holder = {
    pid: process.pid,
    host: hostName(),
    command,
    since: new Date().toISOString(),
    boot_id: bootId(),
    ...(host_id === undefined ? {} : { host_id }),
  }
  try {
    const bytes = Buffer.from(`${JSON.stringify(holder)}\n`)
    io.writeAll('lock.holder', file, bytes, 0)
    io.truncate('lock.holder', file, bytes.length)
  } catch {
    // The entry is for people. On a full disk the lock is valid without it, and the next write reports the error.
  }
}

/** Undefined if the directory exists: it stays busy until its owner or a person removes it. */
async function tryLockDirectory(
  path: string,
  onCompromised: () => void,
): Promise<(() => Promise<void>) | undefined> {
  const { default: lockfile } = await import('proper-lockfile')
  try {
    return await lockfile.lock(path, {
      lockfilePath: lockDirectory(path),
      fs: io.ownerOnlyFs,
      realpath: false,
      stale: Number.MAX_SAFE_INTEGER,
      update: 10_000,
      onCompromised,
    })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ELOCKED') return undefined
    throw new SubstratError(
      'STORAGE_FAILED',
      `cannot mkdir ${lockDirectory(path)}: ${code ?? String(error)}`,
      {
        hint: `check the file system and the permissions of the home, then ${RUN_AGAIN}`,
        facts: { errno: code ?? null, path: lockDirectory(path) },
        cause: error,
      },
    )
  }
}
