import { describe, expect, test } from 'vitest'
import { frame } from '../../../src/storage/log/frame.js'
import type { LogBytes } from '../../../src/storage/log/scan.js'
import { isWholeBefore } from '../../../src/storage/log/tail.js'

const lines = [1, 2, 3, 4].map((seq) => frame({ seq, text: 'x'.repeat(50) }))
const log = Buffer.concat(lines)

function looksWhole(bytes: Buffer, { lastSeq = 4, bytesMax = 10_000, end = bytes.length } = {}): boolean {
  const reader: LogBytes = {
    size: () => bytes.length,
    read: (from, to) => bytes.subarray(from, to),
  }
  return isWholeBefore(reader, { end, lastSeq, bytesMax })
}

function flipped(at: number): Buffer {
  const copy = Buffer.from(log)
  copy[at] = (copy[at] as number) ^ 1
  return copy
}

describe('the check of the end of a log', () => {
  test('passes for an unchanged log', () => {
    expect(looksWhole(log)).toBe(true)
    expect(looksWhole(Buffer.alloc(0), { lastSeq: 0 })).toBe(true)
  })

  test('fails with any bit flipped', () => {
    for (let at = 0; at < log.length; at++)
      expect([at, looksWhole(flipped(at))]).toEqual([at, at === log.length - 1])
  })

  test('fails with lost, duplicate or reordered lines', () => {
    const [one, two, three, four] = lines as [Buffer, Buffer, Buffer, Buffer]
    expect(looksWhole(Buffer.concat([one, three, four]))).toBe(false)
    expect(looksWhole(Buffer.concat([one, two, two, three, four]))).toBe(false)
    expect(looksWhole(Buffer.concat([one, three, two, four]))).toBe(false)
    expect(looksWhole(Buffer.concat([two, three, four]))).toBe(false)
  })

  test('covers only whole lines in the given range', () => {
    const length = lines[0]?.length as number
    for (const bytesMax of [1, length, 2 * length - 1])
      expect(looksWhole(flipped(2 * length), { bytesMax })).toBe(true)
    expect(looksWhole(flipped(2 * length + 5), { bytesMax: 2 * length + 1 })).toBe(false)
    expect(looksWhole(flipped(5), { bytesMax: 3 * length + 1 })).toBe(true)
  })
})
