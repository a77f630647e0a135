/**
 * Slots limit provider calls to N at once, across processes. A slot is a kernel-locked file; the kernel releases it when its
 * process dies. A slot is always taken after the agent's lock, never before.
 */
import { clock, sleep } from '../clock.js'
import { RUN_AGAIN, SubstratError } from '../errors.js'
import type { Right, SlotPool, Store } from '../storage/store.js'

export interface SlotOptions {
  slotsMax: number
  /** How long to wait while all slots are held. */
  waitMs: number
  command: string
  /** An agent that lends its slot if all are held: its program waits for this call. */
  lender?: string | undefined
  signal?: AbortSignal
  onWait?: () => void
}

const POOL = 'default'

/** The slots of provider calls, for a command that takes one next. */
export function slotPool(slots: number): SlotPool {
  return { pool: POOL, slots }
}

/** Throws NO_SLOT if all slots are held for `waitMs`. */
export async function takeSlot(store: Store, options: SlotOptions): Promise<Right> {
  const start = clock.monotonic()
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 1.5, 50)) {
    const lease = await trySlot(store, options)
    if (lease !== undefined) return lease
    if (clock.monotonic() - start >= options.waitMs || options.signal?.aborted === true) throw noSlot(options)
    if (pauseMs === 2) options.onWait?.()
    await sleep(pauseMs)
  }
}

/** A slot is lent to one call at a time. */
async function trySlot(store: Store, { slotsMax, command, lender }: SlotOptions): Promise<Right | undefined> {
  const lease = await store.takeSlot(POOL, slotsMax, command)
  if (lease !== undefined || lender === undefined) return lease
  return store.takeSlot(`lent-${lender}`, 1, command)
}

function noSlot({ slotsMax, waitMs }: SlotOptions): SubstratError {
  return new SubstratError(
    'NO_SLOT',
    `all ${slotsMax} slots for provider calls were in use for ${waitMs} ms`,
    {
      hint: `later, ${RUN_AGAIN}; or allow more slots: substrat config set slots_max NUMBER`,
      facts: { slots_max: slotsMax, waited_ms: Math.round(waitMs) },
    },
  )
}
