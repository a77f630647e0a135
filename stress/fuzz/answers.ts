/** Every request gets one response, or errors that say why there is none. */

import { OPERATOR } from '../../src/format.js'
import type { Message } from '../../src/mail/message.js'
import type { AgentInWorld, Taken, World } from './world.js'

export function* checkAnswers(world: World): Iterable<string> {
  for (const agent of world.agents)
    for (const request of agent.taken)
      if (request.kind === 'request' && !request.isDirect) yield* answerTo(world, agent, request)
}

function* answerTo(world: World, agent: AgentInWorld, request: Taken): Iterable<string> {
  const { message_id, run_id, from } = request
  const fate = agent.fates.get(run_id)
  const replies = receivedBy(world, from).filter(({ reply_to }) => reply_to === message_id)
  const responses = replies.filter(({ kind }) => kind === 'response')
  const errors = replies.length - responses.length
  const what = `#${request.id ?? message_id} to ${agent.state.path}, whose turn is ${fate?.status}`
  if (responses.length > 1) yield `a request is answered by one response: ${what} had ${responses.length}`
  for (const { content } of responses)
    if (content !== fate?.reply)
      yield `the response is the reply of the turn: to ${what} it was ${content.slice(0, 100)}`
  const sender = world.agent(from)
  const isThere = from === OPERATOR || (sender !== undefined && sender.state.state !== 'terminated')
  if (!isThere) return
  if (fate?.status === 'completed' && responses.length === 0)
    yield `a request is answered: ${what} had no response`
  if (fate?.status !== 'completed' && responses.length + errors === 0)
    yield `a request is answered: ${what} had no error`
}

function receivedBy(
  { agents, toOperator }: World,
  id: string,
): Pick<Message, 'kind' | 'reply_to' | 'content'>[] {
  if (id === OPERATOR) return toOperator
  return agents.filter(({ state }) => state.id === id).flatMap(({ taken, waiting }) => [...taken, ...waiting])
}
