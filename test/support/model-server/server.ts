/**
 * A model server on the loopback: the Messages API, the Responses API and Chat Completions over real HTTP, driven by a
 * scenario. It is as strict as the real ones: it refuses with 400 what they refuse with 400, and counts the refusals.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { anthropic } from './anthropic.js'
import { type Bindings, bind, bindingRefusal } from './bound.js'
import { chat } from './chat.js'
import { DEFAULT_MESSAGE, type Dialect, isObject, type Json, type SentEvent } from './dialect.js'
import { type Issued, reasoningIn } from './reasoning.js'
import { responses } from './responses.js'
import { answerFor, type ErrorKind, type Fault, type Scenario, type ScriptedAnswer } from './scenario.js'

interface RecordedRequest {
  api: Api
  headers: IncomingHttpHeaders
  body: Json
  /** The number of requests with this history, from 1. */
  attempt: number
  /** The number of responses in the history before this one. */
  place: number
  status: number
  /** The message of a 400 for an invalid request. */
  refusal?: string
  /** Set once the answer is sent or abandoned. */
  isOver?: boolean
  /** In `performance.now()` time, if the client hung up before the end. */
  hungUpAt?: number
}

export interface ModelServer {
  /** Without a path it is the base URL of the Messages API; with `/v1`, that of the others. */
  url: string
  port: number
  requests: RecordedRequest[]
  /** Histories that a real API would have refused. */
  refusals(): string[]
  /** The reasoning of the latest answer with reasoning and calls, and that in the latest request. */
  reasoning(): { sent: Json[]; received: Json[] }
  connections: number
  setScenario(scenario: Scenario | AnswerFunction): void
  close(): Promise<void>
}

export type AnswerFunction = (request: RecordedRequest) => ScriptedAnswer
export type Api = 'messages' | 'responses' | 'chat'

export interface ModelServerOptions {
  port?: number
  tls?: { key: string; cert: string }
}

const DIALECTS: Record<string, [api: Api, dialect: Dialect]> = {
  '/v1/messages': ['messages', anthropic],
  '/v1/responses': ['responses', responses],
  '/v1/chat/completions': ['chat', chat],
}
const CHARACTERS_PER_TOKEN = 4

