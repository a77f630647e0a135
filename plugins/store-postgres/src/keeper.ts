/**
 * Keeps the leases of this process, and watches agents. The thread of `worker.ts` does the work. It takes as long to boot as a
 * short turn takes, so where no statement needs it, it boots only once a lease has been held for a while. A caller that computes
 * from before then until the end of the lease, without a statement and without a turn of the event loop, loses its lease.
 */
import type { StoreKit } from 'substrat/store'
import type { HeldLease, Request } from './protocol.js'
import { ThreadExecutor } from './thread-executor.js'

const SLOTS = 4096
const DELAY_MS = 300

export interface KeeperSettings {
  url: string
  password: string | undefined
  applicationName: string
  ttlMs: number
  usesTls: boolean
}

export class Keeper {
  /** For each lease, when it ends (`uptimeMs`). The thread moves it. */
  readonly deadlines = new BigInt64Array(new SharedArrayBuffer(8 * SLOTS))
  private readonly leases = new Map<number, HeldLease>()
  private lastSlot = -1
  private readonly watchers = new Map<string, Set<() => void>>()
  private booted: ThreadExecutor | undefined
  private timer: NodeJS.Timeout | undefined
  /** When the thread is due (`performance.now`). */
  private dueMs = Number.POSITIVE_INFINITY

  /** Called when the thread can execute all statements. */
  onHandOver: () => void = () => undefined

  constructor(
    private readonly kit: Pick<StoreKit, 'startThread'>,
    private readonly settings: KeeperSettings,
  ) {}

  /** The thread, which boots now if it is not there yet. */
  thread(): ThreadExecutor {
    if (this.booted !== undefined) return this.booted
    clearTimeout(this.timer)
    const { deadlines } = this
    const { usesTls, ...settings } = this.settings
    const onChange = (agentId: string): void => this.look(agentId)
    const onHandOver = (): void => this.onHandOver()
    const thread = new ThreadExecutor(this.kit, { ...settings, deadlines }, { usesTls, onChange, onHandOver })
    this.booted = thread
    if (this.leases.size > 0) this.tellLeases()
    if (this.watchers.size > 0) this.tellWatched()
    return thread
  }

  /** For a caller that blocks for long, because no timer fires meanwhile. */
  bootIfDue(): void {
    if (this.booted === undefined && performance.now() >= this.dueMs) this.thread()
  }

  /** Returns the slot of the lease in `deadlines`. */
  hold(lease: Omit<HeldLease, 'slot'>, deadlineMs: number): number {
    if (this.leases.size >= SLOTS) throw new Error('this process holds too many leases')
    // Not the slot of a lease that has just ended: a renewal that is on its way may still write the end of that one.
    let slot = (this.lastSlot + 1) % SLOTS
    while (this.leases.has(slot)) slot = (slot + 1) % SLOTS
    this.lastSlot = slot
    Atomics.store(this.deadlines, slot, BigInt(Math.round(deadlineMs)))
    this.leases.set(slot, { ...lease, slot })
    this.tellLeases()
    return slot
  }

  /** Each renewal of the lease writes its end into the file. */
  writeRenewals(slot: number, file: string): void {
    const held = this.leases.get(slot)
    if (held === undefined) return
    this.leases.set(slot, { ...held, file })
    this.tellLeases()
  }

  drop(slot: number): void {
    if (this.leases.delete(slot)) this.tellLeases()
  }

  /** Calls back when the agent may have a new request. */
  watch(agentId: string, look: () => void): { close(): void } {
    const looks = this.watchers.get(agentId) ?? new Set()
    this.watchers.set(agentId, looks.add(look))
    this.tellWatched()
    return {
      close: () => {
        looks.delete(look)
        if (looks.size === 0) this.watchers.delete(agentId)
        this.tellWatched()
      },
    }
  }

  private look(agentId: string): void {
    // Not here: the caller may be in the middle of a statement.
    for (const look of this.watchers.get(agentId) ?? []) setImmediate(look)
  }

  private tellLeases(): void {
    this.tell({ kind: 'leases', leases: [...this.leases.values()] })
  }

  private tellWatched(): void {
    this.tell({ kind: 'watch', agents: [...this.watchers.keys()] })
  }

  private tell(request: Request): void {
    if (this.booted !== undefined) {
      this.booted.post(request)
      return
    }
    const isIdle = this.leases.size + this.watchers.size === 0
    if (!isIdle && this.timer !== undefined) return
    clearTimeout(this.timer)
    const delayMs = Math.min(DELAY_MS, this.settings.ttlMs / 10)
    this.timer = isIdle ? undefined : setTimeout(() => this.thread(), delayMs).unref()
    this.dueMs = isIdle ? Number.POSITIVE_INFINITY : performance.now() + delayMs
  }
}
