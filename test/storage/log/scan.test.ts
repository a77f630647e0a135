import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { frame } from '../../../src/storage/log/frame.js'
import { type LogBytes, recordsFromEnd, scanForKinds, scanLog } from '../../../src/storage/log/scan.js'

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

test('records of some kinds are found wherever their line has the kind', () => {
  const kinds = ['run.started', 'message.user']
  const ts = '2026-01-01T00:00:00.000Z'
  const kind = fc.constantFrom(...kinds, 'run.completed', 'x'.repeat(100), 'run.started"', '')
  const rest = fc.record({ kind, content: fc.constantFrom('"kind":"run.started"', '', 'é"') })
  const fields = fc.oneof(
    rest.map((each) => ({ ts, ...each })),
    rest.map((each) => ({ ...each, ts })),
    rest.map((each) => ({ ts: 'soon', ...each })),
    rest.map(({ content }) => ({ ts, content })),
  )
  fc.assert(
    fc.property(fc.array(fields), (all) => {
      const records = all.map((each, index) => ({ seq: index + 1, ...each }))
      const bytes = Buffer.concat(records.map(frame))
      const found = [...scanForKinds(readerOf(bytes), { offset: 0, seq: 1 }, bytes.length, kinds)]
      const wanted = records.filter((record) => 'kind' in record && kinds.includes(record.kind))
      expect(found.map(({ seq }) => seq)).toEqual(wanted.map(({ seq }) => seq))
    }),
  )
})
