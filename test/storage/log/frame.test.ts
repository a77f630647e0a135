import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/format.js'
import { frame, LF, unframe } from '../../../src/storage/log/frame.js'

const jsonObject = fc
  .dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' }), { minKeys: 1 })
  .map((object) => JSON.parse(JSON.stringify(object)) as JsonObject)

function lineOf(object: object): Buffer {
  const bytes = frame(object)
  expect(bytes.at(-1)).toBe(LF)
  return bytes.subarray(0, -1)
}

describe('frame', () => {
  test('returns any JSON object unchanged', () => {
    fc.assert(
      fc.property(jsonObject, (object) => {
        expect(unframe(lineOf(object))).toEqual({ object })
      }),
      { numRuns: 500 },
    )
  })

  test('escapes LF, U+2028 and U+2029, also in a key', () => {
    const object = { 'a\u2028b': 'one\ntwo\u2028three\u2029four' }
    const line = lineOf(object)
    expect(line.includes(LF)).toBe(false)
    expect(line.toString('utf8')).not.toMatch(/[\u2028\u2029]/)
    expect(line.toString('utf8')).toContain('one\\ntwo\\u2028three\\u2029four')
    expect(unframe(line)).toEqual({ object })
  })

  test('ends a line with an 18-byte crc, the CRC-32 of the bytes before it', () => {
    const text = frame({ seq: 7 }).toString('latin1')
    // CRC-32 of the eight bytes `{"seq":7`, computed with another program (gzip).
    expect(text).toBe('{"seq":7,"crc":"6500d349"}\n')
    fc.assert(
      fc.property(jsonObject, (object) => {
        expect(lineOf(object).subarray(-18).toString('latin1')).toMatch(/^,"crc":"[0-9a-f]{8}"\}$/)
      }),
    )
  })

  test('writes a line that any JSON parser reads', () => {
    const object = { text: 'Zürich 日本 \u0000 \ud800', nested: { list: [1, null, true] } }
    expect(JSON.parse(lineOf(object).toString('utf8'))).toMatchObject(object)
  })

  test('detects a change of any single byte', () => {
    fc.assert(
      fc.property(jsonObject, fc.nat(), fc.integer({ min: 1, max: 255 }), (object, at, mask) => {
        const line = Buffer.from(lineOf(object))
        const index = at % line.length
        line[index] = (line[index] as number) ^ mask
        expect(unframe(line)).toHaveProperty('damage')
      }),
      { numRuns: 2000 },
    )
  })

  test('detects a truncated line and appended bytes', () => {
    fc.assert(
      fc.property(
        jsonObject,
        fc.nat(),
        fc.uint8Array({ minLength: 1, maxLength: 30 }),
        (object, at, more) => {
          const line = lineOf(object)
          expect(unframe(line.subarray(0, at % line.length))).toHaveProperty('damage')
          expect(unframe(Buffer.concat([line, more]))).toHaveProperty('damage')
        },
      ),
    )
  })

  test.each([
    ['', 'it is too short for a record'],
    [`{,"crc":"00000000"}`, 'it is too short for a record'],
    ['{"seq":1,"ts":"2026-01-01T00:00:00.000Z"}', 'it has no checksum at its end'],
    ['{"seq":1,"ts":"2026-01-01T00:00\0\0\0\0\0\0\0\0', 'it has NUL bytes'],
    ['{"seq":7,"crc":"00000000"}', 'its checksum is wrong'],
  ])('names the damage of %j', (line, damage) => {
    expect(unframe(Buffer.from(line))).toEqual({ damage })
  })
})
