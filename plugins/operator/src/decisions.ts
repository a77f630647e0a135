/** The tools that decide, which exist only with `--allow-decisions`. Each decides about the wait that the client has seen. */
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { z } from 'zod'
import { flags } from '../../shared/src/face/arguments.js'
import type { StreamLine } from '../../shared/src/face/output.js'
import { answer, type Operator, summaryOf } from './operator.js'

const agent = z.string().describe('name, path (parent/child) or id of an agent')
const tokenId = z.uuid().describe('`waits_for.token_id` of status or wait')

export function addDecisions(server: McpServer, operator: Operator): void {
  server.registerTool(
    'approve',
    {
      description:
        'Approve the pending tool calls of an agent, or more of its budget. Returns before its turn ends.',
      inputSchema: {
        agent,
        token_id: tokenId,
        add: z
          .string()
          .optional()
          .describe('if it waits for a budget: how much more it may use, as in tokens=200k'),
        once: z.boolean().optional().describe('if it waits for a budget: let this turn go on to its end'),
      },
    },
    ({ agent, token_id, add, once }) =>
      answer(() => decide(operator, agent, (id) => ['approve', id, token_id, ...flags({ add, once })])),
  )
  server.registerTool(
    'deny',
    {
      description: 'Deny the pending tool calls of an agent. Its turn continues, and does not run them.',
      inputSchema: { agent, token_id: tokenId, reason: z.string().optional() },
    },
    ({ agent, token_id, reason }) =>
      answer(() => decide(operator, agent, (id) => ['deny', id, token_id, ...flags({ reason })])),
  )
  server.registerTool(
    'answer',
    {
      description: 'Answer the question of an agent.',
      inputSchema: { agent, text: z.string(), key: z.string().min(1).describe('as for send') },
    },
    ({ agent, text, key }) =>
      answer(() => decide(operator, agent, (id) => ['answer', id, '-', ...flags({ key })], `${text}\n`)),
  )
}

async function decide(
  operator: Operator,
  word: string,
  argsFor: (id: string) => string[],
  input?: string,
): Promise<object> {
  const { id } = operator.find(word)
  const isDurable = ({ agent, kind }: StreamLine): boolean => agent === id && kind === 'run.resumed'
  const { is } = await operator.begin(argsFor(id), { input }, isDurable)
  return { decided: is !== 'unknown', status: summaryOf(operator.show(id)) }
}
