/** Answers as gateways really send them, by class: calls, whole answers, ends and framing. */
import { describe, expect, test } from 'vitest'
import { type Dialect, readChunks, readEvents, sse } from './read.js'

const chunk = (delta: object, finish_reason: string | null = null): object => ({
  choices: [{ index: 0, delta, finish_reason }],
})
const callChunk = (tool_call: object): object => chunk({ tool_calls: [tool_call] })
const shell = (id: string, command: string, index?: number): object => ({
  ...(index !== undefined && { index }),
  id,
  function: { name: 'shell', arguments: JSON.stringify({ command }) },
})
const message = (text: string, id = 'msg_1'): object => ({
  type: 'message',
  id,
  role: 'assistant',
  content: [{ type: 'output_text', text }],
})
const item = (id: string, name: string, input: object): object => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: `call_${id}`,
  name,
  arguments: JSON.stringify(input),
})
const completed = (output: object[] = [], more: object = {}): object => ({
  type: 'response.completed',
  response: { status: 'completed', output, ...more },
})
const block = (index: number, content_block: object, ...deltas: object[]): object[] => [
  { type: 'content_block_start', index, content_block },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
]
const text = (index: number, words: string): object[] =>
  block(index, { type: 'text', text: '' }, { type: 'text_delta', text: words })
const ended = (stop_reason: string | null): object[] => [
  { type: 'message_delta', delta: { stop_reason } },
  { type: 'message_stop' },
]

const inputs = async (dialect: Dialect, events: unknown[]): Promise<unknown[]> =>
  (await readEvents(dialect, events)).calls.map(({ name, input }) => [name, input])

describe('calls', () => {
  test('Responses items at the same index are each read as they are', async () => {
    const first = item('a', 'write_file', { path: 'notes.txt' })
    const second = item('b', 'edit_file', { path: 'other.txt' })
    const events = [first, second].flatMap((one) => [
      { type: 'response.output_item.added', output_index: 0, item: { ...one, arguments: '' } },
      { type: 'response.output_item.done', output_index: 0, item: one },
    ])
    expect(await inputs('responses', [...events, completed([first, second])])).toEqual([
      ['write_file', { path: 'notes.txt' }],
      ['edit_file', { path: 'other.txt' }],
    ])
  })

  test('message blocks at the same index are each read as they are', async () => {
    const use = (id: string, command: string): object[] =>
      block(
        0,
        { type: 'tool_use', id, name: 'shell', input: {} },
        { type: 'input_json_delta', partial_json: JSON.stringify({ command }) },
      )
    expect(await inputs('messages', [...use('a', 'one'), ...use('b', 'two'), ...ended('tool_use')])).toEqual([
      ['shell', { command: 'one' }],
      ['shell', { command: 'two' }],
    ])
  })

  test.each([
    ['with ids and no index', [shell('a', 'one'), shell('b', 'two')]],
    ['with ids and the same index', [shell('a', 'one', 0), shell('b', 'two', 0)]],
    ['with the same id and two indexes', [shell('x', 'one', 0), shell('x', 'two', 1)]],
    ['without ids, at the same index', [shell('', 'one', 0), shell('', 'two', 0)]],
    [
      'interleaved, by their ids',
      [
        { id: 'a', function: { name: 'shell', arguments: '' } },
        { id: 'b', function: { name: 'shell', arguments: '' } },
        { id: 'a', function: { arguments: '{"command":"one"}' } },
        { id: 'b', function: { arguments: '{"command":"two"}' } },
      ],
    ],
  ])('calls %s in a chat are each read as they are', async (_, calls) => {
    expect(await inputs('chat', [...calls.map(callChunk), chunk({}, 'tool_calls')])).toEqual([
      ['shell', { command: 'one' }],
      ['shell', { command: 'two' }],
    ])
  })

  test('whose pieces could belong to either of two are refused in words', async () => {
    const begin = (id: string): object =>
      callChunk({ index: 0, id, function: { name: 'shell', arguments: '' } })
    const piece = callChunk({ index: 0, function: { arguments: '{"command":"rm -r x"}' } })
    const { calls, failure } = await readEvents('chat', [
      begin('a'),
      begin('b'),
      piece,
      chunk({}, 'tool_calls'),
    ])
    expect(calls).toEqual([])
    expect(failure).toMatchObject({ type: 'invalid_response' })
    expect(failure?.message).toContain('cannot be distinguished')
  })

  test('calls of the older API are read', async () => {
    const pieces = [{ name: 'shell', arguments: '{"comm' }, { arguments: 'and":"ls"}' }]
    const events = pieces.map((function_call) => chunk({ function_call }))
    expect(await inputs('chat', [...events, chunk({}, 'function_call')])).toEqual([
      ['shell', { command: 'ls' }],
    ])
  })

  test('with arguments that are an object are read', async () => {
    const call = { index: 0, id: 'a', function: { name: 'shell', arguments: { command: 'ls' } } }
    expect(await inputs('chat', [callChunk(call), chunk({}, 'tool_calls')])).toEqual([
      ['shell', { command: 'ls' }],
    ])
  })
})

