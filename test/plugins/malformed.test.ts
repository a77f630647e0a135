/** Answers of any shape give events of the contract, or a failure with a plain message. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.js'
import type { ModelEvent } from '../../src/provider/contract.js'
import { anthropic } from '../support/model-server/anthropic.js'
import { chat } from '../support/model-server/chat.js'
import { responses } from '../support/model-server/responses.js'
import type { ScriptedAnswer } from '../support/model-server/scenario.js'
import { pluginPart } from './plugin-part.js'

type Wire = { [key: string]: unknown }
type Reader = (events: AsyncIterable<Wire>, endpoint: object) => AsyncIterable<ModelEvent>

const [{ readAnswer }, { readChat }, { readResponses }] = await Promise.all([
  pluginPart<{ readAnswer: Reader }>('provider-anthropic/src/answer'),
  pluginPart<{ readChat: Reader }>('provider-openai/src/chat-answer'),
  pluginPart<{ readResponses: Reader }>('provider-openai/src/responses-answer'),
])

const endpoint = { url: new URL('http://model.test/v1'), stallTimeoutMs: 1000 }
const BODY = { model: 'model-1', stream_options: { include_usage: true } }
const USAGE = { input_tokens: 10, cached_tokens: 3, output_tokens: 7 }
const ANSWERS: ScriptedAnswer[] = [
  { text: 'two words', event_characters: 6, usage: USAGE },
  {
    text: 'let me look',
    tool_calls: [{ name: 'shell', input: { command: 'ls' } }, { name: 'list' }],
    event_characters: 9,
    usage: USAGE,
  },
  { text: 'I cannot.', stop: 'refusal' },
]
const APIS: { api: string; read: Reader; eventsOf(answer: ScriptedAnswer): Wire[] }[] = [
  { api: 'messages', read: readAnswer, eventsOf: (answer) => sent(anthropic, answer) },
  { api: 'responses', read: readResponses, eventsOf: (answer) => sent(responses, answer) },
  { api: 'chat', read: readChat, eventsOf: (answer) => sent(chat, answer) },
]

/** JavaScript's own errors for a value of an unexpected type. */
const RAW =
  /cannot (read|destructure|convert)|is not (a function|iterable|an object|defined)|undefined|\[object/i

describe.each(APIS)('$api', ({ read, eventsOf }) => {
  test('a random value in any place gives an answer, or a failure with a plain message', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...ANSWERS.map((answer) => JSON.stringify(eventsOf(answer)))),
        fc.array(fc.tuple(fc.nat(), otherValue()), { minLength: 1, maxLength: 2 }),
        async (json, changes) => {
          const events = JSON.parse(json) as Wire[]
          for (const [at, value] of changes) {
            const places = placesIn(events)
            const place = places[at % places.length]
            if (place !== undefined) place.parent[place.key] = structuredClone(value)
          }
          await check(read, events)
        },
      ),
      { numRuns: 300 },
    )
  })

  test('a value of each type in each place does, too', async () => {
    for (const answer of ANSWERS.slice(1)) {
      const count = placesIn(eventsOf(answer)).length
      for (let at = 0; at < count; at += 1) {
        for (const value of [null, 5, 'text', [null], {}]) {
          const events = eventsOf(answer)
          const place = placesIn(events)[at]
          if (place !== undefined) place.parent[place.key] = value
          await check(read, events)
        }
      }
    }
  })
})

test('a call that is null or text, or replaces the list, is an invalid response', async () => {
  for (const tool_calls of [[null], ['x'], 7, { index: 0 }, [{ index: 0, function: { name: 5 } }]]) {
    const outcome = await outcomeOf(readChat, [{ choices: [{ delta: { tool_calls } }] }])
    expect(outcome).toMatchObject({ failure: { type: 'invalid_response' } })
  }
  const { message } = (await outcomeOf(readChat, [{ choices: [{ delta: { tool_calls: [null] } }] }])) as Error
  expect(message).toBe("the model's answer is malformed: tool_calls[0] is null, not an object")
})

test('optional fields can be null', async () => {
  const delta = { role: 'assistant', content: null, refusal: null, tool_calls: null }
  const events = [{ error: null, usage: null, choices: [{ delta, finish_reason: null }] }, ended]
  expect(await outcomeOf(readChat, events)).toEqual([{ type: 'stop', reason: 'end' }])
})

test('unreadable usage does not fail an answer', async () => {
  for (const usage of [
    5,
    'x',
    [],
    { prompt_tokens: 'many', completion_tokens: 1e300 },
    { prompt_tokens: -1 },
  ])
    expect(await outcomeOf(readChat, [{ ...ended, usage }])).toEqual([
      { type: 'usage', usage: { input_tokens: 0, output_tokens: 0 } },
      { type: 'stop', reason: 'end' },
    ])
})

