/** The endpoint in the form of the OpenAI API, used by OpenAI's own client over a socket. */
import OpenAI, {
  AuthenticationError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  UnprocessableEntityError,
} from 'openai'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { clientOf, rejection, user } from './openai-client.js'
import { Served } from './support.js'

const SHELL = { tools: [{ name: 'shell', input: { command: 'echo hi > made' } }] }

const keyed = (key: string) => ({ headers: { 'Idempotency-Key': key } })

/** One request in both APIs: each gives the text of the reply. */
const APIS = [
  {
    api: 'chat completions',
    async ask(client: OpenAI, model: string, content: string, options = {}): Promise<string> {
      const { choices } = await client.chat.completions.create({ model, messages: user(content) }, options)
      return choices[0]?.message.content ?? ''
    },
    async stream(
      client: OpenAI,
      model: string,
      content: string,
      options = {},
    ): Promise<AsyncIterable<string>> {
      const body = { model, messages: user(content), stream: true as const }
      const stream = await client.chat.completions.create(body, options)
      return (async function* () {
        for await (const { choices } of stream) yield choices[0]?.delta.content ?? ''
      })()
    },
  },
  {
    api: 'responses',
    async ask(client: OpenAI, model: string, content: string, options = {}): Promise<string> {
      return (await client.responses.create({ model, input: content }, options)).output_text
    },
    async stream(
      client: OpenAI,
      model: string,
      content: string,
      options = {},
    ): Promise<AsyncIterable<string>> {
      const stream = await client.responses.create({ model, input: content, stream: true }, options)
      return (async function* () {
        for await (const event of stream) {
          if (event.type === 'response.output_text.delta') yield event.delta
          if (event.type === 'response.failed') throw new Error(event.response.error?.message)
        }
      })()
    },
  },
]

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}