export async function startModelServer(
  scenario: Scenario | AnswerFunction = { responses: [] },
  options: ModelServerOptions = {},
): Promise<ModelServer> {
  const state: State = { scenario, requests: [], attempts: new Map(), issued: new Map(), bindings: new Map() }
  const sockets = new Set<Socket>()
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    serve(state, request, response).catch((error: unknown) => response.destroy(error as Error))
  }
  const server = options.tls === undefined ? createServer(handle) : createSecureServer(options.tls, handle)
  server.on('connection', (socket: Socket) => {
    result.connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const result: ModelServer = {
    url: `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    requests: state.requests,
    refusals: () => state.requests.flatMap(({ refusal }) => (refusal === undefined ? [] : [refusal])),
    reasoning: () => ({
      sent: reasoningIn([...state.issued.values()].at(-1)),
      received: reasoningIn(state.requests.at(-1)?.body),
    }),
    connections: 0,
    setScenario(next) {
      state.scenario = next
    },
    close() {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
  return result
}

interface State {
  scenario: Scenario | AnswerFunction
  requests: RecordedRequest[]
  attempts: Map<string, number>
  issued: Issued
  bindings: Bindings
}

/** Both vendors answer in this form; only Anthropic gives a name for people. The key `wrong` is refused. */
/** Anthropic's list has a page for each model. */
const CLAUDES = ['large', 'medium', 'small'].map((size) => ({
  type: 'model',
  id: `claude-${size}`,
  display_name: `Claude ${size}`,
}))

function sendModels({ headers, url = '' }: IncomingMessage, response: ServerResponse): void {
  const isAnthropic = headers['anthropic-version'] !== undefined
  const key = isAnthropic ? headers['x-api-key'] : headers.authorization?.replace(/^Bearer /, '')
  const error = { message: 'Incorrect API key provided.', type: 'authentication_error' }
  if (key === undefined || key === 'wrong') sendJson(response, 401, { error })
  else if (isAnthropic) sendJson(response, 200, pageAfter(new URL(url, 'http://host').searchParams))
  else
    sendJson(response, 200, {
      object: 'list',
      data: ['gpt-small', 'gpt-large'].map((id) => ({ object: 'model', id })),
    })
}

function pageAfter(query: URLSearchParams): object {
  const index = CLAUDES.findIndex(({ id }) => id === query.get('after_id')) + 1
  const model = CLAUDES[index]
  return { data: [model], has_more: index + 1 < CLAUDES.length, first_id: model?.id, last_id: model?.id }
}

async function serve(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url ?? ''
  if (path === '/__requests') return sendJson(response, 200, recordsWithoutKeys(state.requests))
  if (request.method === 'GET' && path.replace(/\?.*$/, '') === '/v1/models')
    return sendModels(request, response)
  const [api, dialect] = DIALECTS[path] ?? []
  const text = await bodyOf(request)
  if (api === undefined || dialect === undefined || request.method !== 'POST') {
    return sendJson(response, 404, {
      error: { message: `no such path: ${path}`, type: 'invalid_request_error' },
    })
  }
  const body = parsed(text)
  const attempt = (state.attempts.get(path + text) ?? 0) + 1
  state.attempts.set(path + text, attempt)
  const record: RecordedRequest = {
    api,
    headers: request.headers,
    body: body ?? {},
    attempt,
    place: body === undefined ? 0 : dialect.responsesIn(body),
    status: 200,
  }
  state.requests.push(record)
  response.on('close', () => {
    record.isOver = true
    if (!response.writableFinished) record.hungUpAt = performance.now()
  })
  const scenario = typeof state.scenario === 'function' ? { responses: [] } : state.scenario
  const isBound = scenario.is_bound === true
  const unbound = isBound ? bindingRefusal(state.bindings, record.body, state.issued) : undefined
  if (unbound !== undefined) return sendError(record, response, dialect, 'unbound', unbound, {})
  const refusal = refusalOf(record, dialect, body, text.length, scenario, state.issued)
  if (refusal !== undefined) {
    const [kind, message] = refusal
    if (kind === 'invalid') record.refusal = message
    return sendError(record, response, dialect, kind, message, {})
  }
  const latest = dialect.latestUserText(record.body)
  const answer =
    typeof state.scenario === 'function'
      ? answerFor({ responses: [], rules: [{ includes: '', ...state.scenario(record) }] }, 0, latest)
      : answerFor(scenario, record.place, latest)
  await perform(record, response, dialect, answer, state.issued, isBound ? state.bindings : undefined)
}

function refusalOf(
  { headers }: RecordedRequest,
  dialect: Dialect,
  body: Json | undefined,
  characters: number,
  { key, context_tokens_max = Number.POSITIVE_INFINITY }: Scenario,
  issued: Issued,
): [ErrorKind, string] | undefined {
  const given = dialect.keyOf(headers)
  if (key !== undefined && given !== key) {
    // OpenAI repeats the key in the message, so this server does too.
    return ['authentication', `Incorrect API key provided: ${given ?? 'none'}.`]
  }
  if (dialect === anthropic && headers['anthropic-version'] === undefined) {
    return ['invalid', 'anthropic-version: header is required']
  }
  if (!headers['content-type']?.startsWith('application/json'))
    return ['invalid', 'content-type is not application/json']
  if (body === undefined) return ['invalid', 'the body is no JSON object']
  const message = dialect.refusal(body, issued)
  if (message !== undefined) return ['invalid', message]
  const tokens = Math.ceil(characters / CHARACTERS_PER_TOKEN)
  if (tokens <= context_tokens_max) return undefined
  return [
    'overflow',
    dialect === anthropic
      ? `prompt is too long: ${tokens} tokens > ${context_tokens_max} maximum`
      : `This model's maximum context length is ${context_tokens_max} tokens. However, your messages resulted in ${tokens} tokens.`,
  ]
}

async function perform(
  record: RecordedRequest,
  response: ServerResponse,
  dialect: Dialect,
  answer: ScriptedAnswer,
  issued: Issued,
  bindings: Bindings | undefined,
): Promise<void> {
  const fault =
    record.attempt <= (answer.fault?.attempts ?? Number.POSITIVE_INFINITY) ? answer.fault : undefined
  if (answer.delay_ms !== undefined) await sleep(answer.delay_ms)
  if (fault?.error !== undefined && fault.after_events === undefined) {
    return sendError(record, response, dialect, fault.error, fault.message, fault.headers)
  }
  const all = dialect.events(answer, record.place, record.body, issued)
  if (bindings !== undefined)
    bind(
      bindings,
      record.body,
      all.map(({ data }) => data),
    )
  const events = withFault(all, fault, dialect)
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', ...fault?.headers })
  response.flushHeaders()
  for (const { name, data } of events) {
    if (response.destroyed) return
    response.write(`${name === undefined ? '' : `event: ${name}\n`}data: ${data}\n\n`)
    if (answer.event_delay_ms !== undefined) await sleep(answer.event_delay_ms)
  }
  if (fault?.stream === 'stall') return
  if (answer.end_delay_ms !== undefined) await sleep(answer.end_delay_ms)
  if (fault?.stream === 'cut') await cut(response)
  else response.end()
}

function withFault(events: SentEvent[], fault: Fault | undefined, dialect: Dialect): SentEvent[] {
  if (fault?.after_events === undefined) return events
  const first = events.slice(0, fault.after_events)
  if (fault.raw_event !== undefined)
    return [...first, { data: fault.raw_event }, ...events.slice(fault.after_events)]
  return fault.error === undefined
    ? first
    : [...first, dialect.errorEvent(fault.error, fault.message ?? DEFAULT_MESSAGE[fault.error])]
}

/** Flushes first: the client must see an answer that ends in the middle. */
async function cut(response: ServerResponse): Promise<void> {
  await sleep(20)
  response.socket?.destroy()
}

function sendError(
  record: RecordedRequest,
  response: ServerResponse,
  dialect: Dialect,
  kind: ErrorKind,
  message: string = standardMessage(dialect, kind),
  headers: Record<string, string> = {},
): void {
  const { status, body } = dialect.error(kind, message)
  record.status = status
  sendJson(response, status, body, headers)
}

function standardMessage(dialect: Dialect, kind: ErrorKind): string {
  if (kind === 'overflow') {
    return dialect === responses
      ? 'Your input exceeds the context window of this model. Please adjust your input and try again.'
      : dialect === chat
        ? "This model's maximum context length is 128000 tokens. However, your messages resulted in 140000 tokens."
        : 'prompt is too long: 208310 tokens > 200000 maximum'
  }
  if (kind === 'quota' && dialect === anthropic)
    return 'Your credit balance is too low to access the Anthropic API.'
  return DEFAULT_MESSAGE[kind]
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  request.setEncoding('utf8')
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}

function parsed(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function recordsWithoutKeys(requests: RecordedRequest[]): unknown[] {
  return requests.map(({ headers, ...rest }) => {
    const { authorization, 'x-api-key': key, ...others } = headers
    return { ...rest, headers: others, has_key: authorization !== undefined || key !== undefined }
  })
}
