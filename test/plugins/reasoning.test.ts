/**
 * Reasoning goes back to the API as it came. The server refuses a result whose response has lost its reasoning, or has other
 * reasoning, or the same in another place.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject, ModelEvent, ModelMessage } from '../../src/provider/contract.js'
import type { ScriptedAnswer } from '../support/model-server/scenario.js'
import { type ModelServer, startModelServer } from '../support/model-server/server.js'
import { pluginPart } from './plugin-part.js'
import {
  anthropic,
  call,
  callsOf,
  collect,
  failureOf,
  openai,
  requestFor,
  result,
  textOf,
  user,
  VARIANTS,
} from './support.js'

interface Part {
  readAnswer(events: Iterable<object>, endpoint: object): AsyncIterable<ModelEvent>
}

const { readAnswer } = await pluginPart<Part>('provider-anthropic/src/answer')

const CALLS = [
  { name: 'shell', input: { command: 'ls' } },
  { name: 'shell', input: { command: 'pwd' } },
]
/** Every order that an API allows, with reasoning before, between and after. */
const ANSWER: ScriptedAnswer = {
  text: 'let me look',
  tool_calls: CALLS,
  order: [
    { think: 'first 世界' },
    { redacted: 'secret' },
    'text',
    { think: 'then' },
    'call',
    { think: 'and' },
    'call',
  ],
}

let server: ModelServer
beforeEach(async () => {
  server = await startModelServer({ responses: [ANSWER, { text: 'two files' }] })
})
afterEach(() => server.close())

function itemsOf(events: ModelEvent[]): JsonObject[] {
  return events.flatMap((event) => (event.type === 'item' ? [event.item] : []))
}

/** The response as substrat stores it, with a result for each call. */
function stored(events: ModelEvent[], items = itemsOf(events)): ModelMessage[] {
  const tool_calls = callsOf(events)
  const response: ModelMessage = { role: 'assistant', content: textOf(events), tool_calls, items }
  const history = [user('look'), response, ...tool_calls.map(({ call_id }) => result(call_id, 'a b'))]
  return JSON.parse(JSON.stringify(history)) as ModelMessage[]
}