describe.concurrent.each(APIS)('a message through $api', ({ ask, stream }) => {
  test('is answered with the reply, also in pieces, and is an ordinary message', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const served = await Served.start(house)
    const client = clientOf(served)
    const content = `--help "\u2028" \u{1f600}\n`
    expect(await ask(client, 'a', content)).toBe(`echo: ${content}`)
    expect(await textOf(await stream(client, 'a', content))).toBe(`echo: ${content}`)
    expect(house.count(id, 'run.completed')).toBe(2)
    expect(house.records(id)).toContainEqual(expect.objectContaining({ kind: 'message.user', content }))
    await served.stop()
  })

  test('with a repeated key has one turn and one reply; two equal messages without a key are two', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const served = await Served.start(house)
    const client = clientOf(served)
    const replies = [
      await ask(client, 'a', 'yes', keyed('k')),
      await ask(client, 'a', 'yes', keyed('k')),
      await textOf(await stream(client, 'a', 'yes', keyed('k'))),
    ]
    expect(replies).toEqual(['echo: yes', 'echo: yes', 'echo: yes'])
    expect(house.count(id, 'run.started')).toBe(1)
    await ask(client, 'a', 'yes')
    await ask(client, 'a', 'yes')
    expect(house.count(id, 'run.started')).toBe(3)
    const other = await rejection(ask(client, 'a', 'no', keyed('k')))
    expect(other).toBeInstanceOf(UnprocessableEntityError)
    expect(other).toMatchObject({ status: 422, code: 'KEY_CONFLICT', type: 'invalid_request_error' })
    expect(await rejection(stream(client, 'a', 'no', keyed('k')))).toBeInstanceOf(UnprocessableEntityError)
    await served.stop()
  })

  test('streams text before the turn has ended', async () => {
    const house = new House()
    const id = await house.spawn(
      'a',
      '-o',
      house.scenario('s.json', { pieces: [{ say: 'It ' }, { say: 'builds.', after_file: 'go' }] }),
    )
    const served = await Served.start(house)
    const pieces: string[] = []
    for await (const piece of await stream(clientOf(served), 'a', 'hi')) {
      if (piece === '') continue
      if (pieces.length === 0) expect(house.count(id, 'run.completed')).toBe(0)
      pieces.push(piece)
      house.write('go', '')
    }
    expect(pieces).toEqual(['It ', 'builds.'])
    await served.stop()
  })

  test('whose server is killed has its turn, and repeated with the key, its reply', async () => {
    const house = new House()
    const gates = [new Gate(house, 'one'), new Gate(house, 'two')]
    const ids = await Promise.all(gates.map((gate, index) => house.spawn(`a${index}`, ...gate.flags)))
    const served = await Served.start(house)
    const client = new OpenAI({ baseURL: `${served.url}/v1`, apiKey: served.token, maxRetries: 0 })
    const asked = rejection(ask(client, 'a0', 'hi', keyed('k')))
    const streamed = rejection(stream(client, 'a1', 'hi', keyed('k')).then(textOf))
    await Promise.all(gates.map((gate) => gate.isReached()))
    await served.running.kill('SIGKILL')
    expect(await asked).toBeInstanceOf(Error)
    expect(await streamed).toBeInstanceOf(Error)
    const again = await Served.start(house, '--listen', `127.0.0.1:${served.port}`)
    const replies = Promise.all([
      ask(client, 'a0', 'hi', keyed('k')),
      stream(client, 'a1', 'hi', keyed('k')).then(textOf),
    ])
    for (const gate of gates) gate.open()
    expect(await replies).toEqual(['done: hi', 'done: hi'])
    for (const id of ids)
      expect([house.count(id, 'run.started'), house.count(id, 'run.interrupted')]).toEqual([1, 0])
    await again.stop()
  })

  test('whose turn is killed with the server is continued by the repeated key', async () => {
    const house = new House()
    const id = await house.spawn('a', '-o', house.scenario('s.json', { say: 'built', after_file: 'go' }))
    const served = await Served.start(house)
    const client = new OpenAI({ baseURL: `${served.url}/v1`, apiKey: served.token, maxRetries: 0 })
    const asked = rejection(ask(client, 'a', 'hi', keyed('k')))
    await house.waitForRecord(id, 'model.requested')
    const [started] = house.records(id).filter((record) => record.kind === 'run.started')
    await served.running.kill('SIGKILL')
    process.kill(Number((started as { boot_id: string }).boot_id.split('/')[2]), 'SIGKILL')
    await asked
    house.write('go', '')
    const again = await Served.start(house, '--listen', `127.0.0.1:${served.port}`)
    expect(await ask(client, 'a', 'hi', keyed('k'))).toBe('built')
    expect(await textOf(await stream(client, 'a', 'hi', keyed('k')))).toBe('built')
    expect([house.count(id, 'message.user'), house.count(id, 'run.completed')]).toEqual([1, 1])
    await again.stop()
  })

  test('to an agent that works is refused at once, and is not delivered later', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const served = await Served.start(house)
    const client = new OpenAI({ baseURL: `${served.url}/v1`, apiKey: served.token, maxRetries: 0 })
    const first = ask(client, 'a', 'one')
    await gate.isReached()
    for (const refused of [
      await rejection(ask(client, 'a', 'two')),
      await rejection(stream(client, 'a', 'two')),
    ]) {
      expect(refused).toBeInstanceOf(RateLimitError)
      expect(refused).toMatchObject({ status: 429, code: 'LOCKED', type: 'rate_limit_error' })
      expect((refused as Error).message).toContain('a runs a turn; the message was not delivered')
    }
    // A client that repeats such requests by itself, as it does by default, delivers it once the agent is free.
    const second = ask(clientOf(served), 'a', 'two')
    gate.open()
    expect(await first).toBe('done: one')
    gate.open()
    expect(await second).toBe('done: two')
    expect(house.count(id, 'run.started')).toBe(2)
    expect(house.inbox(id)).toEqual([])
    await served.stop()
  })

  test('whose turn needs an approval says so, and has its reply once it is decided', async () => {
    const house = new House()
    const id = await house.spawn('a', '-o', house.scenario('s.json', SHELL, { say: 'made it' }))
    const served = await Served.start(house)
    const client = clientOf(served)
    const waits = await rejection(ask(client, 'a', 'make', keyed('k')))
    expect(waits).toBeInstanceOf(ConflictError)
    expect(waits).toMatchObject({ status: 409, code: 'WAITING' })
    expect((waits as Error).message).toBe(
      '409 the turn of a waits for a person: it asks to run shell: echo hi > made; decide on the page of the server or with: substrat approve a, or substrat deny a; its reply comes when you repeat the request with the same Idempotency-Key',
    )
    const later = await rejection(stream(client, 'a', 'next').then(textOf))
    expect(later).toBeInstanceOf(ConflictError)
    expect((later as Error).message).toContain('send the message again: it was not delivered')
    const streamed = await rejection(stream(client, 'a', 'make', keyed('k')).then(textOf))
    expect((streamed as Error).message).toContain('waits for a person')
    await house.ok('approve', 'a')
    expect(await ask(client, 'a', 'make', keyed('k'))).toBe('made it')
    expect(await textOf(await stream(client, 'a', 'make', keyed('k')))).toBe('made it')
    expect(house.count(id, 'run.started')).toBe(1)
    await served.stop()
  })

  test('whose turn fails is an error, and the client does not send it again by itself', async () => {
    const house = new House()
    const id = await house.spawn(
      'a',
      '-o',
      house.scenario('s.json', { fail: { type: 'invalid', attempts: 9 } }),
    )
    const served = await Served.start(house)
    const client = clientOf(served)
    const failed = await rejection(ask(client, 'a', 'hi'))
    expect(failed).toBeInstanceOf(InternalServerError)
    expect(failed).toMatchObject({ status: 502, code: 'PROVIDER_FAILED', type: 'server_error' })
    const streamed = await rejection(stream(client, 'a', 'hi').then(textOf))
    expect((streamed as Error).message).toContain('the turn of a failed')
    expect(house.count(id, 'run.started')).toBe(2)
    await served.stop()
  })

  test('to an agent that does not exist, with another token, or to a server that only reads is an error', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const served = await Served.start(house, '--read-only')
    const log = house.log(id)
    const client = clientOf(served)
    const readOnly = await rejection(ask(client, 'a', 'hi'))
    expect(readOnly).toBeInstanceOf(PermissionDeniedError)
    expect(readOnly).toMatchObject({ status: 403, code: 'READ_ONLY' })
    const wrong = await rejection(ask(clientOf(served, 'sk-wrong'), 'a', 'hi'))
    expect(wrong).toBeInstanceOf(AuthenticationError)
    expect(wrong).toMatchObject({ status: 401, code: 'invalid_api_key' })
    expect(house.log(id)).toBe(log)
    await served.stop()
    const writing = await Served.start(house)
    for (const send of [ask, stream]) {
      const missing = await rejection(send(clientOf(writing), 'nobody', 'hi') as Promise<unknown>)
      expect(missing).toBeInstanceOf(NotFoundError)
      expect(missing).toMatchObject({ status: 404, code: 'model_not_found', param: 'model' })
    }
    await writing.stop()
  })
})
