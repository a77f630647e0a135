/** When the thread that renews leases boots. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Keeper } from '../../plugins/store-postgres/src/keeper.js'
import type { Request } from '../../plugins/store-postgres/src/protocol.js'
import { waitFor } from '../support/wait.js'

const LEASE = { kind: 'agent', key: 'notes', lease: 'l1' } as const

describe('the thread that renews leases', () => {
  let boots: number
  let heard: Request[]
  let keeper: Keeper
  beforeEach(() => {
    boots = 0
    heard = []
    const startThread = (_file: string, { port }: { port: import('node:worker_threads').MessagePort }) => {
      boots += 1
      port.on('message', (request) => heard.push(request))
      port.unref()
    }
    keeper = new Keeper({ startThread } as never, {
      url: 'postgres:///',
      password: undefined,
      applicationName: 'substrat',
      ttlMs: 600,
      usesTls: false,
    })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  })

  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  test('does not boot for a lease that is held for a moment', () => {
    for (let n = 0; n < 3; n++) keeper.drop(keeper.hold(LEASE, 1000))
    vi.advanceTimersByTime(1000)
    expect(boots).toBe(0)
  })

  test('boots while a lease is held, and gets all leases', async () => {
    keeper.hold(LEASE, 1000)
    vi.advanceTimersByTime(59)
    expect(boots).toBe(0)
    keeper.hold({ ...LEASE, key: 'other' }, 1000)
    vi.advanceTimersByTime(1)
    expect(boots).toBe(1)
    vi.useRealTimers()
    await waitFor(() => heard.length > 0, 'the leases')
    expect(heard).toEqual([
      {
        kind: 'leases',
        leases: [
          { ...LEASE, slot: 0 },
          { ...LEASE, key: 'other', slot: 1 },
        ],
      },
    ])
  })

  test('finds no new lease in the slot of one that has just ended', () => {
    const slots = [1, 2, 3].map(() => {
      const slot = keeper.hold(LEASE, 1000)
      keeper.drop(slot)
      return slot
    })
    expect(slots).toEqual([0, 1, 2])
  })

  test('boots for a watched agent', async () => {
    const watch = keeper.watch('notes', () => undefined)
    vi.advanceTimersByTime(60)
    expect(boots).toBe(1)
    watch.close()
    vi.useRealTimers()
    await waitFor(() => heard.length > 1, 'both')
    expect(heard).toEqual([
      { kind: 'watch', agents: ['notes'] },
      { kind: 'watch', agents: [] },
    ])
  })

  test('boots in a caller that blocks, once it is due', () => {
    keeper.hold(LEASE, 1000)
    keeper.bootIfDue()
    expect(boots).toBe(0)
    const now = performance.now()
    vi.spyOn(performance, 'now').mockReturnValue(now + 60)
    keeper.bootIfDue()
    keeper.bootIfDue()
    expect(boots).toBe(1)
  })
})