describe.each(VARIANTS)('$api', ({ provider, options }) => {
  const ask = (...args: Parameters<typeof requestFor> extends [unknown, ...infer Rest] ? Rest : never) =>
    collect(provider, requestFor(options(server.url), ...args))

  test('a result is accepted with the reasoning of its response', async () => {
    const history = stored(await ask('look'))
    expect(textOf(await ask(history))).toBe('two files')
    expect(textOf(await ask(history))).toBe('two files')
    expect(server.refusals()).toEqual([])
  })

  test('reasoning is not in the text', async () => {
    const events = await ask('look')
    expect(textOf(events)).toBe('let me look')
    expect(JSON.stringify(itemsOf(events))).toContain('first 世界')
    expect(callsOf(events).map(({ input }) => input)).toEqual(CALLS.map(({ input }) => input))
  })

  test('the server refuses a result without the reasoning', async () => {
    const history = stored(await ask('look'), [])
    const { failure } = await failureOf(() => ask(history))
    expect(failure.type).toBe('invalid')
    expect(server.refusals()).toHaveLength(1)
  })

  test('the server refuses a result with the reasoning of another answer to the same request', async () => {
    const other = itemsOf(await ask('look'))
    const history = stored(await ask('look'), other)
    expect((await failureOf(() => ask(history))).failure.type).toBe('invalid')
  })

  test('the server refuses altered reasoning', async () => {
    const events = await ask('look')
    const altered = JSON.parse(JSON.stringify(itemsOf(events)).replace('first', 'worst')) as JsonObject[]
    expect((await failureOf(() => ask(stored(events, altered)))).failure.type).toBe('invalid')
  })

  test('a response without reasoning has no items', async () => {
    server.setScenario({ responses: [{ text: 'let me look', tool_calls: CALLS }] })
    expect(itemsOf(await ask('look'))).toEqual([])
  })

  test('reasoning of another server, or another API, is not sent', async () => {
    const events = await ask('look')
    const foreign = JSON.parse(
      JSON.stringify(itemsOf(events)).replaceAll(/"server":"[^"]*"/g, '"server":"example.com/v1"'),
    ) as JsonObject[]
    await failureOf(() => ask(stored(events, foreign)))
    expect(JSON.stringify(server.requests.at(-1)?.body)).not.toMatch(/first|secret|encrypted_content":/)
  })

  test.each<[string, (items: JsonObject[]) => JsonObject[]]>([
    ['names no call', (items) => items.filter((item) => !('call' in item))],
    ['names no text', (items) => items.filter((item) => !('text' in item))],
    ['names a call twice', (items) => [...items, ...items]],
  ])('a layout that %s loses neither the text nor the calls', async (_, change) => {
    const events = await ask('look')
    await failureOf(() => ask(stored(events, change(itemsOf(events)).slice(1))))
    const body = JSON.stringify(server.requests.at(-1)?.body)
    expect(body.match(/let me look/g)).toHaveLength(1)
    for (const { call_id } of callsOf(events))
      expect(body.match(new RegExp(`"${call_id}"`, 'g'))).toHaveLength(2)
  })

  // The token limit can cut off all that would follow the reasoning.
  test.each<[string, ScriptedAnswer['order']]>([
    ['at the end', [{ think: 'first' }, 'text', { think: 'last' }]],
    ['that came after all text', ['text', { redacted: 'one' }, { think: 'two' }]],
    ['without any text', [{ think: 'alone' }]],
  ])('reasoning %s of a response does not go back: the API refuses it', async (_, order) => {
    const text = order?.includes('text') === true ? 'so far' : ''
    server.setScenario({
      responses: [{ text, order, stop: 'length' }],
      rules: [{ includes: 'go on', text: 'on' }],
    })
    const events = await ask('look')
    const content = textOf(events)
    const response: ModelMessage = { role: 'assistant', content, tool_calls: [], items: itemsOf(events) }
    expect(textOf(await ask([user('look'), response, user('go on')]))).toBe('on')
    expect(server.refusals()).toEqual([])
    if (order?.[0] !== 'text' && text !== '')
      expect(JSON.stringify(server.requests.at(-1)?.body)).toContain('first')
  })

  test('the reasoning of earlier turns goes back too', async () => {
    server.setScenario({
      responses: [ANSWER, { text: 'two files', order: [{ think: 'done' }, 'text'] }, { text: 'bye' }],
    })
    const history = stored(await ask('look'))
    const events = await ask(history)
    const answer: ModelMessage = {
      role: 'assistant',
      content: textOf(events),
      tool_calls: [],
      items: itemsOf(events),
    }
    expect(textOf(await ask([...history, answer, user('thanks')]))).toBe('bye')
    expect(JSON.stringify(server.requests.at(-1)?.body)).toContain('done')
    expect(server.refusals()).toEqual([])
  })
})

// A Chat server gives all reasoning of a response as one text, which has no order.
test.each(VARIANTS.filter(({ api }) => api !== 'chat'))(
  '$api: the server refuses reasoning in another order',
  async ({ provider, options }) => {
    const ask = (history: ModelMessage[] | string) =>
      collect(provider, requestFor(options(server.url), history))
    const events = await ask('look')
    const [first, second, ...rest] = itemsOf(events) as [JsonObject, JsonObject, ...JsonObject[]]
    const history = stored(events, [second, first, ...rest])
    expect((await failureOf(() => ask(history))).failure.type).toBe('invalid')
  },
)

describe('a thinking block without a signature,', () => {
  const itemsFor = async (stop_reason: string): Promise<JsonObject[]> => {
    const wire = [
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'thinking', thinking: '', signature: '' },
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'unfinished' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason } },
      { type: 'message_stop' },
    ]
    const found: ModelEvent[] = []
    const endpoint = { url: new URL('http://localhost/v1/messages'), stallTimeoutMs: 1 }
    for await (const event of readAnswer(wire, endpoint)) found.push(event)
    return itemsOf(found)
  }

  test('if the token limit cut it off, is dropped: the API would refuse it', async () => {
    expect(await itemsFor('max_tokens')).toEqual([])
  })

  test('if its server signs nothing, goes back', async () => {
    const reasoning = { type: 'thinking', thinking: 'unfinished', signature: '' }
    expect(await itemsFor('end_turn')).toEqual([{ reasoning, server: 'localhost/v1/messages' }])
  })
})

