import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { limits } from '../../../src/limits.js'
import { damageOf, frame, suffixOf } from '../../../src/storage/log/frame.js'
import { isIntactLine, type LogBytes, recordHead, textOf } from '../../../src/storage/log/lines.js'
import { recordsFromEnd, scanForKinds, scanLog } from '../../../src/storage/log/scan.js'

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

describe('a scan for kinds', () => {
  const ts = '2026-01-01T00:00:00.000Z'
  const KINDS = ['run.started']
  const [kind] = KINDS
  const scanOf = (bytes: Buffer, to = bytes.length) => {
    const found: number[] = []
    const scan = scanForKinds(readerOf(bytes), { offset: 0, seq: 1 }, to, KINDS)
    let step = scan.next()
    for (; step.done !== true; step = scan.next()) found.push(step.value.end)
    return { found, damage: step.value }
  }

  test('finds lines of any length, over the chunks in which it reads', () => {
    for (const length of [0, 1_000_000, limits.lineBytesMax - 200]) {
      const lines = [1, 2, 3].map((seq) => frame({ seq, ts, kind, text: 'x'.repeat(length) }))
      const ends = [1, 2, 3].map((count) => Buffer.concat(lines.slice(0, count)).length)
      expect(scanOf(Buffer.concat(lines))).toEqual({ found: ends, damage: undefined })
    }
  })

  test('ends at the first damage, and says where it is', () => {
    const line = fc.record({ kind: fc.constantFrom(kind, 'run.completed'), text: fc.string() })
    const change = fc.record({ at: fc.nat(), byte: fc.nat(255) })
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 5 }), change, (lines, { at, byte }) => {
        const whole = lines.map((each, index) => frame({ seq: index + 1, ts, ...each }))
        const bytes = Buffer.concat(whole)
        bytes[at % bytes.length] = byte
        const found: number[] = []
        let damage: object | undefined
        for (let offset = 0, seq = 1; offset < bytes.length && damage === undefined; seq++) {
          const lf = bytes.indexOf('\n', offset)
          const each = bytes.subarray(offset, lf === -1 ? bytes.length : lf)
          const reason = lf === -1 ? 'its line has no end' : damageOf(each, recordHead(seq))
          if (lf !== -1) expect(isIntactLine(textOf(bytes), offset, lf, seq)).toBe(reason === undefined)
          if (reason === undefined && JSON.parse(`${each}`).kind === kind) found.push(lf + 1)
          else if (reason !== undefined) damage = { kind: 'corrupt', offset, seq, reason }
          offset = lf + 1
        }
        expect(scanOf(bytes)).toEqual({ found, damage })
      }),
    )
  })

  test('refuses a line that does not end before its own end, or is longer than any', () => {
    const damage = { kind: 'corrupt', offset: 0, seq: 1, reason: 'its line has no end' }
    const bytes = frame({ seq: 1, ts, kind })
    expect(scanOf(bytes, bytes.length - 1)).toEqual({ found: [], damage })
    expect(scanOf(bytes, bytes.length + 1)).toEqual({
      found: [bytes.length],
      damage: { ...damage, offset: bytes.length, seq: 2 },
    })
    const long = Buffer.concat([Buffer.alloc(4 * limits.lineBytesMax, 'x'), Buffer.from('\n'), bytes])
    expect(scanOf(long)).toEqual({ found: [], damage })
  })

  test('refuses a line whose checksum is good and that is not JSON', () => {
    const body = `{"seq":1,"ts":"${ts}","kind":"${kind}",oops`
    const damage = { kind: 'corrupt', offset: 0, seq: 1, reason: 'it is not JSON' }
    expect(scanOf(Buffer.from(`${body}${suffixOf(body)}\n`))).toEqual({ found: [], damage })
  })
})
