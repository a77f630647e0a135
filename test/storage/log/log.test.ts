import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { close, open } from '../../../src/host/disk/io.js'
import { limits } from '../../../src/limits.js'
import { frame } from '../../../src/storage/log/frame.js'
import type { LogBytes } from '../../../src/storage/log/lines.js'
import { LogWriter, openLogForRead } from '../../../src/storage/log/log.js'
import { type LoggedRecord, readRecordAt, type ScanEnd, scanLog } from '../../../src/storage/log/scan.js'
import { failing, withFaults } from '../../support/faults.js'
import { clearFaults, operationsOf } from '../../support/operations.js'
import { tempDirectory } from '../../support/temp.js'

/** The framed lines of each batch. */
type Batches = Buffer[][]

/** `payloads` has one entry per record of each batch. */
function batchesOf(payloads: string[][], firstSeq = 1): Batches {
  let seq = firstSeq
  return payloads.map((batch) => {
    const range = [seq, seq + batch.length - 1]
    return batch.map((text) => frame({ seq: seq++, kind: 'test', batch: range, text }))
  })
}

function bytesOf(batches: Batches): Buffer {
  return Buffer.concat(batches.flat())
}

function readerOf(bytes: Buffer): LogBytes {
  return { size: () => bytes.length, read: (from, to) => bytes.subarray(from, to) }
}

function scan(reader: LogBytes, start = { offset: 0, seq: 1 }): { batches: LoggedRecord[][]; end: ScanEnd } {
  const batches: LoggedRecord[][] = []
  const scanning = scanLog(reader, start)
  let step = scanning.next()
  for (; step.done !== true; step = scanning.next()) batches.push(step.value)
  return { batches, end: step.value }
}

/** Summary of a scan of these bytes. */
function outcomeOf(bytes: Buffer) {
  const { batches, end } = scan(readerOf(bytes))
  return { batches: batches.length, end: end.end, lastSeq: end.lastSeq, damage: end.damage?.kind }
}

/** The expected summary if the batches before `index` are whole and batch `index` is damaged. */
function damagedAt(batches: Batches, index: number, kind: 'torn' | 'corrupt') {
  const before = batches.slice(0, index)
  return { batches: index, end: bytesOf(before).length, lastSeq: before.flat().length, damage: kind }
}

const payloads = fc.array(
  fc.array(fc.string({ unit: 'binary', maxLength: 60 }), { minLength: 1, maxLength: 4 }),
  {
    minLength: 2,
    maxLength: 5,
  },
)

/** Damages the bytes `[from, to)` of a batch, or all from `from`. Always changes the bytes. */
type Damage = (batch: Buffer, from: number, to: number) => Buffer

const DAMAGES: [name: string, damage: Damage][] = [
  ['a flipped byte', (batch, from) => changed(batch, from, from + 1, (byte) => byte ^ 0x41)],
  ['a byte changed to LF', (batch, from) => changed(batch, from, from + 1, (byte) => (byte === 10 ? 0 : 10))],
  ['a run of NUL bytes', (batch, from, to) => changed(batch, from, to, () => 0)],
  ['a missing end', (batch, from) => batch.subarray(0, Math.max(1, from))],
  ['an end of NUL bytes', (batch, from) => changed(batch, from, batch.length, () => 0)],
]

function changed(batch: Buffer, from: number, to: number, change: (byte: number) => number): Buffer {
  const copy = Buffer.from(batch)
  for (let at = from; at < to; at++) copy[at] = change(copy[at] as number)
  return copy
}

