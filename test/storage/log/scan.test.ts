import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { frame } from '../../../src/storage/log/frame.js'
import { type LogBytes, recordsFromEnd, scanLog } from '../../../src/storage/log/scan.js'

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

test('a scan that refuses damage reads nothing after it', () => {
  const bytes = Buffer.alloc(2 * 1024 * 1024, '\n')
  const endsOf = (isDamageRefused: boolean) => {
    let readTo = 0
    const reader: LogBytes = {
      size: () => bytes.length,
      read(from, to) {
        readTo = to
        return bytes.subarray(from, to)
      },
    }
    const step = scanLog(reader, { offset: 0, seq: 1, isDamageRefused }).next()
    return { damage: step.done === true ? step.value.damage?.kind : undefined, readTo }
  }
  expect(endsOf(true)).toEqual({ damage: 'torn', readTo: 1024 * 1024 })
  expect(endsOf(false)).toEqual({ damage: 'torn', readTo: bytes.length })
})
