/** Tests of modules that agent providers share: splitting lines, and finding the time of a reset. */
import { describe, expect, test } from 'vitest'
import { pluginPart } from './plugin-part.js'

const part = <T>(name: string): Promise<T> => pluginPart<T>(`shared/src/program/${name}`)

const { readLines } = await part<{
  readLines(pieces: AsyncIterable<Buffer>, bytesMax: number): AsyncIterable<string | undefined>
}>('framing')
const { failureOfText } = await part<{
  failureOfText(text: string): Error & { failure: { type: string; retry_after_ms?: number } }
}>('failure-text')
const { parseJson } = await part<{ parseJson(text: string): unknown }>('parse')
const { waitMs } = await part<{ waitMs(text: string, now: number): number | undefined }>('wait-text')

async function linesOf(bytes: Buffer, pieceSize: number, bytesMax = 1000): Promise<(string | undefined)[]> {
  async function* pieces(): AsyncIterable<Buffer> {
    for (let at = 0; at < bytes.length; at += pieceSize) yield bytes.subarray(at, at + pieceSize)
  }
  const lines: (string | undefined)[] = []
  for await (const line of readLines(pieces(), bytesMax)) lines.push(line)
  return lines
}

describe('lines', () => {
  const text = 'one\n\ntwo\u2028still\u0085two\r\nthr\u00e9e \u{1f600}\nhalf'
  const expected = ['one', '', 'two\u2028still\u0085two\r', 'thr\u00e9e \u{1f600}', 'half']

  test.each([[1], [2], [3], [7], [1000]])('end only at LF, in pieces of %i bytes', async (size) => {
    expect(await linesOf(Buffer.from(text), size)).toEqual(expected)
  })

  test.each([[1], [4], [1000]])(
    'above the limit are read to their end and dropped, in pieces of %i',
    async (size) => {
      const long = 'x'.repeat(11)
      const bytes = Buffer.from(`a\n${long}\n${'y'.repeat(10)}\n${long}`)
      expect(await linesOf(bytes, size, 10)).toEqual(['a', undefined, 'y'.repeat(10), undefined])
    },
  )
})

describe('the time until a limit is reset', () => {
  const now = Date.parse('2026-11-20T16:04:05.500Z')
  const minutes = (count: number): number => count * 60_000

  test.each([
    ['try again in 20s', 20_000],
    ['Please try again in 1.5 seconds.', 1500],
    ['try again in 3 days 2 hours and 5 minutes', 86_400_000 * 3 + minutes(125)],
    ['{"retry_after": 7}', 7000],
    ['usage limit reached|1795197985', 1795197985000 - now],
    ['resets at 2026-11-20T17:04:05.500Z', minutes(60)],
    // To the end of the given minute.
    ["You've hit your session limit · resets 6:06pm (UTC)", minutes(123) - 5500],
    ['resets 3pm (America/New_York)', minutes(237) - 5500],
    ['resets 4:04pm (UTC)', minutes(1) - 5500],
    ['resets 4:03pm (UTC)', minutes(24 * 60) - 5500],
    ['resets 9am (Asia/Tokyo)', minutes(8 * 60 - 3) - 5500],
  ])('is found in: %s', (text, ms) => {
    expect(waitMs(text, now)).toBe(ms)
  })

  test.each([['the limit was reached'], ['resets 5'], ['resets 25:00'], ['in 5 apples'], ['try again']])(
    'is not found in: %s',
    (text) => {
      expect(waitMs(text, now)).toBeUndefined()
    },
  )
})

describe('the error text of a program', () => {
  test.each([
    ["error: unknown option '--nonsense'", 'misconfigured'],
    ['--dangerously-skip-permissions cannot be used with root/sudo privileges', 'misconfigured'],
    ['Your credit balance is too low', 'billing'],
    ['No conversation found with session ID: 1', 'session_lost'],
    ['Error: Session ID 1 is already in use.', 'busy'],
    ["You've hit your weekly limit · resets 9am (Asia/Tokyo)", 'rate_limit'],
    ['API Error: 529 Overloaded', 'overloaded'],
    ['API Error: 500 Internal server error', 'server_error'],
    ['Not logged in · Please run /login', 'authentication'],
    ['connect ECONNREFUSED 127.0.0.1:9', 'unreachable'],
    ['prompt is too long: 2 tokens > 1 maximum', 'overflow'],
    ['segmentation fault', 'crashed'],
  ])('%s has type %s', (text, type) => {
    expect(failureOfText(text).failure.type).toBe(type)
  })

  test('becomes one line of bounded length', () => {
    const { message } = failureOfText(`first\n\n  second ${'x'.repeat(5000)}`)
    expect(message.startsWith('first second x')).toBe(true)
    expect(message.length).toBeLessThan(1100)
    expect(failureOfText(' \n').message).toBe('the program failed without an error message')
  })
})

describe('JSON', () => {
  const millionOf = (piece: string): string => `[${Array.from({ length: 1_000_000 }, () => piece).join()}]`

  test.each(['{}', '[]', '1', '"a"'])('with a million parts %s is rejected', (piece) => {
    expect(() => parseJson(millionOf(piece))).toThrow('too many parts')
  })

  test('with a million levels is rejected', () => {
    expect(() => parseJson('['.repeat(1_000_000))).toThrow('too many parts')
  })

  test('with a long string of commas, brackets and quotes is read', () => {
    const text = 'a,{"[\\'.repeat(300_000)
    expect(parseJson(JSON.stringify({ text }))).toEqual({ text })
  })

  test('that ends within a string is rejected', () => {
    expect(() => parseJson(`{"a":"${'\\'.repeat(600_001)}`)).toThrow(SyntaxError)
  })
})
