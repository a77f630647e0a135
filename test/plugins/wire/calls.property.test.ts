/**
 * The calls of a known answer, sent with any indexes, ids, splits and interleavings, are read as that answer, or refused. They are
 * never read as another call. fast-check prints the seed of a failure.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Dialect, readEvents } from './read.js'

interface Call {
  name: string
  input: Record<string, unknown>
}

// Values in which the texts of calls can be mistaken for parts of each other.
const INPUTS: Record<string, unknown>[] = [
  {},
  { path: 'notes.txt', content: 'first' },
  { path: 'other.txt', content: 'SECOND' },
  { x: '{}' },
  { x: '' },
  { x: { y: 1 } },
  { y: 1 },
  { a: '"}{"', b: ['{"x":1}'] },
]
const NAMES = ['write_file', 'edit_file', 'shell']

const call = fc.record({ name: fc.constantFrom(...NAMES), input: fc.constantFrom(...INPUTS) })
/** How a server names a call in its pieces. */
const naming = fc.record({
  id: fc.constantFrom<string[]>('a', 'b', 'c', ''),
  index: fc.constantFrom<(number | undefined)[]>(0, 0, 1, 2, undefined),
  repeatsId: fc.boolean(),
  repeatsName: fc.boolean(),
  stops: fc.boolean(),
  cuts: fc.array(fc.nat(40), { maxLength: 3 }),
})
const answer = fc.record({
  calls: fc.array(fc.tuple(call, naming), { minLength: 1, maxLength: 3 }),
  order: fc.array(fc.nat(), { minLength: 0, maxLength: 20 }),
  /** The ways in which the Responses API repeats a call. */
  wholes: fc.constantFrom('none', 'arguments', 'items', 'end', 'all'),
  rotatesItems: fc.boolean(),
})
type Sent = typeof answer extends fc.Arbitrary<infer T> ? T : never
// The same call twice, with the same id, is one call.
const distinct = answer.filter(({ calls }) => {
  const named = calls.filter(([, { id }]) => id !== '')
  return new Set(named.map(([one, { id }]) => `${id} ${told(one)}`)).size === named.length
})

function pieces(input: object, cuts: number[]): string[] {
  const json = JSON.stringify(input)
  const at = [...new Set(cuts.map((cut) => cut % json.length))].sort((a, b) => a - b)
  return [0, ...at].map((from, n) => json.slice(from, at[n] ?? json.length))
}

/** Merges the lanes, each in its own order. */
function interleaved(lanes: unknown[][], order: number[]): unknown[] {
  const left = lanes.map((lane) => [...lane])
  const merged: unknown[] = []
  for (let n = 0; left.some((lane) => lane.length > 0); n += 1) {
    const open = left.filter((lane) => lane.length > 0)
    merged.push(open[(order[n] ?? 0) % open.length]?.shift())
  }
  return merged
}

function chat({ calls, order }: Sent): unknown[] {
  const lanes = calls.map(([{ name, input }, how]) =>
    ['', ...pieces(input, how.cuts)].map((piece, n) => {
      const isFirst = n === 0
      const tool_call = {
        ...(how.index !== undefined && { index: how.index }),
        ...(how.id !== '' && (isFirst || how.repeatsId) && { id: how.id }),
        function: { ...((isFirst || how.repeatsName) && { name }), arguments: piece },
      }
      return { choices: [{ index: 0, delta: { tool_calls: [tool_call] }, finish_reason: null }] }
    }),
  )
  return [
    ...interleaved(lanes, order),
    { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
    '[DONE]',
  ]
}

function messages({ calls, order }: Sent): unknown[] {
  const lanes = calls.map(([{ name, input }, { id, index = 0, stops, cuts }]) => [
    { type: 'content_block_start', index, content_block: { type: 'tool_use', id, name, input: {} } },
    ...pieces(input, cuts).map((partial_json) => ({
      type: 'content_block_delta',
      index,
      delta: { type: 'input_json_delta', partial_json },
    })),
    ...(stops ? [{ type: 'content_block_stop', index }] : []),
  ])
  const end = [{ type: 'message_delta', delta: { stop_reason: 'tool_use' } }, { type: 'message_stop' }]
  return [{ type: 'message_start', message: {} }, ...interleaved(lanes, order), ...end]
}

function responses({ calls, order, wholes, rotatesItems }: Sent): unknown[] {
  const sends = (way: string): boolean => wholes === way || wholes === 'all'
  const items: unknown[] = []
  const lanes = calls.map(([{ name, input }, { id, index: output_index, repeatsId, cuts }], n) => {
    let rotation = 0
    const itemId = (): string => `fc_${n}${rotatesItems ? `_${rotation++}` : ''}`
    const item = (json: string): object => ({
      type: 'function_call',
      ...(repeatsId && { id: itemId() }),
      ...(id !== '' && { call_id: id }),
      name,
      arguments: json,
    })
    const at = { ...(output_index !== undefined && { output_index }) }
    const json = JSON.stringify(input)
    items.push(item(json))
    return [
      { type: 'response.output_item.added', ...at, item: item('') },
      ...pieces(input, cuts).map((delta) => ({
        type: 'response.function_call_arguments.delta',
        ...at,
        ...(repeatsId && { item_id: itemId() }),
        delta,
      })),
      ...(sends('arguments')
        ? [
            {
              type: 'response.function_call_arguments.done',
              ...at,
              ...(repeatsId && { item_id: itemId() }),
              arguments: json,
            },
          ]
        : []),
      ...(sends('items') ? [{ type: 'response.output_item.done', ...at, item: item(json) }] : []),
    ]
  })
  const response = { status: 'completed', output: sends('end') ? items : [] }
  return [...interleaved(lanes, order), { type: 'response.completed', response }]
}

const DIALECTS: [Dialect, (sent: Sent) => unknown[]][] = [
  ['chat', chat],
  ['messages', messages],
  ['responses', responses],
]

function told({ name, input }: Call): string {
  return `${name} ${JSON.stringify(input)}`
}

describe.each(DIALECTS)('%s', (dialect, send) => {
  test('any order of the pieces of known calls gives these calls, or an error', async () => {
    let wholes = 0
    await fc.assert(
      fc.asyncProperty(distinct, async (sent) => {
        const read = await readEvents(dialect, send(sent))
        if (read.failure !== undefined) {
          expect(read.failure.type).toBe('invalid_response')
          return
        }
        const made = read.calls.filter((one) => one.arguments_error === undefined).map(told)
        const known = sent.calls.map(([one]) => told(one))
        for (const one of made) expect(known.splice(known.indexOf(one), 1)).toEqual([one])
        // Nothing is left out without an error.
        if (made.length === read.calls.length) expect(known).toEqual([])
        if (made.length === sent.calls.length) wholes += 1
      }),
      { numRuns: 500 },
    )
    // The property would hold for a reader that refuses everything.
    expect(wholes).toBeGreaterThan(120)
  })

  test('calls one after the other, each with its own id and index, are read as they are', async () => {
    await fc.assert(
      fc.asyncProperty(answer, async (sent) => {
        const calls = sent.calls.map(
          ([one, how], n) =>
            [
              one,
              { ...how, id: `call_${n}`, index: n, repeatsName: false, stops: true },
            ] as (typeof sent.calls)[number],
        )
        const read = await readEvents(dialect, send({ ...sent, calls, order: [], wholes: 'all' }))
        expect(read.failure).toBe(undefined)
        expect(read.calls.map(told)).toEqual(sent.calls.map(([one]) => told(one)))
      }),
      { numRuns: 100 },
    )
  })
})
