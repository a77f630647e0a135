/** Each API accepts any conversation that substrat can send. The server rejects the same requests as the real ones. */
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import type { ModelMessage } from '../../src/provider/contract.js'
import { startModelServer } from '../support/model-server/server.js'
import { assistant, call, collect, requestFor, result, SHELL, user, VARIANTS } from './support.js'

const server = await startModelServer()
afterAll(() => server.close())

describe.each(VARIANTS)('$api', ({ provider, options, api }) => {
  const bodyOf = async (history: ModelMessage[], tools = [SHELL]): Promise<Record<string, unknown>> => {
    await collect(provider, requestFor(options(server.url), history, { tools }))
    return server.requests.at(-1)?.body ?? {}
  }

  test('any history of substrat is accepted', async () => {
    await fc.assert(
      fc.asyncProperty(
        histories(),
        fc.boolean(),
        fc.option(anyText()),
        async (history, hasTools, instructions) => {
          const more = { tools: hasTools ? [SHELL] : [], instructions }
          await collect(provider, requestFor(options(server.url), history, more))
        },
      ),
      { numRuns: 200 },
    )
    expect(server.refusals()).toEqual([])
  })

  test('no layer has a lone surrogate, and no result is empty', async () => {
    const body = await bodyOf([
      user('cut \ud83d'),
      assistant('', {
        call_id: 'a',
        name: 'shell',
        input: { command: 'cut \ud83d', 'k\ud83d': [{ x: '\udf89' }] },
      }),
      result('a', ''),
      user('and now?'),
    ])
    const layers: string[] = []
    const walk = (value: unknown): void => {
      if (typeof value === 'string') {
        layers.push(value)
        if (value.startsWith('{')) walk(JSON.parse(value))
      } else if (typeof value === 'object' && value !== null)
        for (const [name, field] of Object.entries(value)) {
          layers.push(name)
          walk(field)
        }
    }
    walk(body)
    expect(layers.filter((text) => /\p{Surrogate}/u.test(text))).toEqual([])
    expect(layers).toContain('cut \ufffd')
    expect(JSON.stringify(body)).not.toMatch(/"(content|output)":""/)
    expect(JSON.stringify(body)).toContain('(nothing)')
  })

  test('the same history gives the same request', async () => {
    const history = [
      user('go'),
      assistant('', call('a:1'), call('a.1')),
      result('a:1', 'x'),
      result('a.1', 'y'),
    ]
    expect(await bodyOf(history)).toEqual(await bodyOf(history))
  })

  test('an unpaired surrogate in a truncated output does not invalidate the conversation', async () => {
    const body = await bodyOf([
      user('cut: \ud83d'),
      assistant('', call('1', { text: '\udc00' })),
      result('1', 'ok 🌍'),
    ])
    expect(JSON.stringify(body)).toContain('cut: \ufffd')
    expect(JSON.stringify(body)).toContain('ok 🌍')
  })

  test('the failure of a tool is passed on', async () => {
    const body = await bodyOf([user('go'), assistant('', call('1')), result('1', 'no such file', true)])
    expect(JSON.stringify(body)).toContain(api === 'messages' ? '"is_error":true' : 'Error: no such file')
  })

  test('a request without tools after calls is accepted', async () => {
    const body = await bodyOf(
      [user('go'), assistant('', call('1')), result('1', 'done'), user('sum it up')],
      [],
    )
    expect(JSON.stringify(body.tool_choice)).toBe(api === 'messages' ? '{"type":"none"}' : undefined)
  })
})

test('the Messages API gets the results of one response, and successive messages of a role, in one message', async () => {
  const [variant] = VARIANTS
  if (variant === undefined) throw new Error('no variant')
  const history = [
    user('one'),
    user('two'),
    assistant('thinking', call('a', { command: 'ls' }), call('b')),
    result('a', 'x'),
    result('b', 'failed', true),
    user('stop there'),
  ]
  await collect(
    variant.provider,
    requestFor({ ...variant.options(server.url), prompt_cache: 'off' }, history),
  )
  expect(server.requests.at(-1)?.body.messages).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'thinking' },
        { type: 'tool_use', id: 'a', name: 'shell', input: { command: 'ls' } },
        { type: 'tool_use', id: 'b', name: 'shell', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'a', content: 'x' },
        { type: 'tool_result', tool_use_id: 'b', content: 'failed', is_error: true },
        { type: 'text', text: 'stop there' },
      ],
    },
  ])
})

/** Includes blank, long and unusual texts. */
function anyText(): fc.Arbitrary<string> {
  return fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', ' \n', 'plain', '\ud83d'))
}

/** User messages and whole responses, each call answered at once. The last message is not from the model. */
function histories(): fc.Arbitrary<ModelMessage[]> {
  const people = anyText().map((content) => [user(content)])
  const ids = fc.oneof(
    fc.constantFrom('call_0', 'functions.shell:0', 'x'.repeat(80)),
    fc.string({ minLength: 1 }),
  )
  const response = fc
    .record({
      content: anyText(),
      calls: fc.uniqueArray(
        fc.record({
          call_id: ids,
          name: fc.oneof(fc.constant('shell'), anyText()),
          input: fc.dictionary(anyText(), fc.jsonValue()),
        }),
        { selector: ({ call_id }) => call_id, maxLength: 3 },
      ),
      output: anyText(),
      is_error: fc.boolean(),
    })
    .map(({ content, calls, output, is_error }) => [
      assistant(content, ...calls),
      ...calls.map(({ call_id }) => result(call_id, output, is_error)),
    ])
  return fc
    .tuple(people, fc.array(fc.oneof(people, response), { maxLength: 6 }), people)
    .map(([first, middle, last]) => [...first, ...middle.flat(), ...last])
}
