/**
 * Searches a section of a log or of a blob, on any thread. A log is too large for memory, so the places of its lines are found
 * and not their texts.
 *
 * Invariants:
 * - A section of a log has the lines that begin in it. Each line is therefore in one section.
 * - A section of a blob has the matches that begin in it.
 * - The memory is one buffer for each thread, which grows to the longest line.
 */
import { limits } from '../../limits.js'
import { LF } from '../log/frame.js'
import type { Finder } from '../log/needle.js'

/** Reads into the buffer from its `offset` on. Returns the number of bytes: 0 at the end of the file. */
export type ReadAt = (buffer: Buffer, offset: number, position: number) => number

export interface Section {
  isLog: boolean
  from: number
  to: number
}

/** A line of a log, with its LF. */
export interface Place {
  start: number
  end: number
  /** Undefined: the line has the text. Else the blob that the line names. */
  blob?: string
}

export interface Found {
  /** In the order of the log. A line that has the text and names blobs is there several times. Empty for a blob. */
  places: Place[]
  isInBlob: boolean
}

const NAMES_BLOB = Buffer.from('"blob":"')
const HASH_DIGITS = 64
const WINDOW_BYTES = 1024 * 1024

export class Searcher {
  private buffer = Buffer.allocUnsafeSlow(WINDOW_BYTES)

  constructor(private readonly finder: Finder) {}

  search({ isLog, from, to }: Section, read: ReadAt): Found {
    return isLog
      ? { places: this.placesOf(from, to, read), isInBlob: false }
      : { places: [], isInBlob: this.isIn(from, to, read) }
  }

  private isIn(from: number, to: number, read: ReadAt): boolean {
    const { bytesMax, find } = this.finder
    this.growTo(4 * bytesMax)
    for (let at = from, length = 0; at < to; ) {
      const count = read(this.buffer, length, at + length)
      length += count
      const room = Math.min(length, to + bytesMax - at)
      if (find(this.buffer.subarray(0, room), 0) !== -1) return true
      if (count === 0) return false
      const kept = Math.min(length, bytesMax)
      this.buffer.copyWithin(0, length - kept, length)
      at += length - kept
      length = kept
    }
    return false
  }

  private placesOf(from: number, to: number, read: ReadAt): Place[] {
    const places: Place[] = []
    // With the LF before it, if a line begins at `from`.
    let at = Math.max(0, from - 1)
    let isInLine = from > 0
    let length = 0
    for (;;) {
      const count = read(this.buffer, length, at + length)
      length += count
      const bytes = this.buffer.subarray(0, length)
      const begin = isInLine ? bytes.indexOf(LF) + 1 : 0
      const isBegun = !isInLine || begin > 0
      if (isBegun && at + begin >= to) return places
      const last = at + length < to ? -1 : bytes.indexOf(LF, Math.max(begin, to - 1 - at))
      const end = isBegun ? (last === -1 ? bytes.lastIndexOf(LF) : last) + 1 : 0
      if (end > begin) addPlaces(bytes.subarray(begin, end), at + begin, this.finder, places)
      // The tail without an LF is not a line.
      if (last !== -1 || count === 0) return places
      // No line is longer than two of the limit, so this is damage.
      const isTooLong = isBegun && end <= begin && length - begin > 2 * limits.lineBytesMax
      const done = !isBegun || isTooLong ? length : Math.max(begin, end)
      isInLine = !isBegun || isTooLong
      this.buffer.copyWithin(0, done, length)
      at += done
      length -= done
      if (length === this.buffer.length) this.growTo(2 * length)
    }
  }

  private growTo(size: number): void {
    if (size <= this.buffer.length) return
    const larger = Buffer.allocUnsafeSlow(size)
    this.buffer.copy(larger)
    this.buffer = larger
  }
}

function addPlaces(bytes: Buffer, base: number, { find }: Finder, places: Place[]): void {
  const lineAt = (at: number): { start: number; end: number } => ({
    start: bytes.lastIndexOf(LF, at) + 1,
    end: bytes.indexOf(LF, at) + 1,
  })
  const found: Place[] = []
  for (let at = find(bytes, 0); at !== -1; ) {
    const line = lineAt(at)
    found.push({ start: base + line.start, end: base + line.end })
    at = line.end === bytes.length ? -1 : find(bytes, line.end)
  }
  for (let at = bytes.indexOf(NAMES_BLOB); at !== -1; at = bytes.indexOf(NAMES_BLOB, at + 1)) {
    const { start, end } = lineAt(at)
    const name = at + NAMES_BLOB.length
    const blob = bytes.toString('latin1', name, name + HASH_DIGITS)
    found.push({ start: base + start, end: base + end, blob })
  }
  for (const place of found.sort((a, b) => a.start - b.start)) places.push(place)
}
