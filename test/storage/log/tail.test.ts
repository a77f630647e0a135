import { describe, expect, test } from 'vitest'
import { crc32 } from '../../../src/start/crc32.js'
import { frame, hexOf } from '../../../src/storage/log/frame.js'
import type { LogBytes } from '../../../src/storage/log/lines.js'
import { type IntactEnd, intactEnd } from '../../../src/storage/log/tail.js'

const lines = [1, 2, 3, 4].map((seq) => frame({ seq, text: 'x'.repeat(50) }))
const log = Buffer.concat(lines)
const length = lines[0]?.length as number

interface Range {
  lastSeq?: number
  bytesMax?: number
  end?: number
  crc?: unknown
}

function endOf(
  bytes: Buffer,
  { lastSeq = 4, bytesMax = 10_000, end = bytes.length, crc }: Range = {},
): IntactEnd | undefined {
  const reader: LogBytes = {
    size: () => bytes.length,
    read: (from, to) => bytes.subarray(from, to),
  }
  return intactEnd(reader, { end, lastSeq, bytesMax, crc })
}

function looksWhole(bytes: Buffer, range: Range = {}): boolean {
  return endOf(bytes, range) !== undefined
}

function flipped(at: number, bit = 0): Buffer {
  const copy = Buffer.from(log)
  copy[at] = (copy[at] as number) ^ (1 << bit)
  return copy
}

function crcOf(bytes: Buffer): string {
  return hexOf(crc32(bytes))
}

describe('the check of the end of a log', () => {
  test('passes for an unchanged log', () => {
    expect(looksWhole(log)).toBe(true)
    expect(looksWhole(Buffer.alloc(0), { lastSeq: 0 })).toBe(true)
  })

  test('fails with any bit flipped', () => {
    for (let at = 0; at < log.length; at++) expect([at, looksWhole(flipped(at))]).toEqual([at, false])
  })

  test('fails with lost, duplicate or reordered lines', () => {
    const [one, two, three, four] = lines as [Buffer, Buffer, Buffer, Buffer]
    expect(looksWhole(Buffer.concat([one, three, four]))).toBe(false)
    expect(looksWhole(Buffer.concat([one, two, two, three, four]))).toBe(false)
    expect(looksWhole(Buffer.concat([one, three, two, four]))).toBe(false)
    expect(looksWhole(Buffer.concat([two, three, four]))).toBe(false)
  })

  test('covers only whole lines in the given range', () => {
    for (const bytesMax of [1, length, 2 * length - 1])
      expect(looksWhole(flipped(2 * length), { bytesMax })).toBe(true)
    expect(looksWhole(flipped(2 * length + 5), { bytesMax: 2 * length + 1 })).toBe(false)
    expect(looksWhole(flipped(5), { bytesMax: 3 * length + 1 })).toBe(true)
  })
})

describe('the known checksum of the end of a log', () => {
  test('replaces the check of the lines', () => {
    // The seq is wrong, which only the lines show.
    expect(looksWhole(log, { lastSeq: 5 })).toBe(false)
    expect(looksWhole(log, { lastSeq: 5, crc: crcOf(log) })).toBe(true)
    const bytesMax = 2 * length + 7
    expect(looksWhole(log, { lastSeq: 5, bytesMax, crc: crcOf(log.subarray(-bytesMax)) })).toBe(true)
  })

  test('hides no flipped bit in its range', () => {
    const bytesMax = 2 * length + 7
    const from = log.length - bytesMax
    const crc = crcOf(log.subarray(from))
    const found = (at: number, bit: number): boolean => !looksWhole(flipped(at, bit), { bytesMax, crc })
    for (let at = from + 7; at < log.length; at++)
      for (let bit = 0; bit < 8; bit++) expect([at, bit, found(at, bit)]).toEqual([at, bit, true])
  })

  test.each([
    ['of other bytes', crcOf(log.subarray(1))],
    ['that is malformed', 'none'],
    ['that is not a text', crc32(log)],
    ['that is null', null],
  ])('leaves the decision to the lines if it is one %s', (_, crc) => {
    expect(looksWhole(log, { crc })).toBe(true)
    expect(looksWhole(flipped(5), { crc })).toBe(false)
  })
})

describe('the checksum for the next check', () => {
  test('is that of the last bytes of the log, or of the whole of a shorter one', () => {
    expect(endOf(log)?.checksum()).toBe(crcOf(log))
    expect(endOf(log, { bytesMax: log.length })?.checksum()).toBe(crcOf(log))
    const bytesMax = 3 * length
    const crc = crcOf(log.subarray(-bytesMax))
    expect(endOf(log, { bytesMax, crc })?.checksum()).toBe(crc)
  })

  test('is not known while a part of a line in the range is unchecked', () => {
    const bytesMax = 2 * length + 7
    const end = endOf(log, { bytesMax })
    expect(end?.checksum()).toBeUndefined()
    const batch = frame({ seq: 5 })
    expect(batch.length).toBeLessThan(length)
    expect(end?.after(batch).checksum()).toBe(crcOf(Buffer.concat([log, batch]).subarray(-bytesMax)))
    // The range begins with a line, but the check does not see where that line begins.
    expect(
      endOf(log, { bytesMax: 2 * length })
        ?.after(batch)
        .checksum(),
    ).toBeUndefined()
  })

  test.each([1, 10, length, log.length, log.length + 25, 1000])(
    'is the same after many appends as when it is computed anew, for a range of %i bytes',
    (bytesMax) => {
      let bytes = log
      let end = endOf(log, { bytesMax, crc: crcOf(log.subarray(-bytesMax)) })
      for (let seq = 5; seq < 160; seq++) {
        const batch = Buffer.concat(
          Array.from({ length: 1 + (seq % 3) }, () => frame({ seq, text: 'y'.repeat((seq * 31) % 97) })),
        )
        bytes = Buffer.concat([bytes, batch])
        end = end?.after(batch)
        expect(end?.end).toBe(bytes.length)
        expect(end?.checksum()).toBe(crcOf(bytes.subarray(-bytesMax)))
      }
    },
  )
})