describe('scan', () => {
  test('yields every batch whole, with the place of each record', () => {
    fc.assert(
      fc.property(payloads, (texts) => {
        const bytes = bytesOf(batchesOf(texts))
        const { batches, end } = scan(readerOf(bytes))
        expect(batches.map((batch) => batch.map(({ record }) => record.text))).toEqual(texts)
        expect(end).toEqual({ end: bytes.length, lastSeq: texts.flat().length, damage: undefined })
        for (const { record, offset, end, seq } of batches.flat()) {
          expect(record.seq).toBe(seq)
          expect(readRecordAt(readerOf(bytes), offset, end)).toEqual(record)
        }
      }),
    )
  })

  test('starts at the end of any batch and yields the batches after it', () => {
    fc.assert(
      fc.property(payloads, fc.nat(), (texts, choice) => {
        const all = batchesOf(texts)
        const skipped = choice % all.length
        const start = {
          offset: bytesOf(all.slice(0, skipped)).length,
          seq: texts.slice(0, skipped).flat().length + 1,
        }
        const { batches, end } = scan(readerOf(bytesOf(all)), start)
        expect(batches.map((batch) => batch.map(({ record }) => record.text))).toEqual(texts.slice(skipped))
        expect(end.damage).toBeUndefined()
      }),
    )
  })

  test('may begin inside a batch only with isWithinBatch', () => {
    const lines = batchesOf([['a', 'b', 'c', 'd'], ['e']]).flat()
    const bytes = Buffer.concat(lines)
    const start = { offset: (lines[0] as Buffer).length, seq: 2 }
    expect(scan(readerOf(bytes), start).end.damage?.kind).toBe('corrupt')
    const within = scanLog(readerOf(bytes), { ...start, isWithinBatch: true })
    expect(within.next().value).toMatchObject([{ seq: 2 }, { seq: 3 }, { seq: 4 }])
    expect(within.next().value).toMatchObject([{ seq: 5 }])
    // Damage in that first batch is a truncated tail, not corruption before a later batch.
    const [a, b, c, d] = lines as [Buffer, Buffer, Buffer, Buffer]
    const damaged = Buffer.concat([a, b, Buffer.alloc(c.length), d])
    const torn = scanLog(readerOf(damaged), { ...start, isWithinBatch: true })
    expect(torn.next()).toMatchObject({ done: true, value: { damage: { kind: 'torn' } } })
  })

  test('finds no records and no damage in an empty log', () => {
    expect(scan(readerOf(Buffer.alloc(0))).end).toEqual({ end: 0, lastSeq: 0, damage: undefined })
  })

  describe.each(DAMAGES)('%s', (_, damage) => {
    const places = [fc.nat(), fc.nat()] as const
    const range = (batch: Buffer, a: number, b: number): [number, number] => {
      const [first, second] = [a % batch.length, b % batch.length]
      return [Math.min(first, second), Math.max(first, second) + 1]
    }

    test('in the last batch is a truncated tail, and earlier batches stay', () => {
      fc.assert(
        fc.property(payloads, ...places, (texts, a, b) => {
          const batches = batchesOf(texts)
          const last = bytesOf(batches.slice(-1))
          const damaged = damage(last, ...range(last, a, b))
          const bytes = Buffer.concat([bytesOf(batches.slice(0, -1)), damaged])
          expect(outcomeOf(bytes)).toEqual(damagedAt(batches, batches.length - 1, 'torn'))
        }),
        { numRuns: 300 },
      )
    })

    test('before the last batch is corruption, reported at that batch', () => {
      fc.assert(
        fc.property(payloads, fc.nat(), ...places, (texts, choice, a, b) => {
          const batches = batchesOf(texts)
          const index = choice % (batches.length - 1)
          const parts = batches.map((batch) => bytesOf([batch]))
          const part = parts[index] as Buffer
          parts[index] = damage(part, ...range(part, a, b))
          expect(outcomeOf(Buffer.concat(parts))).toEqual(damagedAt(batches, index, 'corrupt'))
        }),
        { numRuns: 300 },
      )
    })
  })

  test('reports a truncated tail for every cut through the last batch', () => {
    const batches = batchesOf([['a'], ['b', 'c'], ['d', 'e', 'f']])
    const bytes = bytesOf(batches)
    const lastStart = bytesOf(batches.slice(0, -1)).length
    for (let cut = lastStart + 1; cut < bytes.length; cut++)
      expect(outcomeOf(bytes.subarray(0, cut))).toEqual(damagedAt(batches, 2, 'torn'))
    expect(outcomeOf(bytes.subarray(0, lastStart)).damage).toBeUndefined()
  })

  test('reports corruption if the LF between the last two batches is lost', () => {
    const batches = batchesOf([['a'], ['b'], ['c']])
    const bytes = bytesOf(batches)
    const lf = bytesOf(batches.slice(0, 2)).length - 1
    expect(bytes[lf]).toBe(10)
    bytes[lf] = 0
    expect(outcomeOf(bytes)).toEqual(damagedAt(batches, 1, 'corrupt'))
  })

  test('reports corruption for a duplicate line anywhere', () => {
    fc.assert(
      fc.property(payloads, fc.nat(), (texts, choice) => {
        const lines = batchesOf(texts).flat()
        const index = choice % lines.length
        const bytes = Buffer.concat(lines.flatMap((line, at) => (at === index ? [line, line] : [line])))
        expect(outcomeOf(bytes).damage).toBe('corrupt')
      }),
    )
  })

  test('reports corruption for a deleted line, except the last lines of the last batch', () => {
    fc.assert(
      fc.property(payloads, fc.nat(), (texts, choice) => {
        const batches = batchesOf(texts)
        const lines = batches.flat()
        const index = choice % lines.length
        fc.pre(index < lines.length - 1)
        expect(outcomeOf(Buffer.concat(lines.filter((_, at) => at !== index))).damage).toBe('corrupt')
      }),
    )
    const batches = batchesOf([['a'], ['b', 'c', 'd']])
    const lines = batches.flat()
    expect(outcomeOf(Buffer.concat(lines.slice(0, -1)))).toEqual(damagedAt(batches, 1, 'torn'))
    expect(outcomeOf(Buffer.concat(lines.slice(0, -2)))).toEqual(damagedAt(batches, 1, 'torn'))
  })

  test('reports corruption for whole records in the wrong order or of another log', () => {
    const [a, b, c] = batchesOf([['a'], ['b'], ['c']]).flat() as [Buffer, Buffer, Buffer]
    expect(outcomeOf(Buffer.concat([a, c, b])).damage).toBe('corrupt')
    expect(outcomeOf(Buffer.concat([b])).damage).toBe('corrupt')
    expect(outcomeOf(Buffer.concat([a, frame({ seq: 2, kind: 'test' })])).damage).toBe('corrupt')
    expect(outcomeOf(Buffer.concat([a, frame({ seq: 2, batch: [1, 2] })])).damage).toBe('corrupt')
  })

  test('reports a truncated tail for a tail of NUL or other bytes', () => {
    const batches = batchesOf([['a'], ['b', 'c']])
    const whole = { ...damagedAt(batches, 2, 'torn') }
    for (const tail of [
      Buffer.alloc(1),
      Buffer.alloc(4096),
      Buffer.alloc(3 * limits.lineBytesMax),
      randomBytes(9000),
    ])
      expect(outcomeOf(Buffer.concat([bytesOf(batches), tail]))).toEqual(whole)
  })

  test('reports bytes without LF as a truncated tail at the end, and as corruption before a record', () => {
    const before = batchesOf([['a']])
    const after = bytesOf(batchesOf([['b']], 3))
    for (const length of [
      limits.lineBytesMax - 50,
      limits.lineBytesMax + 1,
      2 * limits.lineBytesMax - 20,
      5_000_001,
    ]) {
      for (const filler of [0, 120]) {
        const run = Buffer.alloc(length, filler)
        expect(outcomeOf(Buffer.concat([bytesOf(before), run]))).toEqual(damagedAt(before, 1, 'torn'))
        const followed = Buffer.concat([bytesOf(before), run, after])
        expect(outcomeOf(followed)).toEqual(damagedAt(before, 1, 'corrupt'))
        const ended = Buffer.concat([bytesOf(before), run, Buffer.from('\n'), after])
        expect(outcomeOf(ended)).toEqual(damagedAt(before, 1, 'corrupt'))
      }
    }
  })

  test('reads lines of the largest size across chunk borders', () => {
    const sizes = [limits.lineBytesMax - 100, 10, limits.lineBytesMax - 100, 3000, limits.lineBytesMax - 100]
    const texts = sizes.map((size) => ['x'.repeat(size)])
    const { batches, end } = scan(readerOf(bytesOf(batchesOf(texts))))
    expect(batches.map(([logged]) => String(logged?.record.text).length)).toEqual(sizes)
    expect(end.damage).toBeUndefined()
  })

  test('reports the place, the record and the reason of damage', () => {
    const batches = batchesOf([
      ['a', 'b'],
      ['c', 'd'],
    ])
    const bytes = bytesOf(batches)
    bytes[bytes.length - 30] = 0
    expect(scan(readerOf(bytes)).end.damage).toEqual({
      kind: 'torn',
      offset: bytesOf(batches.slice(0, 1)).length,
      seq: 3,
      reason: 'its checksum is wrong',
    })
  })
})

