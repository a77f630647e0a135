/** Leases that this process holds: of agents, of other things, and of waits. */
import type { Holder, Right, StoreKit, TakeOptions } from 'substrat/store'
import type { Client } from './client.js'
import { writeDeadline } from './deadline-file.js'
import { explained, leaseLost, mayPass } from './failure.js'
import type { Pages } from './pages.js'
import { type HeldLease, marginMs, type Row } from './protocol.js'
import type { Seen } from './seen.js'
import { isSlot, type Slots } from './slots.js'
import { uptimeMs } from './uptime.js'

/** The state that all parts of the store share. */
export interface Shared {
  kit: StoreKit
  client: Client
  /** Without a password. */
  url: string
  password: string | undefined
  /** The rights that were asserted since it was set: an agent is created only if its creator still has them. */
  asserted: HeldRight[] | undefined
  slots: Slots
  pages: Pages
  /** Set with the store. */
  seen: Seen | undefined
}

export function call<T>(shared: Shared, agentId: string | undefined, act: (client: Client) => T): T {
  return explained(shared.kit, { url: shared.url, agentId }, () => act(shared.client))
}

export class HeldRight implements Right {
  readonly slot: number
  private isOver = false

  /** `sentMs`: when the request was sent. The lease counts from then. */
  constructor(
    protected readonly shared: Shared,
    readonly kind: HeldLease['kind'],
    readonly key: string,
    readonly lease: string,
    sentMs: number,
  ) {
    const { client } = shared
    this.slot = client.keeper.hold({ kind, key, lease }, sentMs + client.ttlMs - marginMs(client.ttlMs))
  }

  /** When the lease ends, as far as this process knows (`uptimeMs`). */
  get deadlineMs(): number {
    return this.isOver ? 0 : Number(Atomics.load(this.shared.client.keeper.deadlines, this.slot))
  }

  /** The answer may have come so late that the lease was over. */
  get isCurrent(): boolean {
    return uptimeMs() < this.deadlineMs
  }

  assertHeld(): void {
    const { kit, asserted } = this.shared
    const { deadlineMs } = this
    if (this.isOver) throw leaseLost(kit, 'it was released')
    if (deadlineMs === 0) throw leaseLost(kit, 'another process has it')
    if (uptimeMs() >= deadlineMs) throw leaseLost(kit, 'it was not renewed in time')
    asserted?.push(this)
  }

  /** Writes when the lease ends into a file, from now on. */
  writeDeadlineInto(file: string): void {
    this.assertHeld()
    const { client } = this.shared
    // First, because a renewal must not be replaced by an earlier end.
    writeDeadline(file, this.lease, this.deadlineMs)
    client.keeper.writeRenewals(this.slot, file)
  }

  /** This process no longer uses the right. The database may have ended it already. */
  end(): void {
    if (this.isOver) return
    this.isOver = true
    this.shared.client.keeper.drop(this.slot)
  }

  async release(): Promise<void> {
    if (this.isOver) return
    const { kind, key, lease, deadlineMs } = this
    this.end()
    try {
      const options = { untilMs: deadlineMs }
      const { client, slots } = this.shared
      if (kind === 'agent') client.call('release', [key, lease], options)
      else if (kind === 'edge') client.call('end_edge', [lease], options)
      else if (isSlot(key)) slots.end(key, lease)
      else client.call('release_hold', [key, lease], options)
    } catch {
      // It ends by itself when it is not renewed.
    }
  }
}

export function ownHolder({ kit }: Shared, command: string): Holder {
  const { host_id } = kit.ownIdentity()
  return {
    pid: process.pid,
    host: kit.hostName(),
    command,
    since: new Date(kit.clock.now()).toISOString(),
    boot_id: kit.bootId(),
    ...(host_id === undefined ? {} : { host_id }),
  }
}

/** Whether the process ran under this kernel and in this pid namespace, and has ended. A process elsewhere cannot be seen. */
export function isDeadHere({ kit }: Shared, holder: Holder | null): boolean {
  const [boot, namespace, pid, start] = holder?.boot_id?.split('/') ?? []
  const own = kit.ownIdentity()
  if (boot !== own.kernel_boot_id || namespace !== own.pid_namespace || pid === undefined) return false
  // A zombie runs no code.
  return kit.processStartTime(Number(pid)) !== Number(start) || kit.processGroup(Number(pid)) === undefined
}

/** `lease_ends_at` is in the time of this host, whose clock a person compares it with. */
export function holderIn({ kit }: Shared, { holder, lease, left_ms }: Row): Holder | undefined {
  if (holder == null) return undefined
  const known = holder as Holder
  if (lease == null) return known
  return { ...known, lease_ends_at: new Date(kit.clock.now() + Number(left_ms)).toISOString() }
}

export function isHeldIn(shared: Shared, { lease, holder, left_ms }: Row): boolean {
  return lease != null && Number(left_ms) > 0 && !isDeadHere(shared, holder as Holder)
}

const PATIENCE_MS = 50

/** Tries until `waitMs` are over, at least 50 ms. An error that may pass is thrown then. */
export async function waitFor<T>(
  { kit }: Shared,
  { waitMs, signal }: Pick<TakeOptions, 'waitMs' | 'signal'>,
  attempt: (leftMs: number) => T | undefined,
): Promise<T | undefined> {
  const end = kit.clock.monotonic() + Math.max(PATIENCE_MS, waitMs)
  for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 1.5, 250)) {
    const isLast = (): boolean => kit.clock.monotonic() >= end || signal?.aborted === true
    try {
      const got = attempt(Math.max(0, end - kit.clock.monotonic()))
      if (got !== undefined || isLast()) return got
    } catch (error) {
      if (!mayPass(error) || isLast()) throw error
    }
    await kit.sleep(pauseMs * (0.5 + Math.random()))
  }
}

interface BusyHold {
  lease: string
  holder: Holder
}

/** Takes the first of these things that is free. */
export function tryHold(shared: Shared, things: string[], command: string): HeldRight | undefined {
  const { kit, client } = shared
  const lease = kit.randomUuid()
  let dead: string[] = []
  for (;;) {
    const sentMs = uptimeMs()
    const values = [things, lease, dead, ownHolder(shared, command), client.ttlMs]
    const [row] = call(shared, undefined, () => client.call('take_hold', values))
    if (typeof row?.got === 'string') {
      const right = new HeldRight(shared, 'thing', row.got, lease, sentMs)
      if (right.isCurrent) return right
      void right.release()
      return undefined
    }
    const busy = (row?.busy ?? []) as BusyHold[]
    const found = busy.filter(({ holder }) => isDeadHere(shared, holder)).map((each) => each.lease)
    if (found.every((each) => dead.includes(each))) return undefined
    dead = found
  }
}
