/** The routes of server-sent events. */
import { z } from 'zod'
import { Refusal } from '../problem.js'
import { type Call, type Route, route } from '../route.js'
import { findAgent } from '../server.js'
import { flag } from '../shapes.js'
import { eventResponse, type Source } from './stream.js'

const CLOSED =
  'The last event can be `closed`, with the `reason`: `slow` (the client did not read), `stopping` (the server stops), `revoked` (the token) or `failed` (see `problem`).'

export const EVENTS: Route[] = [
  route({
    method: 'get',
    needs: 'read',
    path: '/v1/agents/{agent}/events',
    id: 'followAgent',
    tag: 'events',
    summary: 'Follow the log of an agent',
    description: `An event \`record\` for each durable record after the cursor, in order and once; its \`id\` is the number of the record. An event \`live\` without id is text of a reply that is not durable yet, of a turn that this server started. ${CLOSED} In \`closed\`, \`after\` is the cursor.`,
    headers: { 'Last-Event-ID': 'The cursor of a client that comes back. It takes precedence over `after`.' },
    query: z.object({
      after: z.coerce
        .number()
        .int()
        .min(0)
        .default(0)
        .describe('The cursor: only records after this number.'),
    }),
    answers: { 200: { description: 'The events.', events: true } },
    handle: (call) => {
      const { server, agent, query, headers } = call
      const { store, agentId } = findAgent(server, agent)
      const from = server.core.positionAfter(store, agentId, cursorOf(headers) ?? query.after)
      return respond(call, server.feeds.agent(store, agentId, from))
    },
  }),
  route({
    method: 'get',
    needs: 'read',
    path: '/v1/events',
    id: 'followHome',
    tag: 'events',
    summary: 'Follow the agents of the home',
    description: `An event \`snapshot\` with all \`agents\`, as in a list, then an event \`agent\` for each agent that changed, with its new entry, and \`removed\` with its \`id\`. States in between can be missing. There is no cursor: a client that comes back gets a snapshot. ${CLOSED}`,
    query: z.object({ all: flag.describe('The snapshot has terminated agents too.') }),
    answers: { 200: { description: 'The events.', events: true } },
    handle: (call) => respond(call, call.server.feeds.home(call.query.all)),
  }),
]

function respond({ server, signal, bearer, cut }: Call<unknown, unknown>, source: Source): Response {
  return eventResponse(source, { signal, stopping: server.stopping, revoked: bearer?.revoked, cut })
}

function cursorOf(headers: Headers): number | undefined {
  const id = headers.get('last-event-id')
  if (id === null || id === '') return undefined
  if (/^\d{1,15}$/.test(id)) return Number(id)
  throw new Refusal('USAGE', 'Last-Event-ID is not the number of a record', 'leave it out to begin anew')
}