describe('readRecordAt', () => {
  const batches = batchesOf([['a'], ['b']])
  const bytes = bytesOf(batches)
  const first = bytesOf(batches.slice(0, 1)).length

  test('returns the record at its place, and undefined for any other place', () => {
    expect(readRecordAt(readerOf(bytes), first, bytes.length)).toMatchObject({ seq: 2, text: 'b' })
    for (const [offset, end] of [
      [-1, first],
      [0, first - 1],
      [0, first + 1],
      [1, first],
      [0, bytes.length],
      [first, first],
      [bytes.length, bytes.length + 10],
    ] as const)
      expect(readRecordAt(readerOf(bytes), offset, end)).toBeUndefined()
  })

  test('returns undefined if the LF is lost, because an append would continue the same line', () => {
    const changed = Buffer.from(bytes)
    changed[bytes.length - 1] = 0x20
    expect(readRecordAt(readerOf(changed), first, bytes.length)).toBeUndefined()
  })
})

function newLog(bytes: Uint8Array = new Uint8Array()): string {
  const path = join(tempDirectory(), 'events.jsonl')
  writeFileSync(path, bytes)
  return path
}

/** Opens the log as the lock holder does. */
function writerOf(path: string): LogWriter {
  const file = open('log.open', path, 'write')
  onTestFinished(() => close(file))
  return LogWriter.open(path, file)
}

