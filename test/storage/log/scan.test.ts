import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { frame } from '../../../src/storage/log/frame.js'
import { type LogBytes, recordsFromEnd } from '../../../src/storage/log/scan.js'

function readerOf(bytes: Buffer): LogBytes {
  return { size: () => bytes.length, read: (from, to) => bytes.subarray(from, to) }
}

describe('records read from the end of a log', () => {
  test('come last to first with their places, at any length', () => {
    const lengths = fc.array(fc.oneof(fc.nat(100), fc.nat(200_000)), { maxLength: 12 })
    fc.assert(
      fc.property(lengths, (payloads) => {
        let offset = 0
        const lines = payloads.map((length, seq) => frame({ seq, text: 'x'.repeat(length) }))
        const places = lines.map((line, seq) => {
          offset += line.length
          return { seq, offset: offset - line.length }
        })
        const found = [...recordsFromEnd(readerOf(Buffer.concat(lines)))]
        expect(found.map(({ record, offset }) => ({ seq: record.seq, offset }))).toEqual(places.reverse())
      }),
      { numRuns: 30 },
    )
  })

  test('leave out a truncated tail of any length and damaged lines', () => {
    const damaged = frame({ seq: 2, text: 'two' })
    damaged[10] = 0
    for (const tail of [1, 70_000, 300_000]) {
      const bytes = Buffer.concat([frame({ seq: 1 }), damaged, frame({ seq: 3 }), Buffer.alloc(tail, 'x')])
      const found = [...recordsFromEnd(readerOf(bytes))]
      expect(found.map(({ record }) => record.seq)).toEqual([3, 1])
    }
  })
})