describe('the option thinking of anthropic', () => {
  const bodyOf = async (more: Record<string, string>, history: ModelMessage[] | string = 'hello') => {
    await collect(anthropic, requestFor({ base_url: server.url, ...more }, history))
    return server.requests.at(-1)?.body
  }
  beforeEach(() => server.setScenario({ responses: [] }))

  test('has a budget that the smallest limit of a response exceeds', () => {
    const least = (options: Record<string, string>) =>
      anthropic.responseTokensMin?.(requestFor({ base_url: server.url, ...options }))
    expect(least({ thinking: '8000' })).toBe(9024)
    expect(least({ thinking: 'high' })).toBeUndefined()
  })

  test('is a budget, within max_tokens', async () => {
    expect(await bodyOf({ thinking: '4096' })).toMatchObject({
      thinking: { type: 'enabled', budget_tokens: 4096 },
      max_tokens: 32_000,
    })
    expect(await bodyOf({ thinking: '60000' })).toMatchObject({ max_tokens: 76_000 })
    expect(await bodyOf({ thinking: '4096', max_tokens: '5000' })).toMatchObject({ max_tokens: 5000 })
    expect(server.refusals()).toEqual([])
  })

  test('is an effort', async () => {
    expect(await bodyOf({ thinking: 'high' })).toMatchObject({
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high' },
    })
    expect(server.refusals()).toEqual([])
  })

  test('can be off, and is not sent by default', async () => {
    expect(await bodyOf({ thinking: 'off' })).toMatchObject({ thinking: { type: 'disabled' } })
    expect(await bodyOf({})).not.toHaveProperty('thinking')
  })

  test('takes effect only in the next turn, if the current one began without thinking', async () => {
    const history: ModelMessage[] = [
      user('look'),
      { role: 'assistant', content: '', tool_calls: [call('a')] },
      result('a', 'b'),
    ]
    expect(await bodyOf({ thinking: '2048' }, history)).not.toHaveProperty('thinking')
    const next: ModelMessage[] = [
      ...history,
      { role: 'assistant', content: 'done', tool_calls: [] },
      user('go'),
    ]
    expect(await bodyOf({ thinking: '2048' }, next)).toHaveProperty('thinking')
    expect(server.refusals()).toEqual([])
  })

  test.each<[Record<string, string>, string]>([
    [{ thinking: '1000' }, 'from 1024'],
    [{ thinking: 'much' }, 'low, medium, high, xhigh, max'],
    [{ thinking: '-2048' }, 'from 1024'],
    [{ thinking: '8000', max_tokens: '8000' }, 'larger than the budget'],
    [{ thinking: 'low', temperature: '0.5' }, 'temperature must be 1'],
  ])('%j is misconfigured', async (options, words) => {
    const { failure, message } = await failureOf(() => anthropic.check?.(requestFor(options)))
    expect(failure.type).toBe('misconfigured')
    expect(message).toContain(words)
  })
})

describe('the Responses API', () => {
  const bodyFor = async (model: string) => {
    const options = { base_url: `${server.url}/v1`, api: 'responses' }
    await collect(openai, requestFor(options, 'hello', { model }))
    return server.requests.at(-1)?.body
  }

  test('is asked for encrypted reasoning, and stores nothing', async () => {
    expect(await bodyFor('gpt-5.1')).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] })
  })

  test.each(['gpt-4o', 'gpt-4.1-mini', 'ft:gpt-4o:acme', 'gpt-5.1-chat-latest'])(
    'is not asked for the reasoning of %s, which has none',
    async (model) => {
      expect(await bodyFor(model)).not.toHaveProperty('include')
    },
  )

  test('gets no reasoning item back that it has not encrypted', async () => {
    const options = { base_url: `${server.url}/v1`, api: 'responses' }
    server.setScenario({ responses: [{ text: 'hm', order: [{ think: 'plain' }, 'text'] }] })
    expect(itemsOf(await collect(openai, requestFor(options, 'hello', { model: 'gpt-4o' })))).toEqual([])
  })
})
