/** Lines of JSON-RPC. Each line with a request is passed on or answered. */
import { Readable } from 'node:stream'
import { JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseMessage } from '../../../src/turn/tools/json-rpc.js'
import { type Line, linesOf } from '../../../src/turn/tools/lines.js'

const whole = (text: string): Line => ({ bytes: Buffer.from(`${text}\n`), left: 0, tail: Buffer.alloc(0) })
const json = (value: unknown): Line => whole(JSON.stringify(value))
// biome-ignore lint/suspicious/noExplicitAny: what is answered is compared with what is expected
const answerTo = (line: Line): any => {
  const heard = parseMessage(line)
  return heard.kind === 'refused' ? JSON.parse(heard.answer) : heard.kind
}
const refusal = (id: unknown, code: number): object => ({
  jsonrpc: '2.0',
  id,
  error: { code, message: expect.stringMatching(/^[A-Z].*\.$/) },
})

describe('a line', () => {
  test.each(['no json', '{', '{"jsonrpc":"2.0","id":1,', '\u0000', '[1,'])(
    'of %j is a parse error',
    (text) => {
      expect(answerTo(whole(text))).toEqual(refusal(null, -32700))
    },
  )

  test.each(['', '  ', '\r'])('of %j is ignored', (text) => {
    expect(answerTo(whole(text))).toBe('nothing')
  })

  test.each<[unknown, unknown]>([
    [7, null],
    [null, null],
    ['ping', null],
    [{}, null],
    [{ id: 1, method: 'ping' }, 1],
    [{ jsonrpc: '1.0', id: 'a', method: 'ping' }, 'a'],
    [{ jsonrpc: '2.0', id: null, method: 'ping' }, null],
    [{ jsonrpc: '2.0', id: 1.5, method: 'ping' }, 1.5],
    [{ jsonrpc: '2.0', id: { a: 1 }, method: 'ping' }, null],
    [{ jsonrpc: '2.0', id: 2, method: 7 }, 2],
    [{ jsonrpc: '2.0', id: 3, method: 'ping', params: [1] }, 3],
    [{ jsonrpc: '2.0', id: 4 }, 4],
    [{ jsonrpc: '2.0', id: 5, result: 7 }, 5],
  ])('of %j is an invalid request', (value, id) => {
    expect(answerTo(json(value))).toEqual(refusal(id, -32600))
  })

  test('with a request, a notification or a response is passed on', () => {
    const request = { jsonrpc: '2.0', id: 'x', method: 'ping' }
    expect(parseMessage(json(request))).toEqual({ kind: 'message', message: request, id: '"x"' })
    const others = [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 1, result: {} },
      { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'no' } },
    ]
    for (const message of others)
      expect(parseMessage(json(message))).toEqual({ kind: 'message', message, id: undefined })
  })
})

test('a batch is answered with a list, in which each request has its error', () => {
  const ping = { jsonrpc: '2.0', method: 'ping' }
  expect(answerTo(json([{ ...ping, id: 1 }, ping, 7, { ...ping, id: 'b' }]))).toEqual([
    refusal(1, -32600),
    refusal(null, -32600),
    refusal('b', -32600),
  ])
  expect(answerTo(json([]))).toEqual(refusal(null, -32600))
  expect(answerTo(json([ping]))).toEqual(refusal(null, -32600))
})

test('a message that MCP accepts is passed on, and any other request is answered by its id', () => {
  const field = fc.oneof(fc.constantFrom('2.0', 'ping', 1, null, {}), fc.jsonValue({ maxDepth: 2 }))
  fc.assert(
    fc.property(
      fc.record(
        { jsonrpc: field, id: field, method: field, params: field, result: field, error: field },
        { requiredKeys: [] },
      ),
      (value) => {
        const heard = parseMessage(json(value))
        if (JSONRPCMessageSchema.safeParse(JSON.parse(JSON.stringify(value))).success)
          expect(heard.kind).toBe('message')
        if (heard.kind === 'refused') expect(JSON.parse(heard.answer).error.code).toBe(-32600)
      },
    ),
  )
})

describe('a line that is too long', () => {
  const read = async (text: string, bytesMax: number): Promise<Line[]> => {
    const lines: Line[] = []
    for await (const line of linesOf(Readable.from(cut(text), { objectMode: true }), bytesMax))
      lines.push(line)
    return lines
  }
  const long = 'x'.repeat(5000)

  test.each([
    ['first', `{"jsonrpc":"2.0","id":7,"method":"${long}"}`],
    ['last', `{"method":"${long}","params":{"id":3},"jsonrpc":"2.0","id":7}`],
  ])('is answered by the id that is %s in it', async (_, text) => {
    const [line] = await read(`${text}\n`, 4000)
    expect(answerTo(line as Line)).toEqual(refusal(7, -32600))
  })

  test('is answered without an id if neither end has one', async () => {
    const [line] = await read(`{"a":"${long}","id":7,"b":"${long}"}\n`, 4000)
    expect(answerTo(line as Line)).toEqual(refusal(null, -32600))
  })

  test('is not kept in memory, and the lines around it are whole', async () => {
    const lines = await read(`one\n${'y'.repeat(100_000)}\ntwo`, 4000)
    expect(lines.map(({ left }) => left)).toEqual([0, 100_001, 0])
    expect(lines.map(({ bytes }) => bytes.length)).toEqual([4, expect.any(Number), 4])
    expect(lines[1]?.bytes.length).toBeLessThanOrEqual(1024)
  })
})

function* cut(text: string): Iterable<Buffer> {
  for (let from = 0; from < text.length; from += 700) yield Buffer.from(text.slice(from, from + 700))
}
