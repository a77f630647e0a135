/**
 * The readers of answers and the builders of requests, as the plugins have them. They are bundled apart, because the plugins are
 * packages of their own. A defect replaces a part of their source.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { build } from 'esbuild'
import type { ModelEvent, ModelMessage, ToolCall } from '../../src/provider/contract.js'

export type Dialect = 'messages' | 'responses' | 'chat'
export const DIALECTS: Dialect[] = ['messages', 'responses', 'chat']

/** The answer as a reader read it. */
export interface Answer {
  text: string
  calls: ToolCall[]
  items: { [key: string]: unknown }[]
  /** The reason of the stop; undefined without a stop. */
  stop: string | undefined
  incomplete: string | undefined
  /** The failure, if the answer was refused. */
  failure: { type: string; message: string } | undefined
}

export interface Readers {
  /** Reads the bytes of an answer, which come in these chunks. */
  read(
    dialect: Dialect,
    chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
    eventTimeoutMs: number,
  ): Promise<Answer>
  /** Asks a server for an answer. */
  ask(dialect: Dialect, url: URL, eventTimeoutMs: number): Promise<Answer>
  /** The body of the next request with this history. */
  body(dialect: Dialect, history: ModelMessage[]): Record<string, unknown>
}

type Wire = { [key: string]: unknown }
type Read = (events: AsyncIterable<Wire>, endpoint: object) => AsyncIterable<ModelEvent | { type: 'paused' }>
type Body = (request: object, settings: object) => Record<string, unknown>
interface Sources {
  readAnswer: Read
  readChat: Read
  readResponses: Read
  isLastMessage(event: Wire): boolean
  isLastResponse(event: Wire): boolean
  wireEvents(chunks: AsyncIterable<string>, options: object): AsyncIterable<Wire>
  ask(options: object): AsyncIterable<Wire>
  messagesBody: Body
  responsesBody: Body
  chatBody: Body
}

const ENTRY = `
export { isLast as isLastMessage, readAnswer } from './provider-anthropic/src/answer.js'
export { messagesBody } from './provider-anthropic/src/body.js'
export { readChat } from './provider-openai/src/chat-answer.js'
export { chatBody } from './provider-openai/src/chat-body.js'
export { isLast as isLastResponse, readResponses } from './provider-openai/src/responses-answer.js'
export { responsesBody } from './provider-openai/src/responses-body.js'
export { ask } from './shared/src/model/ask.js'
export { wireEvents } from './shared/src/model/stream.js'
`

/** Defects that the lab must find. Earlier readers had each of them. */
export const DEFECTS = {
  'calls are joined by their index': {
    file: 'shared/src/model/tool-calls.ts',
    code: "const { call_id = '', item = '', place } = names\n    if (this",
    broken:
      "const { call_id = '', item = '', place } = names\n    const joined = this.calls.find((call) => place !== undefined && call.place === place)\n    if (joined !== undefined) {\n      Object.assign(joined, newCall({ call_id, item, place }, joined.name))\n      this.extend(joined, input)\n      return joined\n    }\n    if (this",
  },
  'an answer without an end counts as complete': {
    file: 'provider-openai/src/chat-answer.ts',
    code: "if (answer.finish === '' && !isMarked && !answer.isWhole) throw cutShort(endpoint, unread)",
    broken: '',
  },
  'an unknown end counts as complete': {
    file: 'shared/src/model/ends.ts',
    code: "?? 'unknown'",
    broken: "?? 'complete'",
  },
  'only pieces of a text are read': {
    file: 'shared/src/model/text-parts.ts',
    code: 'message.isDone = true\n',
    broken: "message.isDone = true\n  return ''\n",
  },
  'deflate is read only with its header': {
    file: 'shared/src/model/decoded.ts',
    code: '& 0x0f) === 8',
    broken: '& 0x0f) >= 0',
  },
  'a redirect with status 307 is not followed': {
    file: 'shared/src/model/redirect.ts',
    code: '[307, 308]',
    broken: '[308]',
  },
} satisfies Record<string, { file: string; code: string; broken: string }>
export type Defect = keyof typeof DEFECTS