describe('append', () => {
  const [one, two, three] = batchesOf([['a'], ['b', 'c'], ['d']]).map((batch) => bytesOf([batch])) as [
    Buffer,
    Buffer,
    Buffer,
  ]

  test('writes at the end and fsyncs before it returns', () => {
    const path = newLog(one)
    const writer = writerOf(path)
    const operations = operationsOf(() => writer.append(two))
    expect(operations.map(({ name, offset }) => [name, offset])).toEqual([
      ['write', one.length],
      ['fdatasync', undefined],
      ['read', undefined],
    ])
    expect(readFileSync(path)).toEqual(Buffer.concat([one, two]))
    expect(writer.size()).toBe(one.length + two.length)
  })

  test('continues after a short write', () => {
    const path = newLog()
    const writer = writerOf(path)
    withFaults(({ name }) => (name === 'write' ? { writtenBytesMax: 7 } : undefined))
    writer.append(one)
    expect(readFileSync(path)).toEqual(one)
  })

  test.each(['ENOSPC', 'EDQUOT', 'EIO'])(
    'rolls back a short write after %s, and the next append works',
    (errno) => {
      const path = newLog(one)
      const writer = writerOf(path)
      let writes = 0
      withFaults(({ name }) => {
        if (name !== 'write') return undefined
        writes += 1
        if (writes === 2) throw Object.assign(new Error(errno), { code: errno })
        return { writtenBytesMax: 10 }
      })
      expect(() => writer.append(two)).toThrow(
        expect.objectContaining({ code: 'STORAGE_FAILED', facts: expect.objectContaining({ errno, path }) }),
      )
      expect(readFileSync(path)).toEqual(one)
      clearFaults()
      writer.append(two)
      expect(readFileSync(path)).toEqual(Buffer.concat([one, two]))
    },
  )

  test('fails as on a full disk if a write takes no byte', () => {
    const path = newLog(one)
    const writer = writerOf(path)
    withFaults(({ name }) => (name === 'write' ? { writtenBytesMax: 0 } : undefined))
    expect(() => writer.append(two)).toThrow(
      expect.objectContaining({
        code: 'STORAGE_FAILED',
        facts: expect.objectContaining({ errno: 'ENOSPC' }),
      }),
    )
    expect(readFileSync(path)).toEqual(one)
  })

  test('stops if the rollback fails, and leaves a truncated tail for the next writer', () => {
    const path = newLog(one)
    const writer = writerOf(path)
    let writes = 0
    withFaults(({ name }) => {
      if (name === 'write' && writes++ === 0) return { writtenBytesMax: 10 }
      if (name === 'read') return undefined
      throw Object.assign(new Error('EROFS'), { code: 'EROFS' })
    })
    expect(() => writer.append(two)).toThrow(expect.objectContaining({ code: 'STORAGE_FAILED' }))
    clearFaults()
    expect(() => writer.append(two)).toThrow(expect.objectContaining({ code: 'SYNC_FAILED' }))
    const bytes = readFileSync(path)
    expect(bytes.length).toBe(one.length + 10)
    expect(outcomeOf(bytes)).toMatchObject({ end: one.length, damage: 'torn' })
  })

  test('never retries a failed fsync and appends nothing more', () => {
    const path = newLog(one)
    const writer = writerOf(path)
    withFaults(failing('EIO', ({ name }) => name === 'fdatasync', 1))
    expect(() => writer.append(two)).toThrow(expect.objectContaining({ code: 'SYNC_FAILED', exitStatus: 15 }))
    const operations = operationsOf(() => {
      expect(() => writer.append(three)).toThrow(expect.objectContaining({ code: 'SYNC_FAILED' }))
    })
    expect(operations).toEqual([])
    expect(readFileSync(path)).toEqual(Buffer.concat([one, two]))
  })
})

