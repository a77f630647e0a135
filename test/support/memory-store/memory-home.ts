/** The contents of a home in memory. Several stores on it are several processes. */
import { randomUUID } from 'node:crypto'
import { clock, sleep } from '../../../src/clock.js'
import { SubstratError } from '../../../src/errors.js'
import { bootId, hostName } from '../../../src/host/identity.js'
import type {
  Account,
  GoneHost,
  Holder,
  KeyIndexEnd,
  RemovedAgent,
  Right,
  StopRequest,
} from '../../../src/storage/store.js'

/** Something that one process may have. */
export interface Lockable {
  owner: object | undefined
  holder: Holder | undefined
}

export function lockable(): Lockable {
  return { owner: undefined, holder: undefined }
}

export interface MemoryAgent {
  log: Buffer
  /** As JSON. */
  snapshot: string | undefined
  blobs: Map<string, Buffer>
  /** Messages as JSON, by id. */
  inbox: Map<string, string>
  toReturn: Map<string, string>
  requests: StopRequest[]
  watchers: Set<() => void>
  keys: { end: KeyIndexEnd; entries: Buffer } | undefined
  waits: Set<{ to: string }>
  arrivals: Set<{ since: string }>
  lock: Lockable
}

export interface MemoryNames {
  /** By the folded name. */
  entries: Map<string, { name: string; agentId: string }>
  isComplete: boolean
  lock: Lockable
}

export class MemoryHome {
  readonly homeId = randomUUID()
  readonly agents = new Map<string, MemoryAgent>()
  readonly marked = new Set<string>()
  hasAllMarks = false
  lastTick: string | undefined
  readonly operatorInbox = new Map<string, string>()
  /** When the operator took each message, in milliseconds. */
  readonly operatorTaken = new Map<string, number>()
  readonly slots = new Map<string, Lockable[]>()
  readonly gone = new Map<string, GoneHost>()
  /** By the id of the agent and that of the move. */
  readonly endedMoves = new Set<string>()
  readonly removed = new Map<string, RemovedAgent>()
  readonly accounts = new Map<string, Account>()

  account(scope: string): Account {
    const known = this.accounts.get(scope) ?? { isTrusted: false, entries: [] }
    this.accounts.set(scope, known)
    return known
  }
  config: Buffer | undefined
  private readonly named = new Map<string | null, MemoryNames>()

  namesBelow(parentId: string | null): MemoryNames {
    const known = this.named.get(parentId)
    if (known !== undefined) return known
    const names = { entries: new Map(), isComplete: true, lock: lockable() }
    this.named.set(parentId, names)
    return names
  }
}

/** Undefined if another owner has it. */
export function tryLock(lock: Lockable, command: string): Right | undefined {
  if (lock.owner !== undefined) return undefined
  const owner = {}
  lock.owner = owner
  lock.holder = {
    pid: process.pid,
    host: hostName(),
    command,
    since: new Date(clock.now()).toISOString(),
    boot_id: bootId(),
  }
  return {
    assertHeld: () => assertOwner(lock, owner),
    release: async () => {
      if (lock.owner === owner) lock.owner = undefined
    },
  }
}

export async function waitForLock(
  lock: Lockable,
  command: string,
  waitMs: number,
  signal?: AbortSignal,
): Promise<Right | undefined> {
  const end = clock.monotonic() + Math.max(50, waitMs)
  for (;;) {
    const right = tryLock(lock, command)
    if (right !== undefined || clock.monotonic() >= end || signal?.aborted === true) return right
    await sleep(2)
  }
}

function assertOwner(lock: Lockable, owner: object): void {
  if (lock.owner === owner) return
  throw new SubstratError(
    'LOCKED',
    'the lock was lost while it was in use: this command writes nothing more',
    {
      hint: 'run the same command again',
    },
  )
}
