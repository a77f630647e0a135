/**
 * At most N provider calls at once, across processes: a slot is a kernel-locked file, free the moment its process dies.
 * Taken after the agent's lock and never the other way round.
 */
import { clock, sleep } from '../clock.js'
import { SubstratError } from '../errors.js'
import type { FileStore, Lease } from '../storage/store.js'

export interface SlotOptions {
  slotsMax: number
  /** How long to wait while all are held. */
  waitMs: number
  command: string
  /** An agent whose own slot may be used where all are held: its program waits for this call. */
  lender?: string | undefined
  signal?: AbortSignal
  onWait?: () => void
}

const POOL = 'default'

/** Throws NO_SLOT when all are held for `waitMs`. */
export async function takeSlot(store: FileStore, options: SlotOptions): Promise<Lease> {
  const start = clock.monotonic()
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 1.5, 50)) {
    const lease = await trySlot(store, options)
    if (lease !== undefined) return lease
    if (clock.monotonic() - start >= options.waitMs || options.signal?.aborted === true) throw noSlot(options)
    if (pauseMs === 2) options.onWait?.()
    await sleep(pauseMs)
  }
}

/** One at a time of those that the lender waits for. */
async function trySlot(
  store: FileStore,
  { slotsMax, command, lender }: SlotOptions,
): Promise<Lease | undefined> {
  const lease = await store.slots.tryTake(POOL, slotsMax, command)
  if (lease !== undefined || lender === undefined) return lease
  return store.slots.tryTake(`lent-${lender}`, 1, command)
}

function noSlot({ slotsMax, waitMs }: SlotOptions): SubstratError {
  return new SubstratError(
    'NO_SLOT',
    `all ${slotsMax} slots for provider calls were taken for ${waitMs} ms`,
    {
      hint: 'run the same command again later, or allow more at once: substrat config set slots_max <n>',
      facts: { slots_max: slotsMax, waited_ms: Math.round(waitMs) },
    },
  )
}