describe('an answer that comes only whole', () => {
  test.each([
    [
      'responses',
      [{ type: 'response.output_item.done', output_index: 0, item: message('all') }, completed()],
    ],
    ['responses', [{ type: 'response.output_text.done', output_index: 0, text: 'all' }, completed()]],
    ['responses', [completed([message('all')])]],
    ['responses', [{ object: 'response', status: 'completed', output: [message('all')] }]],
    ['chat', [{ choices: [{ message: { content: 'all' }, finish_reason: 'stop' }] }]],
    ['messages', [{ type: 'message', content: [{ type: 'text', text: 'all' }], stop_reason: 'end_turn' }]],
  ] as [Dialect, object[]][])('is read (%s %#)', async (dialect, events) => {
    expect(await readEvents(dialect, events)).toMatchObject({ text: 'all', stop: 'end', failure: undefined })
    // The same as the body of an answer in JSON.
    if (events.length === 1 && !('type' in (events[0] as object) && dialect === 'responses'))
      expect(await readChunks(dialect, [JSON.stringify(events[0], null, 1)])).toMatchObject({ text: 'all' })
  })

  test('and also in pieces counts once', async () => {
    const delta = { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, delta: 'a' }
    const done = { type: 'response.output_item.done', output_index: 0, item: message('all') }
    expect(await readEvents('responses', [delta, done, completed([message('all')])])).toMatchObject({
      text: 'all',
    })
  })

  test('and contradicts its pieces is refused', async () => {
    const delta = { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, delta: 'other' }
    const { failure } = await readEvents('responses', [delta, completed([message('all')])])
    expect(failure).toMatchObject({ type: 'invalid_response' })
  })

  test('has its calls', async () => {
    const call = item('a', 'shell', { command: 'ls' })
    expect(await inputs('responses', [completed([call])])).toEqual([['shell', { command: 'ls' }]])
  })
})