const ENDPOINT = {
  url: new URL('http://model.test/v1'),
  stallTimeoutMs: 1000,
  eventTimeoutMs: 1000,
}
const SETTINGS = { endpoint: ENDPOINT, model: 'm', maxTokens: 100, isOpenAI: false, isCached: true }

export async function readersOf(defect?: Defect): Promise<Readers> {
  const sources = await sourcesOf(defect)
  const dialects = {
    messages: { read: sources.readAnswer, isLast: sources.isLastMessage, body: sources.messagesBody },
    responses: { read: sources.readResponses, isLast: sources.isLastResponse, body: sources.responsesBody },
    chat: { read: sources.readChat, isLast: () => false, body: sources.chatBody },
  }
  return {
    async read(dialect, chunks, eventTimeoutMs) {
      const { read, isLast } = dialects[dialect]
      const options = { target: 'model.test', isLast, eventTimeoutMs }
      const bytes = Readable.from(chunks, { objectMode: false }).setEncoding('utf8')
      return answerOf(read(sources.wireEvents(bytes, options), ENDPOINT))
    },
    ask(dialect, url, eventTimeoutMs) {
      const { read, isLast } = dialects[dialect]
      const endpoint = { url, stallTimeoutMs: eventTimeoutMs, eventTimeoutMs }
      const { signal } = new AbortController()
      const events = sources.ask({ endpoint, headers: {}, body: {}, signal, environment: {}, isLast })
      return answerOf(read(events, ENDPOINT))
    },
    body(dialect, history) {
      const request = { messages: () => history, instructions: 'Be brief.', tools: [], prompt: '' }
      return dialects[dialect].body(request, SETTINGS)
    },
  }
}

async function answerOf(events: AsyncIterable<ModelEvent | { type: 'paused' }>): Promise<Answer> {
  const answer: Answer = {
    text: '',
    calls: [],
    items: [],
    stop: undefined,
    incomplete: undefined,
    failure: undefined,
  }
  try {
    for await (const event of events) {
      if (event.type === 'text') answer.text += event.text
      if (event.type === 'tool_call') answer.calls.push(event.call)
      if (event.type === 'item') answer.items.push(event.item)
      if (event.type === 'stop') Object.assign(answer, { stop: event.reason, incomplete: event.incomplete })
      if (event.type === 'paused') answer.stop = 'paused'
    }
  } catch (error) {
    const { failure, message } = error as Error & { failure?: { type: string } }
    // An error without a failure is a bug of the reader.
    if (failure === undefined) throw error
    answer.failure = { type: failure.type, message }
  }
  return answer
}

async function sourcesOf(name: Defect | undefined): Promise<Sources> {
  const plugins = join(dirname(createRequire(import.meta.url).resolve('substrat/package.json')), 'plugins')
  const defect = name === undefined ? undefined : DEFECTS[name]
  const { outputFiles } = await build({
    stdin: { contents: ENTRY, resolveDir: plugins, loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
    plugins: [
      {
        name: 'defect',
        setup({ onLoad }) {
          if (defect === undefined) return
          const filter = new RegExp(`${defect.file.replaceAll('.', '\\.')}$`)
          onLoad({ filter }, ({ path }) => {
            const source = readFileSync(path, 'utf8')
            if (!source.includes(defect.code)) throw new Error(`${defect.file} has no "${defect.code}"`)
            return { contents: source.replace(defect.code, defect.broken), loader: 'ts' }
          })
        },
      },
    ],
  })
  const text = outputFiles.map((file) => file.text).join('')
  return (await import(
    /* @vite-ignore */ `data:text/javascript;base64,${Buffer.from(text).toString('base64')}`
  )) as Sources
}
