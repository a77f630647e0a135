/** `pause_turn`: the answer is sent back with its thinking, and the model continues it. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { JsonObject, ModelEvent, ModelMessage } from '../../../src/provider/contract.js'
import { anthropic, collect, openai, requestFor, textOf, user } from '../support.js'
import { sse } from './read.js'

type Body = { messages: { role: string; content: unknown }[] }

/** A server that answers each request with the next of `answers`, and the last one again. */
async function serve(answers: object[][]): Promise<{ base_url: string; asked: Body[] }> {
  const asked: Body[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    request.on('end', () => {
      const answer = answers[Math.min(asked.length, answers.length - 1)] ?? []
      asked.push(JSON.parse(text) as Body)
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(answer.map(sse).join(''))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { base_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

const THINKING = { type: 'thinking', thinking: 'first, 世界', signature: 'c2lnMQ==' }
const REDACTED = { type: 'redacted_thinking', data: 'b3BhcXVl' }
const LATER = { type: 'thinking', thinking: 'then', signature: 'c2lnMg==' }

/** The events of an answer with these blocks. Thinking comes in pieces, and its signature at its end. */
function message(blocks: { [field: string]: unknown }[], stop_reason: string): object[] {
  const usage = { input_tokens: 10, output_tokens: 3 }
  const events = blocks.flatMap((block, index) => {
    const { type, thinking, signature, text } = block
    const delta = (said: object): object => ({ type: 'content_block_delta', index, delta: said })
    const start = (content_block: object): object => ({ type: 'content_block_start', index, content_block })
    const pieces =
      type === 'thinking'
        ? [
            start({ type, thinking: '', signature: '' }),
            delta({ type: 'thinking_delta', thinking }),
            delta({ type: 'signature_delta', signature }),
          ]
        : type === 'text'
          ? [start({ type, text: '' }), delta({ type: 'text_delta', text })]
          : [start(block)]
    return [...pieces, { type: 'content_block_stop', index }]
  })
  return [
    { type: 'message_start', message: { role: 'assistant', content: [], usage } },
    ...events,
    { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 3 } },
    { type: 'message_stop' },
  ]
}

/** The response as substrat stores it. */
function stored(events: ModelEvent[]): ModelMessage {
  const items = events.flatMap((event): JsonObject[] => (event.type === 'item' ? [event.item] : []))
  return { role: 'assistant', content: textOf(events), tool_calls: [], items }
}

test('an answer that pauses is sent back with its thinking and signatures, as is every later request', async () => {
  const half = { type: 'text', text: 'Half of ' }
  const rest = { type: 'text', text: 'the answer.' }
  const { base_url, asked } = await serve([
    message([THINKING, REDACTED, half], 'pause_turn'),
    message([LATER, rest], 'end_turn'),
  ])
  const events = await collect(anthropic, requestFor({ base_url }, 'go'))
  expect(textOf(events)).toBe('Half of the answer.')
  expect(events.at(-1)).toEqual({ type: 'stop', reason: 'end' })
  expect(events.findLast(({ type }) => type === 'usage')).toMatchObject({
    usage: { input_tokens: 20, output_tokens: 6 },
  })
  // The API refuses a last message that ends in white space.
  const sentBack = [THINKING, REDACTED, { type: 'text', text: 'Half of' }]
  expect(asked.map(({ messages }) => messages.at(-1))).toMatchObject([
    { role: 'user' },
    { role: 'assistant', content: sentBack },
  ])

  const history = [user('go'), stored(events), user('and now?')]
  await collect(anthropic, requestFor({ base_url }, JSON.parse(JSON.stringify(history)) as ModelMessage[]))
  expect(asked.at(-1)?.messages[1]).toMatchObject({
    role: 'assistant',
    content: [THINKING, REDACTED, half, LATER, rest],
  })
})

test('an answer that pauses twice is sent back with all its parts', async () => {
  const [one, two] = [
    { type: 'text', text: 'one' },
    { type: 'text', text: ' two' },
  ]
  const { base_url, asked } = await serve([
    message([THINKING, one], 'pause_turn'),
    message([LATER, two], 'pause_turn'),
    message([{ type: 'text', text: ' three' }], 'end_turn'),
  ])
  expect(textOf(await collect(anthropic, requestFor({ base_url }, 'go')))).toBe('one two three')
  expect(asked.at(-1)?.messages.at(-1)).toMatchObject({ content: [THINKING, one, LATER, two] })
})

test('an answer that pauses before its first word is asked for again: thinking alone cannot be sent back', async () => {
  const { base_url, asked } = await serve([
    message([THINKING], 'pause_turn'),
    message([LATER, { type: 'text', text: 'now' }], 'end_turn'),
  ])
  const events = await collect(anthropic, requestFor({ base_url }, 'go'))
  expect(textOf(events)).toBe('now')
  expect(asked.at(-1)?.messages).toMatchObject([{ role: 'user' }])
  await collect(anthropic, requestFor({ base_url }, [user('go'), stored(events), user('more')]))
  expect(asked.at(-1)?.messages[1]).toMatchObject({ content: [THINKING, LATER, { text: 'now' }] })
})

test('an answer that never ends its pauses ends after 10 of them, marked as incomplete', async () => {
  const { base_url, asked } = await serve([message([{ type: 'text', text: 'x' }], 'pause_turn')])
  const events = await collect(anthropic, requestFor({ base_url }, 'go'))
  expect(events.at(-1)).toEqual({ type: 'stop', reason: 'end', incomplete: 'pause_turn' })
  expect([textOf(events), asked]).toEqual(['x'.repeat(11), expect.objectContaining({ length: 11 })])
})

test.each([
  ['no word', [THINKING]],
  ['only white space', [{ type: 'text', text: '\n' }]],
])('an answer whose pauses have %s is asked for again once, then ends as incomplete', async (_, blocks) => {
  const { base_url, asked } = await serve([message(blocks, 'pause_turn')])
  const events = await collect(anthropic, requestFor({ base_url }, 'go'))
  expect(events.at(-1)).toEqual({ type: 'stop', reason: 'end', incomplete: 'pause_turn' })
  expect(asked).toHaveLength(2)
})

test('Chat Completions of a gateway can pause too', async () => {
  const chunk = (content: string, finish_reason: string): object[] => [
    { choices: [{ delta: { content }, finish_reason }] },
  ]
  const { base_url, asked } = await serve([chunk('half ', 'pause_turn'), chunk('and half', 'stop')])
  expect(textOf(await collect(openai, requestFor({ base_url, api: 'chat' }, 'go')))).toBe('half and half')
  expect(asked.at(-1)?.messages.at(-1)).toEqual({ role: 'assistant', content: 'half' })
})