describe('an answer that the fuzzer of answers drew (stress/wire.ts)', () => {
  test('arguments that come twice, without the announcement of a second call, are refused', async () => {
    const json = '{"x":1}'
    const sent = [
      { type: 'response.function_call_arguments.delta', output_index: 0, delta: json },
      { type: 'response.function_call_arguments.done', output_index: 0, arguments: json },
    ]
    const call = { type: 'function_call', name: 'shell', arguments: '' }
    const added = { type: 'response.output_item.added', output_index: 0, item: call }
    expect(await readEvents('responses', [added, ...sent, completed()])).toMatchObject({
      calls: [{ input: { x: 1 } }],
      failure: undefined,
    })
    const { failure } = await readEvents('responses', [added, ...sent, ...sent, completed()])
    expect(failure?.message).toContain('a piece of arguments names no call')
  })

  test('a text that comes whole under another name while it is open is refused', async () => {
    const events = [
      { type: 'response.output_item.added', output_index: 0, item: { type: 'message', id: 'a' } },
      { type: 'response.output_text.delta', output_index: 0, item_id: 'a', delta: 'said' },
      { type: 'response.output_item.done', output_index: 5, item: message('said', 'b') },
    ]
    const { failure } = await readEvents('responses', [...events, completed()])
    expect(failure?.message).toContain('sent twice, under different names')
  })

  test('two messages with the same text are two', async () => {
    const output = [message('a', 'msg_1'), message('a', 'msg_2')]
    expect(await readEvents('responses', [completed(output)])).toMatchObject({ text: 'a\n\na' })
  })

  test('arguments that come whole after their last piece belong to the same call', async () => {
    const at = { output_index: 0, item_id: 'fc_a' }
    const json = '{"command":"ls"}'
    const events = [
      { type: 'response.output_item.added', ...at, item: { ...item('a', 'shell', {}), arguments: '' } },
      { type: 'response.function_call_arguments.delta', ...at, delta: json },
      { type: 'response.function_call_arguments.done', ...at, arguments: json },
    ]
    expect(await inputs('responses', [...events, completed()])).toEqual([['shell', { command: 'ls' }]])
  })

  test('a call whose announcement follows it is one call', async () => {
    const call = item('a', 'shell', { command: 'ls' })
    const events = [
      { type: 'response.output_item.done', output_index: 0, item: { ...call, id: 'fc_other' } },
      { type: 'response.output_item.added', output_index: 0, item: { ...call, arguments: '' } },
    ]
    expect(await inputs('responses', [...events, completed()])).toEqual([['shell', { command: 'ls' }]])
  })

  test('a block that is announced twice is one call', async () => {
    const begin = {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: 'a', name: 'shell', input: { command: 'ls' } },
    }
    const events = [begin, begin, { type: 'content_block_stop', index: 0 }, ...ended('tool_use')]
    expect(await inputs('messages', events)).toEqual([['shell', { command: 'ls' }]])
  })

  test('two blocks with one id and one index are two calls if their inputs differ', async () => {
    const begin = (command: string): object => ({
      type: 'content_block_start',
      content_block: { type: 'tool_use', id: 'a', name: 'shell', input: { command } },
    })
    const events = [begin('ls'), begin('pwd'), { type: 'content_block_stop' }, ...ended('tool_use')]
    expect(await inputs('messages', events)).toEqual([
      ['shell', { command: 'ls' }],
      ['shell', { command: 'pwd' }],
    ])
  })

  test('a block without an id that is announced twice is refused', async () => {
    const content_block = { type: 'tool_use', name: 'shell', input: { command: 'ls' } }
    const begin = { type: 'content_block_start', index: 0, content_block }
    const events = [begin, begin, { type: 'content_block_stop', index: 0 }, ...ended('tool_use')]
    expect((await readEvents('messages', events)).failure).toMatchObject({ type: 'invalid_response' })
  })

  test('pieces after a second announcement with the same id, index and name are refused', async () => {
    const piece = (more: object, args: string): object =>
      callChunk({
        index: 0,
        ...more,
        function: { name: 'id' in more ? 'shell' : undefined, arguments: args },
      })
    const events = [piece({ id: 'c' }, ''), piece({}, '{"'), piece({ id: 'c' }, ''), piece({}, '{}')]
    const rest = [piece({}, 'command":"ls"}'), chunk({}, 'tool_calls')]
    expect((await readEvents('chat', [...events, ...rest])).failure).toMatchObject({
      type: 'invalid_response',
    })
  })

  test.each<[Dialect, object, object, (piece: string) => object]>([
    [
      'messages',
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'c', name: 'a' } },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
      (partial_json) => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json },
      }),
    ],
    [
      'responses',
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { type: 'function_call', call_id: 'c', name: 'a' },
      },
      completed(),
      (delta) => ({ type: 'response.function_call_arguments.delta', output_index: 0, delta }),
    ],
  ])('the same, of %s', async (dialect, start, end, piece) => {
    const whole = [start, start, piece('{"x":'), piece('1}'), end]
    expect(await readEvents(dialect, whole)).toMatchObject({ calls: [{ input: { x: 1 } }] })
    const twice = [start, start, piece('{"'), piece('{}'), piece('x":"{}"}'), end]
    expect((await readEvents(dialect, twice)).failure?.message).toContain('announced twice')
    // The second one may be that of a call without arguments.
    const again = [start, piece('{"x":'), start, piece('1}'), end]
    expect((await readEvents(dialect, again)).failure?.message).toContain('announced again')
  })

  test('a piece of an earlier call with the same id, which comes in the middle of another one, is refused', async () => {
    const start = {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: 'c', name: 'a' },
    }
    const piece = (partial_json: string): object => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json },
    })
    const stop = { type: 'content_block_stop', index: 0 }
    const events = [start, stop, start, piece('{"'), piece('{}'), piece('x":1}'), stop, ...ended('tool_use')]
    expect((await readEvents('messages', events)).failure?.message).toContain('may be those of two')
  })

  test('a whole call with an id, after the same one without an id, is refused', async () => {
    const call = { type: 'function_call', name: 'list_children', arguments: '{"x":1}' }
    const done = (more: object): object => ({ type: 'response.output_item.done', item: { ...call, ...more } })
    const { failure } = await readEvents('responses', [done({}), done({ call_id: 'b' }), completed()])
    expect(failure?.message).toContain('sent twice, with different names or none')
  })

  test('a whole call without an id, at another index than the same one, is refused', async () => {
    const call = { type: 'function_call', name: 'shell', arguments: '' }
    const json = '{"x":1}'
    const events = [
      { type: 'response.output_item.added', output_index: 0, item: call },
      { type: 'response.function_call_arguments.done', output_index: 0, arguments: json },
      { type: 'response.output_item.done', output_index: 5, item: { ...call, arguments: json } },
    ]
    const { failure } = await readEvents('responses', [...events, completed()])
    expect(failure?.message).toContain('sent twice, with different names or none')
  })

  test('a call whose announcement comes again after its end is refused', async () => {
    const call = { type: 'tool_use', id: 'c', name: 'list_children' }
    for (const index of [0, 5]) {
      const events = [...block(0, call), ...block(index, call), ...ended('tool_use')]
      const { failure } = await readEvents('messages', events)
      expect(failure?.message).toContain('with the id c was sent twice')
    }
  })

  test.each(['max_output_tokens', 'brand_new'])(
    'a call without arguments, before the last one of an answer that ends with %s, is refused',
    async (reason) => {
      const added = (call_id: string): object => ({
        type: 'response.output_item.added',
        item: { type: 'function_call', call_id, name: 'list_children' },
      })
      const end = { status: 'incomplete', incomplete_details: { reason } }
      const { failure } = await readEvents('responses', [added('a'), added('b'), completed([], end)])
      expect(failure?.message).toContain('the arguments of list_children did not come')
    },
  )

  test('reasoning that a later request could not send back is refused', async () => {
    const thinking = block(0, { type: 'thinking', thinking: true, signature: 'x' })
    const reasoning = { type: 'reasoning', id: [5], encrypted_content: 'x' }
    const answers = [
      await readEvents('messages', [...thinking, ...ended('end_turn')]),
      await readEvents('responses', [completed([reasoning])]),
    ]
    for (const { failure } of answers) expect(failure).toMatchObject({ type: 'invalid_response' })
  })

  test('[DONE] in the line after the last event ends the answer', async () => {
    const joined = `${sse(chunk({ content: half() }, 'stop')).trimEnd()}\ndata: [DONE]\n\n`
    expect(await readChunks('chat', [joined])).toMatchObject({ text: half(), failure: undefined })
  })

  describe('with a line that the standard ignores', () => {
    const [first, rest] = [chunk({ content: 'half ' }), chunk({ content: 'of it' }, 'stop')]
    const json = JSON.stringify(rest)

    test.each([
      ['a byte order mark before each event', `\ufeff${sse(first)}\ufeff${sse(rest)}`],
      ['an indented field', `${sse(first)}  data: ${json}\n\n`],
      ['a field in capitals', `${sse(first)}Data: ${json}\n\n`],
      ['an event without a field', `${sse(first)}${json}\n\n`],
      ['a null event', `${sse('null')}${sse(first)}${sse(rest)}`],
      ['[DONE] as a JSON text', `${sse(first)}${sse(rest)}${sse('"[DONE]"')}`],
      ['[DONE] in small letters', `${sse(first)}${sse(rest)}${sse('[done]')}`],
    ])('no text is lost: %s', async (_, sent) => {
      for (const chunks of [[sent], [...sent]])
        expect(await readChunks('chat', chunks)).toMatchObject({
          text: 'half of it',
          stop: 'end',
          incomplete: undefined,
          failure: undefined,
        })
    })

    test('a byte order mark in the text stays', async () => {
      const sent = sse(chunk({ content: 'a\ufeffb' }, 'stop'))
      for (const chunks of [[sent], [...sent]])
        expect(await readChunks('chat', chunks)).toMatchObject({ text: 'a\ufeffb' })
    })

    test('an error without a field keeps its words', async () => {
      const { failure } = await readChunks('chat', [
        `${sse(first)}${JSON.stringify({ error: { message: 'upstream died' } })}\n`,
      ])
      expect(failure).toMatchObject({
        type: 'server_error',
        message: expect.stringContaining('upstream died'),
      })
    })
  })

  test('calls with one id are not made again by the whole message', async () => {
    const calls = [shell('x', 'ls', 0), shell('x', 'pwd', 1)]
    const whole = { choices: [{ message: { tool_calls: [shell('x', 'ls'), shell('x', 'pwd')] } }] }
    expect(await inputs('chat', [...calls.map(callChunk), whole, chunk({}, 'tool_calls')])).toHaveLength(2)
  })

  test('a whole chat message without a finish reason stays, and has the mark of an incomplete one', async () => {
    const whole = { choices: [{ message: { content: half() }, finish_reason: null }] }
    expect(await readChunks('chat', [JSON.stringify(whole)])).toMatchObject({
      text: half(),
      incomplete: 'no stop reason',
    })
  })

  test.each([
    ['chat', [chunk({ content: half() })]],
    ['responses', [{ type: 'response.output_item.done', output_index: 0, item: message(half()) }]],
  ] as [Dialect, object[]][])(
    '[DONE] alone does not say that an answer of %s is complete',
    async (dialect, events) => {
      expect(await readEvents(dialect, [...events, '[DONE]'])).toMatchObject({
        text: half(),
        incomplete: 'no stop reason',
      })
    },
  )

  test.each([' ', '{"choices":['])(
    'a body in JSON (%j) that never ends reaches the limit without an event',
    async (begin) => {
      async function* endless(): AsyncGenerator<string> {
        yield begin
        for (;;) {
          await new Promise((resolve) => setTimeout(resolve, 2))
          yield ' '
        }
      }
      const { failure } = await readChunks('chat', endless(), 20)
      expect(failure).toMatchObject({ type: 'timeout' })
    },
  )

  function half(): string {
    return 'half of the answ'
  }
})

