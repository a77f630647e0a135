/** Slots. Each is a lock that gives the right to one provider call. */
import * as io from '../host/disk/io.js'
import { type KernelLease, type LockSystem, tryLease } from './locks/lease.js'
import type { HomePaths } from './paths.js'

export class Slots {
  /** Where the next attempt begins. Turns of one process then try different slots. */
  private next = process.pid

  constructor(
    private readonly paths: HomePaths,
    private readonly locks: LockSystem,
  ) {}

  /** Undefined if every slot of the pool is taken. */
  async tryTake(pool: string, slots: number, command: string): Promise<KernelLease | undefined> {
    io.mkdir('slot.mkdir', this.paths.slotPool(pool))
    const first = this.next++ % slots
    for (let index = 0; index < slots; index++) {
      const lease = await tryLease(this.locks, this.paths.slot(pool, (first + index) % slots), command)
      if (lease !== undefined) return lease
    }
    return undefined
  }
}
