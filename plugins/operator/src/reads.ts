/** The tools that read. They take no lock and start nothing. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { z } from 'zod'
import { ANSWER_MS_MAX, answer, type Operator, shortened, summaryOf } from './operator.js'

const LOOK_MS = 100
const AGENTS_MAX = 200
const MESSAGES_MAX = 50
const RECORDS_MAX = 200
const RECORD_BYTES_MAX = 200_000

const agent = z.string().describe('name, path (parent/child) or id of an agent')
const READ = { readOnlyHint: true, openWorldHint: false }

export function addReads(server: McpServer, operator: Operator): void {
  server.registerTool(
    'status',
    {
      description: 'Show an agent with its latest reply, or without an agent list all living agents.',
      inputSchema: { agent: agent.optional() },
      annotations: READ,
    },
    ({ agent }) =>
      answer(() => (agent === undefined ? listAgents(operator) : summaryOf(operator.show(agent)))),
  )
  server.registerTool(
    'wait',
    {
      description:
        'Wait until agents have nothing left to do or need a decision, at most 25 seconds. Returns each agent with its latest reply. If `done` is false, call it again.',
      inputSchema: {
        agents: z.array(agent).min(1).max(20),
        seconds: z.number().min(0).max(25).default(20),
      },
      annotations: READ,
    },
    ({ agents, seconds }, { signal }) => answer(() => waitFor(operator, agents, seconds * 1000, signal)),
  )
  server.registerTool(
    'inbox',
    {
      description:
        "List pending messages: yours (the operator's), with replies to stored messages, or those of an agent. Removes nothing.",
      inputSchema: { agent: agent.optional() },
      annotations: READ,
    },
    ({ agent }) => answer(() => inboxOf(operator, agent)),
  )
  server.registerTool(
    'log',
    {
      description: 'Read the end of the log of an agent: its messages, tool calls and turns.',
      inputSchema: {
        agent,
        last: z.int().min(1).max(RECORDS_MAX).default(20).describe('how many records'),
        after: z.int().min(0).optional().describe('instead: the records after this number'),
      },
      annotations: READ,
    },
    ({ agent, last, after }) => answer(() => logOf(operator, agent, last, after)),
  )
}

function listAgents(operator: Operator): object {
  const all = operator.core.listAgents(operator.store(), { roots: false, all: false })
  const agents = all.slice(-AGENTS_MAX).map((agent) => ({
    agent: agent.path,
    id: agent.id,
    status: agent.status,
    shown_status: agent.shown_status,
    ...('title' in agent ? { title: agent.title, pending_messages: agent.inbox } : {}),
  }))
  return { agents, left_out: all.length - agents.length }
}

async function waitFor(
  operator: Operator,
  words: string[],
  ms: number,
  signal: AbortSignal,
): Promise<object> {
  const end = performance.now() + Math.min(ms, ANSWER_MS_MAX - 1000)
  for (;;) {
    const shown = words.map((word) => operator.show(word))
    // A process that holds the agent is about to begin or to end a turn.
    const done = shown.every(({ agent, holder }) => agent.status !== 'running' && holder === null)
    if (done || signal.aborted || performance.now() >= end) return { done, agents: shown.map(summaryOf) }
    await sleep(LOOK_MS)
  }
}

function inboxOf(operator: Operator, word: string | undefined): object {
  const { core } = operator
  const owner = word === undefined || word === core.OPERATOR ? core.OPERATOR : operator.find(word).id
  const { messages, damaged } = core.viewInbox(operator.store(), owner)
  return {
    messages: messages.slice(0, MESSAGES_MAX).map(({ content, ...message }) => ({
      ...message,
      content: content === null ? null : shortened(content),
    })),
    left_out: Math.max(0, messages.length - MESSAGES_MAX),
    damaged: damaged.length,
  }
}

function logOf(operator: Operator, word: string, last: number, after: number | undefined): object {
  const { core } = operator
  const { store, id } = operator.find(word)
  const end = core.showAgent(store, id).agent.last_seq
  const from = core.positionAfter(store, id, after ?? Math.max(0, end - last))
  const { records } = core.readPage(store, id, from, { records: last, bytes: RECORD_BYTES_MAX })
  return { records: records.map(compact), last_seq: end }
}

/** A record without the facts that only substrat needs. */
function compact(record: object): object {
  const { crc: _crc, batch: _batch, ...rest } = record as Record<string, unknown>
  return Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, typeof value === 'string' ? shortened(value) : value]),
  )
}
