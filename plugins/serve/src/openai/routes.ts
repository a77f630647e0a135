/**
 * Agents as models of OpenAI's API, for programs that speak no other. The model is the path of an agent, and a message to it is an
 * ordinary one: docs/openai-endpoint.md.
 */
import { z } from 'zod'
import type { Coded } from '../../../shared/src/face/face-error.js'
import { eventResponse } from '../events/stream.js'
import { Refusal } from '../problem.js'
import { type Answer, type Call, type Route, route, type Shape } from '../route.js'
import { findAgent, openStore, type Server } from '../server.js'
import { ChatEvents, chatCompletion, completionOf, type Head } from './chat.js'
import { FAILURE } from './failure.js'
import { type Ended, MessageTurn } from './message-turn.js'
import { chatBody, chatPrompt, responsesBody, responsesPrompt } from './prompt.js'
import { ReplySource, type StreamForm } from './reply-source.js'
import { ReplyText } from './reply-text.js'
import { ResponseEvents, type ResponseHead, responseOf, responseShape } from './responses.js'

const modelShape: Shape = {
  name: 'model',
  schema: z
    .object({
      id: z.string().describe('The path of the agent.'),
      object: z.literal('model'),
      created: z.int(),
      owned_by: z.literal('substrat'),
    })
    .meta({ id: 'model', description: 'An agent in the form of the OpenAI API.' }),
}

const models: Shape = {
  name: 'model_list',
  schema: z
    .object({ object: z.literal('list'), data: z.array(modelShape.schema) })
    .describe('The agents in the form of the OpenAI API.'),
}

const MESSAGE = {
  method: 'post' as const,
  tag: 'openai',
  needs: 'all' as const,
  isBodyOpen: true as const,
  failure: FAILURE,
  description:
    'Answers when the turn has ended. The agent has its own conversation, instructions and tools; other fields of the request have no effect.',
  headers: {
    'Idempotency-Key':
      'A repeated key is delivered once and has the first reply. Without it, an equal message is another message.',
  },
}

export const OPENAI: Route[] = [
  route({
    ...MESSAGE,
    path: '/v1/chat/completions',
    id: 'createChatCompletion',
    summary: 'Send a message to an agent, in the form of the OpenAI Chat Completions API',
    body: chatBody,
    answers: { 200: { description: 'The reply.', shape: chatCompletion, events: true } },
    handle: (call) => {
      const { model, stream, stream_options: options } = call.body
      return answer(call, {
        model,
        isStream: stream === true,
        content: chatPrompt(call.body),
        result: completionOf,
        events: (head) => new ChatEvents(head, options?.include_usage === true),
      })
    },
  }),
  route({
    ...MESSAGE,
    path: '/v1/responses',
    id: 'createResponse',
    summary: 'Send a message to an agent, in the form of the OpenAI Responses API',
    body: responsesBody,
    answers: { 200: { description: 'The reply.', shape: responseShape, events: true } },
    handle: (call) => {
      const { model, stream, metadata, previous_response_id: previousId = null } = call.body
      const whole = (head: Head): ResponseHead => ({ ...head, metadata: metadata ?? {}, previousId })
      return answer(call, {
        model,
        isStream: stream === true,
        content: responsesPrompt(call.body),
        result: (head, ended) => responseOf(whole(head), ended),
        events: (head) => new ResponseEvents(whole(head)),
      })
    },
  }),
  route({
    method: 'get',
    needs: 'read',
    path: '/v1/models',
    id: 'listModels',
    tag: 'openai',
    summary: 'List the agents, in the form of the OpenAI API',
    failure: FAILURE,
    answers: { 200: { description: 'The agents, without terminated ones.', shape: models } },
    handle: ({ server }) => {
      const agents = server.core.listAgents(openStore(server), { roots: false, all: false })
      const data = agents.flatMap((agent) => ('created_at' in agent ? [modelOf(agent)] : []))
      return { status: 200, body: { object: 'list', data } }
    },
  }),
  route({
    method: 'get',
    needs: 'read',
    path: '/v1/models/{agent}',
    id: 'showModel',
    tag: 'openai',
    summary: 'Show one agent, in the form of the OpenAI API',
    failure: FAILURE,
    answers: { 200: { description: 'The agent.', shape: modelShape } },
    handle: ({ server, agent }) => {
      const { store, agentId } = findAgent(server, agent)
      return { status: 200, body: modelOf(server.core.showAgent(store, agentId).agent) }
    },
  }),
]

function modelOf({ path, created_at }: { path: string; created_at: string }): object {
  return { id: path, object: 'model', created: secondsOf(created_at), owned_by: 'substrat' }
}

function secondsOf(time: string): number {
  return Math.floor(Date.parse(time) / 1000)
}

interface Wanted {
  model: string
  isStream: boolean
  content: string
  result(head: Head, ended: Ended): object
  events(head: Head): StreamForm
}

/** An error before the message is durable is an answer with its status, also to a request for a stream. */
async function answer(call: Call<unknown, unknown>, wanted: Wanted): Promise<Answer | Response> {
  const { server, headers, signal, bearer, cut } = call
  const { content, isStream } = wanted
  const { store, agentId } = findAgent(server, wanted.model)
  const { path } = server.core.showAgent(store, agentId).agent
  let source: ReplySource | undefined
  const text = new ReplyText(() => source?.onText())
  const turn = new MessageTurn(
    { server, store, agentId, path },
    { content, key: headers.get('idempotency-key') },
    isStream ? (line) => text.add(line) : undefined,
  )
  const headOf = ({ id, startedAt }: { id: string; startedAt: string }): Head => ({
    runId: id,
    created: secondsOf(startedAt),
    model: path,
  })
  const run = await turn.begun()
  if (!isStream) {
    const ended = await Promise.race([turn.ended, stopped(server, turn)])
    return { status: 200, body: wanted.result(headOf(turn.run ?? run), ended) }
  }
  source = new ReplySource(turn, text, wanted.events(headOf(run)))
  return eventResponse(source, { signal, stopping: server.stopping, revoked: bearer?.revoked, cut })
}

/** Rejects when the server stops, so that the client does not take the end of the connection for a reason to send again. */
function stopped({ stopping }: Server, turn: MessageTurn): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => {
      const error: Coded = new Refusal('SERVER_BUSY', 'the server stops; the turn continues', turn.later)
      reject(turn.errorOf(error))
    }
    if (stopping.aborted) stop()
    stopping.addEventListener('abort', stop, { once: true })
    const forget = (): void => stopping.removeEventListener('abort', stop)
    turn.ended.then(forget, forget)
  })
}
