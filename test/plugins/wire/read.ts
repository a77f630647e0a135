/** Reads the bytes of an answer in process, as the providers do. */
import type { ModelEvent, ToolCall } from '../../../src/provider/contract.js'
import { pluginPart } from '../plugin-part.js'

type Wire = { [key: string]: unknown }
type Reader = (events: AsyncIterable<Wire>, endpoint: object) => AsyncIterable<ModelEvent>

export type Dialect = 'messages' | 'responses' | 'chat'

const [{ readAnswer, isLast: isLastMessage }, { readChat }, { readResponses, isLast }, { wireEvents }] =
  await Promise.all([
    pluginPart<{ readAnswer: Reader; isLast(event: Wire): boolean }>('provider-anthropic/src/answer'),
    pluginPart<{ readChat: Reader }>('provider-openai/src/chat-answer'),
    pluginPart<{ readResponses: Reader; isLast(event: Wire): boolean }>(
      'provider-openai/src/responses-answer',
    ),
    pluginPart<{ wireEvents(chunks: AsyncIterable<string>, options: object): AsyncIterable<Wire> }>(
      'shared/src/model/stream',
    ),
  ])

const READERS = {
  messages: { read: readAnswer, isLast: isLastMessage },
  responses: { read: readResponses, isLast },
  chat: { read: readChat, isLast: () => false },
}

const ENDPOINT = { url: new URL('http://model.test/v1'), stallTimeoutMs: 1000, eventTimeoutMs: 1000 }

export interface Answer {
  text: string
  calls: ToolCall[]
  stop: string | undefined
  incomplete: string | undefined
  /** The failure, if the answer was refused. */
  failure: { type: string; message: string } | undefined
}

/** An answer of these chunks. */
export async function readChunks(
  dialect: Dialect,
  chunks: Iterable<string> | AsyncIterable<string>,
  eventTimeoutMs = 1000,
): Promise<Answer> {
  const { read, isLast } = READERS[dialect]
  const events: ModelEvent[] = []
  let failure: Answer['failure']
  try {
    const options = { target: 'model.test', isLast, eventTimeoutMs }
    for await (const event of read(wireEvents(each(chunks), options), ENDPOINT)) events.push(event)
  } catch (error) {
    const { failure: facts, message } = error as Error & { failure?: { type: string } }
    if (facts === undefined) throw error
    failure = { type: facts.type, message }
  }
  const stop = events.find((event) => event.type === 'stop')
  return {
    text: events.map((event) => (event.type === 'text' ? event.text : '')).join(''),
    calls: events.flatMap((event) => (event.type === 'tool_call' ? [event.call] : [])),
    stop: stop?.reason ?? (events.at(-1) as { type?: string } | undefined)?.type,
    incomplete: stop?.incomplete,
    failure,
  }
}

/** The same, of these events. */
export function readEvents(dialect: Dialect, events: unknown[]): Promise<Answer> {
  return readChunks(dialect, events.map(sse))
}

export function sse(event: unknown): string {
  return `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`
}

async function* each(chunks: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string> {
  yield* chunks
}
