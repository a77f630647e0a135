/** The entries of a key file as one buffer sorted by hash, which avoids an object for each of many thousands. */
import { KEY_HASH_BYTES } from '../../format.js'

export interface KeyPlace {
  /** The key's latest `run.started` or `session.rebuilt` record. */
  seq: number
  offset: number
  /** Time of that record, in minutes since 1970. */
  minute: number
}

export const ENTRY_BYTES = 32
const [SEQ_AT, OFFSET_AT, MINUTE_AT] = [16, 22, 28]

export interface KeyRetention {
  /** Older keys are forgotten, except the newest `keysMin` in log order. */
  minuteMin: number
  keysMin: number
  /**
   * A key is forgotten only if it is older than the oldest of the newest `keysMin` by more than this. So a clock that was
   * ahead for a few commands makes no key old.
   */
  keptMinutes: number
}

/** `added`: the place of each key by its hash in hex. It replaces an entry with the same hash. */
export function mergeEntries(entries: Buffer, added: ReadonlyMap<string, KeyPlace>): Buffer {
  const fresh = [...added].sort(([a], [b]) => (a < b ? -1 : 1)).map(encodeEntry)
  const merged: Buffer[] = []
  // Copies whole runs of old entries at once.
  let copied = 0
  for (const entry of fresh) {
    const at = placeOf(entries, entry)
    merged.push(entries.subarray(copied, at), entry)
    copied = isAt(entries, at, entry) ? at + ENTRY_BYTES : at
  }
  merged.push(entries.subarray(copied))
  return Buffer.concat(merged)
}

export function forgetOld(
  entries: Buffer,
  { minuteMin: byClock, keysMin, keptMinutes }: KeyRetention,
): Buffer {
  const all = Array.from({ length: entries.length / ENTRY_BYTES }, (_, index) => index * ENTRY_BYTES)
  if (all.length <= keysMin) return entries
  const seqs = Float64Array.from(all, (at) => seqAt(entries, at)).sort()
  const newestFrom = seqs[seqs.length - keysMin] as number
  const reference = all.find((at) => seqAt(entries, at) === newestFrom) as number
  const minuteMin = Math.min(byClock, entries.readUInt32BE(reference + MINUTE_AT) - keptMinutes)
  const isForgotten = (at: number): boolean =>
    seqAt(entries, at) < newestFrom && entries.readUInt32BE(at + MINUTE_AT) < minuteMin
  if (!all.some(isForgotten)) return entries
  return Buffer.concat(
    all.filter((at) => !isForgotten(at)).map((at) => entries.subarray(at, at + ENTRY_BYTES)),
  )
}

/** Undefined if no entry has that hash. */
export function findEntry(entries: Buffer, hash: Buffer): KeyPlace | undefined {
  const at = placeOf(entries, hash)
  if (!isAt(entries, at, hash)) return undefined
  return {
    seq: seqAt(entries, at),
    offset: entries.readUIntBE(at + OFFSET_AT, 6),
    minute: entries.readUInt32BE(at + MINUTE_AT),
  }
}

export function* eachEntry(entries: Buffer): Generator<[hash: string, place: KeyPlace]> {
  for (let at = 0; at < entries.length; at += ENTRY_BYTES) {
    const hash = entries.subarray(at, at + KEY_HASH_BYTES)
    yield [hash.toString('hex'), findEntry(entries.subarray(at, at + ENTRY_BYTES), hash) as KeyPlace]
  }
}

/** Negative if the hash sorts before the entry at `at`. */
export function compareAt(hash: Buffer, entries: Buffer, at: number): number {
  return hash.compare(entries, at, at + KEY_HASH_BYTES, 0, KEY_HASH_BYTES)
}

function encodeEntry([hash, { seq, offset, minute }]: [string, KeyPlace]): Buffer {
  const entry = Buffer.alloc(ENTRY_BYTES)
  entry.write(hash, 0, KEY_HASH_BYTES, 'hex')
  entry.writeUIntBE(seq, SEQ_AT, 6)
  entry.writeUIntBE(offset, OFFSET_AT, 6)
  entry.writeUInt32BE(minute, MINUTE_AT)
  return entry
}

/** The position of the entry with that hash, or the position for inserting it. */
function placeOf(entries: Buffer, hash: Buffer): number {
  let [low, high] = [0, entries.length / ENTRY_BYTES]
  while (low < high) {
    const middle = (low + high) >> 1
    if (compareAt(hash, entries, middle * ENTRY_BYTES) > 0) low = middle + 1
    else high = middle
  }
  return low * ENTRY_BYTES
}

function isAt(entries: Buffer, at: number, hash: Buffer): boolean {
  return at < entries.length && compareAt(hash, entries, at) === 0
}

function seqAt(entries: Buffer, at: number): number {
  return entries.readUIntBE(at + SEQ_AT, 6)
}
