import type { ChildProcess } from 'node:child_process'
import { beforeEach, describe, expect, test } from 'vitest'
import { takeSlot } from '../../src/provider/slots.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { useScripts } from '../support/scripts.js'
import { tempStore } from '../support/temp.js'
import { waitFor } from '../support/wait.js'

const scripts = useScripts('slot-child.ts')
let store: FileStore

beforeEach(() => {
  store = tempStore()
})

const options = (slotsMax: number, waitMs = 0): Parameters<typeof takeSlot>[1] => ({
  slotsMax,
  waitMs,
  command: 'test',
})

test('all slots can be taken, and one more request fails with the next command', async () => {
  const held = [await takeSlot(store, options(2)), await takeSlot(store, options(2))]
  await expect(takeSlot(store, options(2))).rejects.toMatchObject({
    code: 'NO_SLOT',
    message: 'all 2 slots for provider calls were in use for 0 ms',
    hint: expect.stringContaining('slots_max'),
    facts: { slots_max: 2 },
  })
  await held[0]?.release()
  await (await takeSlot(store, options(2))).release()
  await held[1]?.release()
})

test('a waiting command gets one note, and gets a slot when one is released', async () => {
  const first = await takeSlot(store, options(1))
  let told = 0
  const second = takeSlot(store, {
    ...options(1, 3_600_000),
    onWait: () => {
      told += 1
    },
  })
  await waitFor(() => told > 0, 'the note')
  await first.release()
  await (await second).release()
  expect(told).toBe(1)
})

test('a stopped command no longer waits', async () => {
  const first = await takeSlot(store, options(1))
  const stop = new AbortController()
  const second = takeSlot(store, { ...options(1, 3_600_000), signal: stop.signal })
  stop.abort()
  await expect(second).rejects.toMatchObject({ code: 'NO_SLOT' })
  await first.release()
})

test('after slots_max is lowered, slots in use still count', async () => {
  const held = [
    await takeSlot(store, options(3)),
    await takeSlot(store, options(3)),
    await takeSlot(store, options(3)),
  ]
  await expect(takeSlot(store, options(1))).rejects.toMatchObject({ code: 'NO_SLOT' })
  for (const slot of held) await slot.release()
})

describe('across processes', () => {
  class Holder {
    output = ''
    private readonly child: ChildProcess

    constructor(slotsMax: number, waitMs: number) {
      this.child = scripts.start('slot-child.ts', [store.address, String(slotsMax), String(waitMs)])
      this.child.stdout?.on('data', (piece: Buffer) => {
        this.output += piece.toString()
      })
    }
    get isIn(): boolean {
      return this.output === 'in\n'
    }
    leave(): void {
      this.child.stdin?.write('\n')
    }
    kill(signal: NodeJS.Signals): void {
      this.child.kill(signal)
    }
  }

  test('at most slots_max processes hold a slot, and each gets one', async () => {
    const holders = Array.from({ length: 5 }, () => new Holder(2, 3_600_000))
    const inside = (): Holder[] => holders.filter(({ isIn }) => isIn)
    for (let through = 0; through < holders.length; through++) {
      await waitFor(() => inside().length > 0, 'one to get in')
      expect(inside().length).toBeLessThanOrEqual(2)
      const [first] = inside()
      first?.leave()
      await waitFor(() => first?.output === 'in\nout\n', 'it to leave')
    }
  })

  test('the slot of a killed process is free at once; that of a stopped process is not', async () => {
    const holder = new Holder(1, 0)
    await waitFor(() => holder.isIn, 'the slot')
    holder.kill('SIGSTOP')
    await expect(takeSlot(store, options(1, 100))).rejects.toMatchObject({ code: 'NO_SLOT' })
    const late = new Holder(1, 0)
    await waitFor(() => late.output === 'NO_SLOT\n', 'the other to be told')
    holder.kill('SIGKILL')
    await (await takeSlot(store, options(1, 3_600_000))).release()
  })
})