describe('an endless answer', () => {
  const call = (n: number) => ({
    choices: [
      { delta: { tool_calls: [{ index: n, id: `${n}`, function: { name: 'x', arguments: '{}' } }] } },
    ],
  })

  test('with 10^6 calls is read up to the first excess call', async () => {
    let read = 0
    async function* endless(): AsyncGenerator<Wire> {
      for (; read < 1_000_000; read += 1) yield call(read)
    }
    const failed = (await outcomeOf(readChat, endless())) as Error
    expect(failed).toMatchObject({ failure: { type: 'invalid_response' } })
    expect(failed.message).toBe(`the model called more than ${limits.callsMax} tools in one response`)
    expect(read).toBe(limits.callsMax)
  })

  test('with 10^6 calls is limited in the other two APIs too', async () => {
    const item = { type: 'function_call', name: 'x', arguments: '{}' }
    const block = { type: 'tool_use', name: 'x', input: {} }
    for (const [reader, event] of [
      [
        readResponses,
        (n: number) => ({
          type: 'response.output_item.done',
          output_index: n,
          item: { ...item, call_id: `${n}` },
        }),
      ],
      [
        readAnswer,
        (n: number) => ({ type: 'content_block_start', index: n, content_block: { ...block, id: `${n}` } }),
      ],
    ] as [Reader, (n: number) => Wire][]) {
      const events = Array.from({ length: limits.callsMax + 1 }, (_, n) => event(n))
      expect(await outcomeOf(reader, events)).toMatchObject({ failure: { type: 'invalid_response' } })
      // This number is valid: only the end is missing.
      expect(await outcomeOf(reader, events.slice(1))).toMatchObject({ failure: { type: 'unreachable' } })
    }
  })

  test('with an endless input is not read forever', async () => {
    let pieces = 0
    const piece = 'x'.repeat(1024 * 1024)
    async function* endless(): AsyncGenerator<Wire> {
      yield call(0)
      for (; pieces < 1000; pieces += 1)
        yield { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: piece } }] } }] }
    }
    expect(await outcomeOf(readChat, endless())).toMatchObject({ failure: { type: 'invalid_response' } })
    expect(pieces).toBeLessThan(20)
  })

  test('with an input that is stated again at its end and at the end of the response has it once', async () => {
    const input = JSON.stringify({ text: 'x'.repeat(6 * 1024 * 1024) })
    const begun = { type: 'function_call', id: 'fc', call_id: 'c', name: 'x', arguments: '' }
    const item = { ...begun, arguments: input }
    const piece = { type: 'response.function_call_arguments.delta', item_id: 'fc', delta: input }
    const events = [
      { type: 'response.output_item.added', item: begun },
      piece,
      { type: 'response.function_call_arguments.done', item_id: 'fc', arguments: input },
      { type: 'response.output_item.done', item },
      { type: 'response.completed', response: { status: 'completed', output: [item] } },
    ]
    expect(await outcomeOf(readResponses, events)).toMatchObject([{ call: { name: 'x' } }, { type: 'stop' }])
    const long = events.toSpliced(1, 0, piece, piece)
    expect(await outcomeOf(readResponses, long)).toMatchObject({ failure: { type: 'invalid_response' } })
  })

  test('with a too long name is invalid, and one with a too deep input is not made', async () => {
    const deep = `${'{"a":'.repeat(limits.inputLevelsMax + 1)}1${'}'.repeat(limits.inputLevelsMax + 1)}`
    const called = (name: string, input: string): Wire[] => [
      { choices: [{ delta: { tool_calls: [{ index: 0, function: { name, arguments: input } }] } }] },
      ended,
    ]
    expect(
      await outcomeOf(readChat, called('x'.repeat(limits.callNameCharactersMax + 1), '{}')),
    ).toMatchObject({ failure: { type: 'invalid_response' } })
    expect(await outcomeOf(readChat, called('x', deep))).toMatchObject([
      { call: { input: {}, arguments_error: { message: 'they have more than 100 levels' } } },
      { type: 'stop' },
    ])
  })
})

const ended = { choices: [{ delta: {}, finish_reason: 'stop' }] }

async function check(read: Reader, events: Wire[]): Promise<void> {
  const outcome = await outcomeOf(read, events)
  if (outcome instanceof Error) {
    if (!('failure' in outcome) || RAW.test(outcome.message)) throw outcome
    return
  }
  expect(outcome.at(-1)?.type).toBe('stop')
  for (const event of outcome) {
    if (event.type === 'text') expect(event.text).toBeTypeOf('string')
    if (event.type === 'tool_call')
      expect(event.call).toEqual({
        call_id: expect.stringMatching(/./),
        name: expect.stringMatching(/./),
        input: expect.any(Object),
        ...(event.call.arguments_error && {
          arguments_error: { message: expect.any(String), text: expect.any(String) },
        }),
      })
    if (event.type === 'usage')
      for (const count of Object.values(event.usage)) expect(count).toSatisfy(Number.isSafeInteger)
  }
}

/** The events of the contract, or the thrown error. */
async function outcomeOf(read: Reader, events: Wire[] | AsyncIterable<Wire>): Promise<ModelEvent[] | Error> {
  const found: ModelEvent[] = []
  try {
    for await (const event of read(Array.isArray(events) ? each(events) : events, endpoint)) found.push(event)
    return found
  } catch (error) {
    return error as Error
  }
}

async function* each(events: Wire[]): AsyncGenerator<Wire> {
  // As in `ask`: an event that is not an object fails there.
  for (const event of events)
    if (typeof event === 'object' && event !== null && !Array.isArray(event)) yield event
}

function sent(dialect: typeof chat, answer: ScriptedAnswer): Wire[] {
  return dialect
    .events(answer, 0, BODY, new Map())
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => JSON.parse(data) as Wire)
}

interface Place {
  parent: Record<string, unknown>
  key: string
}

function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return []
  const parent = value as Record<string, unknown>
  return Object.keys(parent).flatMap((key) => [{ parent, key }, ...placesIn(parent[key])])
}

function otherValue(): fc.Arbitrary<unknown> {
  return fc.oneof(
    fc.constantFrom(null, true, 0, -1, 1e308, '', 'text', [], {}, [null], [[]], [{}]),
    fc.jsonValue({ maxDepth: 3 }),
  )
}
