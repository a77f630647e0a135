/** The reading routes. Each answers with what the command of the same name prints with `--json`; none takes a lock. */
import { z } from 'zod'
import type { ListedAgent } from './core.js'
import type { Bearer } from './guard.js'
import { Refusal } from './problem.js'
import { type Route, route } from './route.js'
import { searchWith } from './search.js'
import { findAgent, openStore, type Server } from './server.js'
import {
  agentPage,
  agentTree,
  count,
  doctorShape,
  flag,
  inboxShape,
  modelsShape,
  providersShape,
  recordPage,
  searchPage,
  shownAgent,
  tokenShape,
  usageShape,
} from './shapes.js'

const PAGE = { records: 1000, bytes: 4 * 1024 * 1024 }

const after = z.string().optional().describe('`next` of the page before.')
const since = z.iso
  .datetime({ precision: 3 })
  .optional()
  .describe('Only from this time on, such as `2026-11-20T10:00:00.000Z`.')

export const READS: Route[] = [
  route({
    method: 'get',
    needs: 'read',
    path: '/v1/token',
    id: 'showToken',
    tag: 'home',
    summary: 'Show the name and the right of the token of this request',
    answers: { 200: { description: 'The token.', shape: tokenShape } },
    handle: ({ server, bearer }) => {
      const { name, id, may, created_at } = bearer as Bearer
      return { status: 200, body: { name, id, may, created_at, read_only: server.isReadOnly } }
    },
  }),
  route({
    method: 'get',
    needs: 'read',
    path: '/v1/agents',
    id: 'listAgents',
    tag: 'agents',
    summary: 'List agents',
    query: z.object({
      status: z
        .string()
        .optional()
        .describe(
          'Only agents with this status, one of `substrat list --status`. `needs_you`: those that wait for a person.',
        ),
      state: z
        .string()
        .optional()
        .describe('Only agents in this state; without it, all but terminated ones.'),
      since,
      roots: flag.describe('Only agents without a parent.'),
      all: flag.describe('Also terminated agents.'),
      limit: count(10_000, 1000),
      after,
    }),
    answers: { 200: { description: 'Agents, oldest first.', shape: agentPage } },
    handle: ({ server, query }) => ({ status: 200, body: pageOfAgents(server, query) }),
  }),
  route({
    method: 'get',
    needs: 'read',
    path: '/v1/agents/{agent}',
    id: 'showAgent',
    tag: 'agents',
    summary: 'Show one agent, its latest turn and the next command',
    answers: { 200: { description: 'The agent.', shape: shownAgent } },
    handle: ({ server, agent }) => {
      const { store, agentId } = findAgent(server, agent)
      return { status: 200, body: server.core.showAgent(store, agentId) }
    },
  }),
  route({
    method: 'get',
    needs: 'read',
    path: '/v1/agents/{agent}/records',
    id: 'listRecords',
    tag: 'agents',
    summary: 'Read the log of an agent',
    description: 'The records are durable: no crash takes them back.',
    query: z.object({
      after: z.coerce.number().int().min(0).default(0).describe('Only records after this number.'),
      limit: count(PAGE.records, 100),
    }),
    answers: { 200: { description: 'Records in order.', shape: recordPage } },
    handle: ({ server, agent, query }) => {
      const { store, agentId } = findAgent(server, agent)
      const from = server.core.positionAfter(store, agentId, query.after)
      const { records, next } = server.core.readPage(store, agentId, from, { ...PAGE, records: query.limit })
      const isEnd = server.core.logSize(store, agentId) <= next.offset
      return { status: 200, body: { records, last_seq: next.seq - 1, is_end: isEnd } }
    },
  }),
  route({
    method: 'get',
    needs: 'read',
    path: '/v1/agents/{agent}/inbox',
    id: 'listMail',
    tag: 'mail',
    summary: 'List the pending messages of an agent; of the operator with the name `operator`',
    answers: { 200: { description: 'The messages.', shape: inboxShape } },
    handle: ({ server, agent }) => {
      const { core } = server
      const store = openStore(server)
      const owner = agent === core.OPERATOR ? core.OPERATOR : core.resolveAgent(store, agent)
      return { status: 200, body: core.viewInbox(store, owner) }
    },
  }),
  route({
    method: 'get',
    needs: 'read',
    path: '/v1/tree',
    id: 'showTree',
    tag: 'agents',
    summary: 'Show the agents as a tree',
    query: z.object({
      agent: z.string().optional().describe('Only this agent and those below it.'),
      all: flag.describe('Also terminated agents.'),
    }),
    answers: { 200: { description: 'The tree.', shape: agentTree } },
    handle: ({ server, query }) => {
      const agentId = query.agent === undefined ? undefined : findAgent(server, query.agent).agentId
      return { status: 200, body: server.core.viewTree(openStore(server), { agentId, all: query.all }) }
    },
  }),
  route({
    method: 'get',
    needs: 'read',
    path: '/v1/usage',
    id: 'showUsage',
    tag: 'home',
    summary: 'Show tokens and costs',
    query: z.object({
      agent: z.string().optional().describe('Only this agent.'),
      tree: z.string().optional().describe('Only this agent and those below it.'),
      all: flag.describe('Also terminated agents.'),
      since,
      by: z.enum(['agent', 'model', 'day', 'schedule']).default('agent'),
    }),
    answers: { 200: { description: 'The usage.', shape: usageShape } },
    handle: ({ server, query: { agent, tree, all, since, by } }) => {
      if (agent !== undefined && tree !== undefined)
        throw new Refusal('USAGE', 'agent and tree cannot be combined', 'leave one of them out')
      const idOf = (word: string | undefined): string | undefined =>
        word === undefined ? undefined : findAgent(server, word).agentId
      const request = { agentId: idOf(agent), treeOf: idOf(tree), all, since: since ?? null, by }
      return { status: 200, body: server.core.viewUsage(openStore(server), request) }
    },
  }),
  route({
    method: 'get',
    needs: 'read',
    path: '/v1/search',
    id: 'searchRecords',
    tag: 'home',
    summary: 'Search messages, tool calls and their results in all agents',
    description:
      'Runs `substrat search`. The agent that changed last comes first, and the records of an agent have the order of its log.',
    query: z.object({
      text: z.string().min(1).max(1000).describe('In any case unless it has a capital letter.'),
      agent: z.string().optional().describe('Only agents with this path or id; `*` stands for any text.'),
      since,
      limit: count(1000, 100),
    }),
    answers: { 200: { description: 'The records.', shape: searchPage } },
    handle: async ({ server, query, signal }) => ({
      status: 200,
      body: await searchWith(server, query, signal),
    }),
  }),
  route({
    method: 'get',
    needs: 'read',
    path: '/v1/providers',
    id: 'listProviders',
    tag: 'home',
    summary: 'List the providers that an agent can have',
    answers: { 200: { description: 'The providers.', shape: providersShape } },
    handle: async ({ server }) => ({ status: 200, body: await onlyResult(server, ['providers']) }),
  }),
  route({
    method: 'get',
    needs: 'read',
    path: '/v1/provider-models',
    id: 'listProviderModels',
    tag: 'home',
    summary: 'List the models of a provider',
    description: 'Runs `substrat models`, which asks the service or the program of the provider.',
    query: z.object({ provider: z.string().min(1).max(200) }),
    answers: { 200: { description: 'The models.', shape: modelsShape } },
    handle: async ({ server, query, signal }) => ({
      status: 200,
      body: await onlyResult(server, ['models', '--timeout=15s', '--', query.provider], signal),
    }),
  }),
  route({
    method: 'get',
    needs: 'read',
    path: '/v1/findings',
    id: 'listFindings',
    tag: 'home',
    summary: 'Check the home for damage',
    description: 'Runs `substrat doctor`, which reads every agent. It takes no lock and repairs nothing.',
    query: z.object({ all: flag.describe('Read all logs and stored files completely.') }),
    answers: { 200: { description: 'The findings.', shape: doctorShape } },
    handle: async ({ server, query }) => {
      return { status: 200, body: await onlyResult(server, ['doctor', ...(query.all ? ['--all'] : [])]) }
    },
  }),
]

