/** The parts of requests and replies that the OpenAI API and an agent do not have in common. */
import { APIError, BadRequestError, NotFoundError } from 'openai'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { waitFor } from '../support/wait.js'
import { clientOf, rejection, user } from './openai-client.js'
import { Served } from './support.js'

describe.concurrent('text before a tool call', () => {
  const responses = [
    { say: 'I look.', tools: [{ name: 'shell', input: { command: 'true' } }] },
    { say: 'Done.' },
  ]

  test('is a paragraph of a streamed chat, and not of its reply', async () => {
    const house = new House()
    await house.spawn('a', '--allow', 'shell', '-o', house.scenario('s.json', ...responses, ...responses))
    const served = await Served.start(house)
    const client = clientOf(served)
    const body = { model: 'a', messages: user('hi') }
    const stream = await client.chat.completions.create({
      ...body,
      stream: true,
      stream_options: { include_usage: true },
    })
    let text = ''
    const ends: unknown[] = []
    for await (const { choices, usage } of stream) {
      text += choices[0]?.delta.content ?? ''
      if (choices[0]?.finish_reason) ends.push(choices[0].finish_reason)
      if (usage) ends.push(usage.total_tokens)
    }
    expect(text).toBe('I look.\n\nDone.')
    expect(ends).toEqual(['stop', expect.any(Number)])
    const whole = await client.chat.completions.create(body)
    expect(whole.choices[0]?.message.content).toBe('Done.')
    expect(whole.usage?.total_tokens).toBe(ends[1])
    await served.stop()
  })

  test('is an item of a streamed response, whose final response has only the reply', async () => {
    const house = new House()
    await house.spawn('a', '--allow', 'shell', '-o', house.scenario('s.json', ...responses))
    const served = await Served.start(house)
    const stream = clientOf(served).responses.stream({ model: 'a', input: 'hi', metadata: { place: 'here' } })
    const items: unknown[] = []
    stream.on('event', (event) => {
      if (event.type === 'response.output_item.done' && event.item.type === 'message')
        items.push([event.output_index, event.item.phase, event.item.content])
    })
    const final = await stream.finalResponse()
    expect(items).toMatchObject([
      [0, 'commentary', [{ text: 'I look.' }]],
      [1, 'final_answer', [{ text: 'Done.' }]],
    ])
    expect(final).toMatchObject({ status: 'completed', output_text: 'Done.', metadata: { place: 'here' } })
    await served.stop()
  })
})

