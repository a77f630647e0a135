/**
 * A loopback model for real agent programs. It serves the three APIs with the events of the test model server, but
 * without its strictness, because these programs send far more than substrat does.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { anthropic } from '../../test/support/model-server/anthropic.js'
import { chat } from '../../test/support/model-server/chat.js'
import { type Dialect, isObject, type Json, objects } from '../../test/support/model-server/dialect.js'
import { responses } from '../../test/support/model-server/responses.js'
import type { ScriptedAnswer } from '../../test/support/model-server/scenario.js'

/** A request of a program, independent of its API. */
export interface Asked {
  /** Every user text of the history, oldest first, including tool results. */
  texts: string[]
  /** The latest of them that is not a tool result. */
  latest: string
  /** Whether the history ends with a tool result. */
  isAfterTool: boolean
  /** The tools offered to the model. */
  tools: string[]
  headers: NodeJS.Dict<string | string[]>
}

export type Answerer = (asked: Asked) => ScriptedAnswer | Promise<ScriptedAnswer>

export interface LooseModel {
  /** Without a path; OpenAI's two APIs are below `/v1`. */
  url: string
  asked: Asked[]
  answer: Answerer
  close(): Promise<void>
}

const APIS: [path: string, dialect: Dialect, history: (body: Json) => Json[]][] = [
  ['/v1/messages', anthropic, (body) => objects(body.messages)],
  ['/v1/responses', responses, (body) => objects(body.input)],
  ['/v1/chat/completions', chat, (body) => objects(body.messages)],
]

export async function startLooseModel(answer: Answerer): Promise<LooseModel> {
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    serve(model, request, response).catch(() => response.destroy())
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const model: LooseModel = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    answer,
    close() {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
  return model
}

async function serve(model: LooseModel, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = new URL(request.url ?? '/', model.url).pathname
  const [, dialect, historyOf] = APIS.find(([known]) => known === path) ?? []
  request.setEncoding('utf8')
  let text = ''
  for await (const piece of request) text += piece
  if (dialect === undefined || historyOf === undefined || request.method !== 'POST') {
    // Programs probe the server and ask for its models. They continue without an answer.
    response.writeHead(request.method === 'HEAD' ? 200 : 404, { 'content-type': 'application/json' })
    response.end(
      request.method === 'HEAD' ? '' : '{"error":{"type":"not_found_error","message":"no such path"}}',
    )
    return
  }
  const body = JSON.parse(text) as Json
  const asked = { ...readHistory(historyOf(body)), tools: toolsOf(body), headers: request.headers }
  model.asked.push(asked)
  await perform(response, dialect, await model.answer(asked), model.asked.length, body)
}

async function perform(
  response: ServerResponse,
  dialect: Dialect,
  answer: ScriptedAnswer,
  place: number,
  body: Json,
): Promise<void> {
  if (answer.delay_ms !== undefined) await sleep(answer.delay_ms)
  if (answer.fault?.error !== undefined) {
    const { error, message = 'made to fail', headers } = answer.fault
    const refused = dialect.error(error, message)
    response.writeHead(refused.status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(refused.body))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  // The number of the request makes the ids of calls unique within a conversation.
  for (const { name, data } of dialect.events(answer, place, body, new Map())) {
    if (response.destroyed) return
    response.write(`${name === undefined ? '' : `event: ${name}\n`}data: ${inNamespace(data)}\n\n`)
    if (answer.event_delay_ms !== undefined) await sleep(answer.event_delay_ms)
  }
  response.end()
}

function readHistory(history: Json[]): Pick<Asked, 'texts' | 'latest' | 'isAfterTool'> {
  const said = history.flatMap((message): { text: string; isResult: boolean }[] => {
    if (message.type === 'function_call_output' || message.role === 'tool') {
      return [{ text: textOf(message.output ?? message.content), isResult: true }]
    }
    if (message.role !== 'user') return []
    if (typeof message.content === 'string') return [{ text: message.content, isResult: false }]
    return objects(message.content).map((part) => ({
      text: textOf(part.text ?? part.content),
      isResult: part.type === 'tool_result',
    }))
  })
  return {
    texts: said.map(({ text }) => text),
    latest: said.findLast(({ isResult }) => !isResult)?.text ?? '',
    isAfterTool: said.at(-1)?.isResult === true,
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return objects(content)
    .map(({ text }) => String(text ?? ''))
    .join('')
}

/** Tools that codex offers in a namespace are named after it. */
function toolsOf(body: Json): string[] {
  return objects(body.tools).flatMap((tool) =>
    tool.type === 'namespace'
      ? objects(tool.tools).map(({ name }) => `${tool.name}/${name}`)
      : [String(isObject(tool.function) ? tool.function.name : tool.name)],
  )
}

/** A call of such a name, in the form that codex accepts. */
function inNamespace(data: string): string {
  return data.replaceAll(/"name":"(\w+)\/(\w+)"/g, '"namespace":"$1","name":"$2"')
}