describe('an end', () => {
  const half = 'half of the answ'
  test.each([
    ['chat', 'insufficient_system_resource'],
    ['chat', 'error'],
    ['responses', 'failed'],
    ['messages', 'error'],
  ] as [Dialect, string][])(
    'of %s that is an error (%s) fails, and can be repeated',
    async (dialect, word) => {
      expect((await readEvents(dialect, ending(dialect, word))).failure).toMatchObject({
        type: 'server_error',
      })
    },
  )

  test.each(['chat', 'responses', 'messages'] as const)(
    'of %s that is not known keeps the text and marks it',
    async (dialect) => {
      expect(await readEvents(dialect, ending(dialect, 'brand_new'))).toMatchObject({
        text: half,
        stop: 'end',
        incomplete: 'brand_new',
        failure: undefined,
      })
    },
  )

  test('without a reason is marked too', async () => {
    expect(await readEvents('messages', [...text(0, half), { type: 'message_stop' }])).toMatchObject({
      text: half,
      incomplete: 'no stop reason',
    })
  })

  test.each(['chat', 'responses', 'messages'] as const)(
    'of %s that is not known tells the model so, if a call has no arguments',
    async (dialect) => {
      const call = { type: 'function_call', call_id: 'a', id: 'fc', name: 'list_children', arguments: '' }
      const block = { type: 'tool_use', id: 'a', name: 'list_children', input: {} }
      const events = {
        chat: [chunk({ tool_calls: [{ index: 0, id: 'a', function: call }] }), chunk({}, 'brand_new')],
        responses: [completed([call], { status: 'brand_new' })],
        messages: [
          { type: 'content_block_start', index: 0, content_block: block },
          { type: 'content_block_stop', index: 0 },
          ...ended('brand_new'),
        ],
      }
      const { calls, incomplete } = await readEvents(dialect, events[dialect])
      const message = expect.stringMatching(/unknown way \("brand_new"\).*make the call again/)
      expect(calls).toMatchObject([{ name: 'list_children', arguments_error: { message } }])
      expect(incomplete).toBe('brand_new')
    },
  )

  test('that announces calls and has none is marked', async () => {
    const events = [chunk({ content: half }), chunk({}, 'tool_calls')]
    expect(await readEvents('chat', events)).toMatchObject({ text: half, incomplete: 'tool_calls' })
  })

  test('with the words of an error keeps them', async () => {
    const error = { code: 'server_error', message: 'boom' }
    const { failure } = await readEvents('responses', [completed([], { status: 'failed', error })])
    expect(failure?.message).toContain('boom')
  })

  function ending(dialect: Dialect, word: string): object[] {
    if (dialect === 'chat') return [chunk({ content: half }), chunk({}, word)]
    if (dialect === 'messages') return [...text(0, half), ...ended(word)]
    return [
      { type: 'response.output_text.delta', output_index: 0, delta: half },
      completed([], { status: word }),
    ]
  }
})