describe.concurrent('a request', () => {
  test('for a part of the OpenAI API that no agent has is refused in the form that its clients show', async () => {
    const house = new House()
    await house.spawn('a')
    const served = await Served.start(house)
    const client = clientOf(served)
    const refused = await Promise.all([
      rejection(client.embeddings.create({ model: 'a', input: 'hi' })),
      rejection(client.completions.create({ model: 'a', prompt: 'hi' })),
      rejection(client.files.list()),
      rejection(client.chat.completions.retrieve('chatcmpl-1')),
      rejection(client.responses.retrieve('resp_1')),
    ])
    for (const error of refused) {
      expect(error).toBeInstanceOf(NotFoundError)
      expect(error).toMatchObject({
        code: 'unknown_url',
        type: 'invalid_request_error',
        message: expect.stringMatching(/there is no \/v1\/\w+/),
      })
    }
    expect(await rejection(client.get('/chat/completions'))).toMatchObject({
      status: 405,
      message: expect.stringContaining('does not take GET'),
    })
    const ours = await served.fetch('/v1/agents/a/embeddings')
    expect([ours.status, ours.headers.get('content-type')]).toEqual([404, 'application/problem+json'])
    expect(await ours.json()).toMatchObject({ code: 'NO_SUCH_PATH' })
    await served.stop()
  })

  test('lists the agents as models, and shows one below another', async () => {
    const house = new House()
    await house.spawn('lead')
    await house.spawn('tests', '--parent', 'lead')
    await house.spawn('gone')
    await house.ok('terminate', 'gone')
    const served = await Served.start(house)
    const client = clientOf(served)
    const names: string[] = []
    for await (const { id } of client.models.list()) names.push(id)
    expect(names).toEqual(['lead', 'lead/tests'])
    expect(await client.models.retrieve('lead/tests')).toMatchObject({ id: 'lead/tests', object: 'model' })
    expect(await rejection(client.models.retrieve('nobody'))).toBeInstanceOf(NotFoundError)
    const chat = await client.chat.completions.create({ model: 'lead/tests', messages: user('hi') })
    expect(chat).toMatchObject({ model: 'lead/tests', choices: [{ message: { content: 'echo: hi' } }] })
    await served.stop()
  })

  test('that is refused names no flag of a command, but the command that queues the message', async () => {
    const house = new House()
    await house.spawn('gated')
    await house.ok('gate', 'gated')
    const served = await Served.start(house)
    const body = { model: 'gated', messages: user('hi') }
    const error = await rejection(clientOf(served).chat.completions.create(body))
    expect(String(error)).toContain(
      "ungate it: substrat ungate gated; or queue it: substrat send gated --queue '…'",
    )
    await served.stop()
  })

  test('sends the last message of the user only, and ignores settings that belong to the agent', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const served = await Served.start(house)
    const client = clientOf(served)
    const chat = await client.chat.completions.create({
      model: 'a',
      temperature: 0.2,
      max_tokens: 5,
      tools: [{ type: 'function', function: { name: 'f', parameters: {} } }],
      tool_choice: 'auto',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'echo: one' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'two' },
            { type: 'text', text: 'three' },
          ],
        },
        { role: 'developer', content: 'Now.' },
      ],
    })
    expect(chat.choices[0]?.message).toEqual({
      role: 'assistant',
      content: 'echo: two\nthree',
      refusal: null,
    })
    const { output_text } = await client.responses.create({
      model: 'a',
      previous_response_id: 'resp_x',
      input: [
        { role: 'user', content: 'one' },
        { role: 'user', content: [{ type: 'input_text', text: 'four' }] },
      ],
    })
    expect(output_text).toBe('echo: four')
    expect(house.count(id, 'message.user')).toBe(2)
    await served.stop()
  })

  test('that demands more than a reply in text is refused', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const served = await Served.start(house)
    const client = clientOf(served)
    const tools = [{ type: 'function' as const, function: { name: 'f', parameters: {} } }]
    const image = { type: 'image_url' as const, image_url: { url: 'data:,' } }
    const body = { model: 'a', messages: user('hi') }
    const input = { model: 'a', input: 'hi' }
    const refused: [Promise<unknown>, string][] = [
      [client.chat.completions.create({ ...body, n: 2 }), 'n'],
      [client.chat.completions.create({ ...body, tools, tool_choice: 'required' }), 'tool_choice'],
      [
        client.chat.completions.create({ ...body, response_format: { type: 'json_object' } }),
        'response_format',
      ],
      [client.chat.completions.create({ ...body, logprobs: true }), 'logprobs'],
      [client.chat.completions.create({ ...body, modalities: ['audio'] }), 'modalities'],
      [
        client.chat.completions.create({ model: 'a', messages: [{ role: 'user', content: [image] }] }),
        'messages[0].content[0]',
      ],
      [
        client.chat.completions.create({
          model: 'a',
          messages: [...user('hi'), { role: 'tool', tool_call_id: 'c', content: 'x' }],
        }),
        'messages',
      ],
      [client.chat.completions.create({ model: 'a', messages: [] }), 'messages'],
      [client.responses.create({ ...input, background: true }), 'background'],
      [client.responses.create({ ...input, tool_choice: { type: 'web_search_preview' } }), 'tool_choice'],
      [
        client.responses.create({
          model: 'a',
          input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }],
        }),
        'input',
      ],
      [client.responses.create({ ...input, text: { format: { type: 'json_object' } } }), 'text.format'],
      [client.responses.create({ model: 'a' } as never), 'input'],
    ]
    for (const [promise, param] of refused) {
      const error = await rejection(promise)
      expect([param, error]).toEqual([param, expect.any(BadRequestError)])
      expect(error).toMatchObject({ param, type: 'invalid_request_error' })
    }
    expect(house.count(id, 'run.started')).toBe(0)
    await served.stop()
  })

  test('for an agent that asks a question says the question and the command that answers', async () => {
    const house = new House()
    const ask = { tools: [{ name: 'ask_operator', input: { question: 'Which colour?' } }] }
    await house.spawn('a', '-o', house.scenario('s.json', ask, { say: 'Blue it is.' }))
    const served = await Served.start(house)
    const client = clientOf(served)
    const body = { model: 'a', messages: user('paint') }
    expect(String(await rejection(client.chat.completions.create(body)))).toContain(
      "it asks Which colour?; decide on the page of the server or with: substrat answer a '…'",
    )
    await house.ok('answer', 'a', 'blue')
    await served.stop()
  })

  test('that ends early because the server stops says so, and the turn continues', async () => {
    const house = new House()
    const gates = [new Gate(house, 'one'), new Gate(house, 'two')]
    const ids = await Promise.all(gates.map((gate, index) => house.spawn(`a${index}`, ...gate.flags)))
    const served = await Served.start(house)
    const client = clientOf(served)
    const asked = rejection(client.chat.completions.create({ model: 'a0', messages: user('hi') }))
    const stream = await client.chat.completions.create({ model: 'a1', messages: user('hi'), stream: true })
    const streamed = rejection(
      (async () => {
        for await (const _ of stream);
      })(),
    )
    await Promise.all(gates.map((gate) => gate.isReached()))
    await served.stop()
    expect(await asked).toMatchObject({ status: 503, code: 'SERVER_BUSY' })
    expect(await streamed).toBeInstanceOf(APIError)
    expect(String(await streamed)).toContain('the server stops; the turn continues')
    for (const [index, gate] of gates.entries()) {
      gate.open()
      await house.waitForRecord(ids[index] as string, 'run.completed')
    }
  })

  test('whose client goes away does not stop the turn', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const served = await Served.start(house)
    const stream = await clientOf(served).chat.completions.create({
      model: 'a',
      messages: user('hi'),
      stream: true,
    })
    stream.controller.abort()
    await gate.isReached()
    gate.open()
    await house.waitForRecord(id, 'run.completed')
    await waitFor(async () => (await served.fetch('/v1/models')).ok, 'the server')
    await served.stop()
  })
})
