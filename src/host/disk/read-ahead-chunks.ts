/**
 * The memory that the two threads of a `ReadAhead` share: the states of the chunks, and slots for what was read of them. A chunk
 * is a few consecutive directories.
 *
 * Invariants:
 * - The thread that claims a chunk reads it, into a slot of its own.
 * - The second thread uses its slots in turn, and claims a chunk only while one is free. The first thread takes the chunks in
 *   order, so it frees them in turn.
 */

/** Few, because the first thread may wait for a whole chunk. */
export const CHUNK_ENTRIES = 32
/** The number of slots of each thread. */
const SLOTS = 8
/** For the files of one chunk. */
const SLOT_BYTES = 512 * 1024
/** The numbers of an entry. */
const FIELDS = 5

/** The state of a chunk: one of these, or `READY` plus the number of its slot. */
const FREE = 0
const OF_FIRST = 1
const OF_SECOND = 2
const READY = 3

const [FREED, IS_STOPPED] = [0, 1]

export interface SharedMemory {
  states: SharedArrayBuffer
  counters: SharedArrayBuffer
  numbers: SharedArrayBuffer
  bytes: SharedArrayBuffer
}

type ReadChunk = (chunk: number, slot: Slot) => void

export function sharedMemory(entries: number): SharedMemory {
  return {
    states: new SharedArrayBuffer(4 * Math.ceil(entries / CHUNK_ENTRIES)),
    counters: new SharedArrayBuffer(8),
    numbers: new SharedArrayBuffer(8 * 2 * SLOTS * CHUNK_ENTRIES * FIELDS),
    bytes: new SharedArrayBuffer(2 * SLOTS * SLOT_BYTES),
  }
}

/** The part that both threads have. */
abstract class Chunks {
  protected readonly states: Int32Array
  protected readonly counters: Int32Array
  private readonly memory: { numbers: Float64Array; bytes: Buffer }

  constructor(
    { states, counters, numbers, bytes }: SharedMemory,
    protected readonly read: ReadChunk,
  ) {
    this.states = new Int32Array(states)
    this.counters = new Int32Array(counters)
    this.memory = { numbers: new Float64Array(numbers), bytes: Buffer.from(bytes) }
  }

  protected slot(number: number): Slot {
    return new Slot(this.memory.numbers, this.memory.bytes, number)
  }

  /** The first free chunk from that one on, which now has the owner. */
  protected claim(from: number, owner: number): number | undefined {
    for (let chunk = from; chunk < this.states.length; chunk++)
      if (Atomics.compareExchange(this.states, chunk, FREE, owner) === FREE) return chunk
    return undefined
  }
}

export class SecondThread extends Chunks {
  /** Reads chunks until none is left, or the first thread has stopped. */
  run(): void {
    for (let count = 0, next = 0; this.waitForSlot(count); count++) {
      const chunk = this.claim(next, OF_SECOND)
      if (chunk === undefined) return
      const number = count % SLOTS
      this.read(chunk, this.slot(number))
      Atomics.store(this.states, chunk, READY + number)
      Atomics.notify(this.states, chunk)
      next = chunk + 1
    }
  }

  private waitForSlot(count: number): boolean {
    while (Atomics.load(this.counters, IS_STOPPED) === 0) {
      const freed = Atomics.load(this.counters, FREED)
      if (count - freed < SLOTS) return true
      Atomics.wait(this.counters, FREED, freed)
    }
    return false
  }
}

export class FirstThread extends Chunks {
  /** The numbers of its free slots. */
  private readonly free = Array.from({ length: SLOTS }, (_, index) => SLOTS + index)
  /** The slots of the chunks that it has read and not taken yet. */
  private readonly own = new Map<number, number>()
  /** The slot of the chunk that it took last. */
  private inUse: number | undefined

  /** The next chunk. While the second thread reads it, this thread reads later ones. Undefined if that takes longer than `waitMs`. */
  take(chunk: number, waitMs: number): Slot | undefined {
    this.freeSlot()
    for (;;) {
      this.inUse = this.own.get(chunk) ?? this.readyOf(chunk)
      if (this.inUse !== undefined) break
      if (this.readFrom(chunk)) continue
      if (Atomics.wait(this.states, chunk, OF_SECOND, waitMs) === 'timed-out') {
        this.stop()
        return undefined
      }
    }
    this.own.delete(chunk)
    return this.slot(this.inUse)
  }

  stop(): void {
    Atomics.store(this.counters, IS_STOPPED, 1)
    Atomics.notify(this.counters, FREED)
  }

  /** Reads the first free chunk from that one on. False if there is none, or no free slot. */
  private readFrom(chunk: number): boolean {
    const number = this.free.at(-1)
    const claimed = number === undefined ? undefined : this.claim(chunk, OF_FIRST)
    if (number === undefined || claimed === undefined) return false
    this.free.pop()
    this.read(claimed, this.slot(number))
    this.own.set(claimed, number)
    return true
  }

  private readyOf(chunk: number): number | undefined {
    const state = Atomics.load(this.states, chunk)
    return state < READY ? undefined : state - READY
  }

  private freeSlot(): void {
    if (this.inUse === undefined) return
    if (this.inUse >= SLOTS) this.free.push(this.inUse)
    else {
      const freed = Atomics.add(this.counters, FREED, 1) + 1
      // Waking the other thread for each slot would take longer than it saves.
      if (freed % (SLOTS / 2) === 0) Atomics.notify(this.counters, FREED)
    }
  }
}

/** The files of one directory. The ranges are in `Slot.bytes`. A range is empty if its file was not read. */
export interface Entry {
  start: number
  end: number
  /** The offset from which the second file was read, to its end. */
  from: number
  tailStart: number
  tailEnd: number
}

export class Slot {
  /** Where the files of the chunk are in `bytes`. */
  readonly start: number
  readonly end: number
  private readonly base: number

  constructor(
    private readonly numbers: Float64Array,
    readonly bytes: Buffer,
    slot: number,
  ) {
    this.base = slot * CHUNK_ENTRIES * FIELDS
    this.start = slot * SLOT_BYTES
    this.end = this.start + SLOT_BYTES
  }

  set(index: number, { start, end, from, tailStart, tailEnd }: Entry): void {
    const at = this.base + index * FIELDS
    const { numbers } = this
    numbers[at] = start
    numbers[at + 1] = end
    numbers[at + 2] = from
    numbers[at + 3] = tailStart
    numbers[at + 4] = tailEnd
  }

  get(index: number): Entry {
    const at = this.base + index * FIELDS
    const { numbers } = this
    return {
      start: numbers[at] as number,
      end: numbers[at + 1] as number,
      from: numbers[at + 2] as number,
      tailStart: numbers[at + 3] as number,
      tailEnd: numbers[at + 4] as number,
    }
  }
}