describe('framing', () => {
  const all = [chunk({ content: 'all' }), chunk({}, 'stop')]
  test.each<[string, Dialect, string[]]>([
    ['a byte order mark', 'chat', [`\ufeff${sse(all[0])}`, sse(all[1])]],
    ['no empty line after the last event', 'chat', [sse(all[0]), sse(all[1]).trimEnd()]],
    ['no empty line between events', 'chat', [sse(all[0]).trimEnd(), '\n', sse(all[1])]],
    ['[DONE] instead of a finish reason', 'chat', [sse(all[0]), sse('[DONE]')]],
    ['no [DONE]', 'chat', all.map(sse)],
    [
      'content in parts',
      'chat',
      [
        sse(
          chunk({
            content: [
              { type: 'thinking', thinking: [] },
              { type: 'text', text: 'all' },
            ],
          }),
        ),
        sse(all[1]),
      ],
    ],
    [
      'types only in the names of events',
      'responses',
      [
        `event: response.output_text.delta\n${sse({ output_index: 0, delta: 'all' })}`,
        `event: response.completed\n${sse({ response: { output: [message('all')] } })}`,
      ],
    ],
    [
      'an older name of the end',
      'responses',
      [
        sse({ type: 'response.output_text.delta', output_index: 0, delta: 'all' }),
        sse({ type: 'response.done', response: { status: 'completed', output: [] } }),
      ],
    ],
    ['no message_stop', 'messages', [...text(0, 'all'), ended('end_turn')[0]].map(sse)],
  ])('%s does not lose the answer', async (_, dialect, chunks) => {
    expect(await readChunks(dialect, chunks)).toMatchObject({ text: 'all', stop: 'end', failure: undefined })
    // The same bytes, one at a time.
    expect(await readChunks(dialect, [...chunks.join('')])).toMatchObject({ text: 'all', stop: 'end' })
  })

  test.each(['chat', 'responses', 'messages'] as const)(
    'a stream of %s that breaks off is not an answer',
    async (dialect) => {
      const events = {
        chat: [all[0]],
        responses: [{ type: 'response.output_text.delta', output_index: 0, delta: 'half' }],
        messages: text(0, 'half'),
      }[dialect]
      expect((await readEvents(dialect, events)).failure).toMatchObject({ type: 'unreachable' })
      const part = `${events.map(sse).join('')}data: {"type":"message_stop","choices":[{"finish_reason":"st`
      expect((await readChunks(dialect, [part])).failure).toMatchObject({ type: 'unreachable' })
    },
  )

  test.each<[string, string, string]>([
    [
      'an event named error',
      'event: error\ndata: {"message":"Upstream died","code":502}\n\n',
      'Upstream died',
    ],
    ['an error in plain text', 'event: error\ndata: Upstream died\n\n', 'Upstream died'],
    ['an error object', sse({ object: 'error', message: 'Upstream died', code: 500 }), 'Upstream died'],
    ['an error in a list', sse([{ error: { message: 'Upstream died' } }]), 'Upstream died'],
    [
      'an error in a choice',
      sse({ choices: [{ error: { message: 'Upstream died' }, delta: {} }] }),
      'Upstream died',
    ],
    ['an error without known fields', sse({ error: { why: 'Upstream died' } }), 'Upstream died'],
    [
      'an error in the text of another',
      sse({ error: { message: '{"error":{"message":"Upstream died"}}' } }),
      'Upstream died',
    ],
    [
      'an error of a provider behind it',
      sse({ error: { message: 'Provider returned error', metadata: { raw: 'Upstream died' } } }),
      'Upstream died',
    ],
  ])('%s keeps the words of the server', async (_, event, words) => {
    const { failure } = await readChunks('chat', [sse(all[0]), event])
    expect(failure?.message).toContain(words)
    if (!event.includes('why')) expect(failure?.message).not.toContain('{"error"')
  })
})