/** The JSON of a command that reads. */
async function onlyResult(
  server: Server,
  [command = '', ...args]: string[],
  signal?: AbortSignal,
): Promise<unknown> {
  const { results } = await server.commands.finish([command, '--json', ...args], { signal })
  return results[0]
}

interface AgentQuery {
  status?: string | undefined
  state?: string | undefined
  since?: string | undefined
  roots: boolean
  all: boolean
  limit: number
  after?: string | undefined
}

function pageOfAgents(server: Server, { limit, after, status: word, ...others }: AgentQuery): object {
  const { core } = server
  const filter = { ...others, status: word === undefined ? undefined : core.listedStatus(word) }
  checkWord('status', filter.status, core.LISTED_STATUSES)
  checkWord('state', filter.state, core.SESSION_STATES)
  const store = openStore(server)
  const found = core.listAgents(store, filter)
  const from = after === undefined ? 0 : startAfter(found, after)
  const agents = found.slice(from, from + limit)
  const last = agents.at(-1)
  const isEnd = last === undefined || from + limit >= found.length
  const grants = core.allowGrants(store)
  const ticker = core.tickerNote(store, agents)
  return {
    agents,
    ...(ticker !== undefined && { ticker }),
    ...(grants.length > 0 && { grants }),
    next: isEnd ? null : cursorOf(last),
  }
}

function checkWord(name: string, word: string | undefined, words: readonly string[]): void {
  if (word === undefined || words.includes(word)) return
  throw new Refusal(
    'USAGE',
    `${name} is not ${JSON.stringify(word.slice(0, 80))}`,
    `use one of: ${[...new Set(words)].join(', ')}`,
  )
}

/** The order of the list. A page begins after it also if the agent itself is gone. */
function cursorOf(agent: ListedAgent): string {
  return `${'created_at' in agent ? agent.created_at : ''}~${agent.id}`
}

function startAfter(agents: ListedAgent[], cursor: string): number {
  const at = agents.findIndex((agent) => cursorOf(agent) > cursor)
  return at < 0 ? agents.length : at
}