describe('resyncTail', () => {
  const [one, two, three] = batchesOf([['a'], ['b'], ['c']]).map((batch) => bytesOf([batch])) as [
    Buffer,
    Buffer,
    Buffer,
  ]

  test('rewrites the bytes after the snapshot in place, cuts the truncated tail, and fsyncs once', () => {
    const path = newLog(Buffer.concat([one, two, three.subarray(0, 12)]))
    const inode = statSync(path).ino
    const writer = writerOf(path)
    const end = one.length + two.length
    const operations = operationsOf(() => writer.resyncTail(one.length, end))
    const changes = operations.filter(({ name }) => name !== 'read')
    expect(changes.map(({ point, offset }) => [point, offset])).toEqual([
      ['log.cut', end],
      ['log.rewrite', one.length],
      ['log.resync', undefined],
    ])
    expect(changes[1]?.bytes).toEqual(two)
    expect(statSync(path).ino).toBe(inode)
    writer.append(three)
    expect(readFileSync(path)).toEqual(Buffer.concat([one, two, three]))
  })

  test('cuts nothing if the log ends with a whole batch', () => {
    const path = newLog(Buffer.concat([one, two]))
    const writer = writerOf(path)
    const operations = operationsOf(() => writer.resyncTail(0, one.length + two.length))
    expect(operations.map(({ point }) => point)).toEqual([
      'log.read',
      'log.rewrite',
      'log.resync',
      'log.check',
    ])
    expect(readFileSync(path)).toEqual(Buffer.concat([one, two]))
  })

  test.each(['log.cut', 'log.rewrite', 'log.resync'])('prevents any append if %s fails', (point) => {
    const path = newLog(Buffer.concat([one, two, three.subarray(0, 12)]))
    const writer = writerOf(path)
    withFaults(failing('EIO', (operation) => operation.point === point, 1))
    expect(() => writer.resyncTail(one.length, one.length + two.length)).toThrow(
      expect.objectContaining({ code: point === 'log.resync' ? 'SYNC_FAILED' : 'STORAGE_FAILED' }),
    )
    clearFaults()
    expect(() => writer.append(three)).toThrow(expect.objectContaining({ code: 'SYNC_FAILED' }))
    expect(outcomeOf(readFileSync(path))).toMatchObject({ batches: 2, lastSeq: 2 })
  })
})

describe('opening a log', () => {
  test('shows a reader the log as of that moment, beside a writer', () => {
    const [one, two] = batchesOf([['a'], ['b']]).map((batch) => bytesOf([batch])) as [Buffer, Buffer]
    const path = newLog(one)
    const reader = openLogForRead(path)
    if (reader === undefined) throw new Error('the log is there')
    const writer = writerOf(path)
    writer.append(two)
    expect(scan(reader).end).toEqual({ end: one.length, lastSeq: 1, damage: undefined })
    reader.close()
  })

  test('throws STORAGE_FAILED, not CORRUPT, if the log could not be opened under the lock, and then could', () => {
    const path = newLog()
    expect(() => LogWriter.open(path, undefined)).toThrow(
      expect.objectContaining({
        code: 'STORAGE_FAILED',
        message: `${path} could not be opened for writing`,
        hint: 'run the same command again',
      }),
    )
  })

  test('throws CORRUPT if a writer opens a missing log, and does not recreate it', () => {
    const path = join(tempDirectory(), 'events.jsonl')
    expect(() => LogWriter.open(path, undefined)).toThrow(expect.objectContaining({ code: 'CORRUPT' }))
    expect(existsSync(path)).toBe(false)
  })

  test('returns undefined to a reader if there is no log', () => {
    expect(openLogForRead(join(tempDirectory(), 'events.jsonl'))).toBeUndefined()
  })
})
