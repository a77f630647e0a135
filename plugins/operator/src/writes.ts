/** The tools that create agents and send them messages. */
import { resolve } from 'node:path'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { z } from 'zod'
import { allowList, flags, optionFlags } from '../../shared/src/face/arguments.js'
import { isRun, isRunOfKey } from '../../shared/src/face/follow.js'
import {
  decidingFields,
  type MessageFields,
  messageFields,
  messageFlags,
} from '../../shared/src/face/message-fields.js'
import type { StreamLine } from '../../shared/src/face/output.js'
import { answer, type Begun, inTime, type Operator, summaryOf } from './operator.js'

const KEY = z
  .string()
  .min(1)
  .describe(
    'your name for this message, unique for the agent: repeating it delivers nothing twice and returns the first outcome',
  )
const spawn = {
  name: z.string().describe('a living agent of this name is used unchanged, so repeating spawn is safe'),
  parent: z.string().optional().describe('name, path or id of the parent agent'),
  provider: z.string().optional(),
  model: z.string().optional(),
  instructions: z.string().optional().describe('system prompt'),
  workspace: z.string().optional().describe('its directory; default: that of this server'),
  context: z
    .string()
    .optional()
    .describe(
      'how much of the earlier conversation a turn begins with: all, nothing (turn), or the last N turns (last:N)',
    ),
  budget: z
    .string()
    .optional()
    .describe('caps of the agent and everything below it, as in tokens=2M/day,usd=5'),
}
/** Options of a provider choose what runs, where secrets go and which calls need no approval. */
const spawnDeciding = {
  ...spawn,
  options: z.record(z.string(), z.string()).optional().describe('options of the provider'),
  allow: z.array(z.string()).optional().describe('tools that it may run without approval'),
}

export function addWrites(server: McpServer, operator: Operator, mayDecide: boolean): void {
  server.registerTool(
    'spawn',
    {
      description: 'Create a durable agent. It has no turn until you send it a message.',
      // A field that would be left out silently could leave an agent with other rights than the client expects.
      inputSchema: z.strictObject(mayDecide ? spawnDeciding : spawn),
      annotations: { destructiveHint: false, idempotentHint: true },
    },
    (given: Given) => answer(() => create(operator, given)),
  )
  server.registerTool(
    'send',
    {
      description:
        'Send a message to an agent. Returns once the message is on disk, before the turn ends. Then call wait. Repeated with the same key after its turn, it returns the reply.',
      inputSchema: z.strictObject({
        agent: z.string(),
        message: z.string(),
        key: KEY,
        ...messageFieldsFor(mayDecide),
      }),
      annotations: { destructiveHint: false, idempotentHint: true },
    },
    (given: Sent) => answer(() => send(operator, given)),
  )
  server.registerTool(
    'compact',
    {
      description:
        'Replace the beginning of the conversation of an agent with a summary by its model, for example after its service refused the conversation. The log keeps everything. Without keep, repeating it leaves out nothing more.',
      inputSchema: {
        agent: z.string(),
        keep: z
          .int()
          .min(0)
          .optional()
          .describe('how many of the latest exchanges stay; default: the latest third'),
      },
      annotations: { destructiveHint: false, idempotentHint: true },
    },
    ({ agent, keep }) => answer(() => compact(operator, agent, keep)),
  )
}

/** Without the decisions of a person, the fields that only a person may set. */
function messageFieldsFor(mayDecide: boolean): typeof messageFields {
  if (mayDecide) return messageFields
  const others = Object.entries(messageFields).filter(([name]) => !decidingFields.includes(name))
  return Object.fromEntries(others) as unknown as typeof messageFields
}

interface Sent extends MessageFields {
  agent: string
  message: string
  key: string
}

interface Given {
  name: string
  parent?: string | undefined
  provider?: string | undefined
  model?: string | undefined
  instructions?: string | undefined
  workspace?: string | undefined
  context?: string | undefined
  budget?: string | undefined
  options?: Record<string, string> | undefined
  allow?: string[] | undefined
}

async function create(operator: Operator, given: Given): Promise<object> {
  const {
    name,
    parent,
    provider,
    model,
    instructions,
    workspace,
    context,
    budget,
    options = {},
    allow,
  } = given
  const args = [
    'spawn',
    ...flags({
      name,
      parent: parent === undefined ? undefined : operator.find(parent).id,
      provider,
      model,
      system: instructions,
      workspace: resolve(workspace ?? '.'),
      context,
      budget,
      allow: allowList(allow),
      'if-exists': 'use',
    }),
    ...optionFlags(options),
  ]
  const { agent } = await operator.commands.result<{ agent: { id: string } }>([...args, '--json'])
  return summaryOf(operator.show(agent.id))
}

async function send(operator: Operator, { agent, message, key, ...asked }: Sent): Promise<object> {
  const { id } = operator.find(agent)
  const args = [
    'send',
    id,
    '-',
    ...flags({ key, 'if-busy': 'queue', 'if-waiting': 'queue' }),
    ...messageFlags(asked),
  ]
  const begun = await operator.begin(args, { input: `${message}\n` }, isRunOf(operator, id, key))
  return outcomeOf(operator, id, key, begun)
}

/** The command goes on in its own process if the summary takes longer than an answer may. */
async function compact(operator: Operator, word: string, keep: number | undefined): Promise<object> {
  const { id } = operator.find(word)
  const args = ['compact', id, ...flags({ keep: keep?.toString() }), '--json']
  const result = await inTime(operator.commands.result<Compacted>(args))
  const status = summaryOf(operator.show(id))
  if (result === undefined)
    return { done: false, next: 'the summary is not written yet: call compact again later', status }
  const { compacted, how, messages } = result
  return { done: true, compacted, how, messages, status }
}

interface Compacted {
  compacted: boolean
  how: 'summary' | 'dropped' | null
  messages: number
}

/**
 * The command may first continue an earlier turn, whose run is not that of the key. It also prints the records of a run of the key
 * that ended before; its result is then at hand.
 */
function isRunOf(operator: Operator, id: string, key: string): (line: StreamLine) => boolean {
  const isOfKey = isRunOfKey(operator.core, () => operator.store(), { agentId: id, key })
  return (line) => {
    if (!isRun(id)(line)) return false
    const { run } = operator.show(id)
    return run?.status === 'open' && run.id === line.run_id && isOfKey(line)
  }
}

interface Turn {
  run: { id: string; status: string } | null
  reply: string | null
}

function outcomeOf(operator: Operator, id: string, key: string, begun: Begun): object {
  if (begun.is === 'unknown')
    return {
      accepted: false,
      key,
      next: 'the message is not on disk yet: call send again with the same key',
    }
  const { run, reply } =
    begun.is === 'running'
      ? { run: { id: begun.runId, status: 'running' }, reply: null }
      : (begun.result as Turn)
  return {
    accepted: true,
    key,
    // Without a run, the message is stored until the agent can run it.
    outcome: run === null ? 'stored' : run.status,
    run_id: run?.id ?? null,
    reply,
    status: summaryOf(operator.show(id)),
  }
}
