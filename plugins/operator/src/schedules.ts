/** The tools of schedules. */
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { z } from 'zod'
import { flags } from '../../shared/src/face/arguments.js'
import { answer, type Operator } from './operator.js'

const agent = z.string().describe('name, path (parent/child) or id of an agent')
const name = z.string().min(1).describe('name of the schedule')

const added = {
  agent,
  name,
  when: z.string().describe('five fields of cron, or an interval: every 15m, every 1h, every 1d'),
  message: z.string(),
  time_zone: z.string().optional().describe('such as Europe/Berlin; default: that of this machine'),
  missed: z
    .enum(['once', 'skip', 'all'])
    .optional()
    .describe('turns for slots that no command began in time: one for all (default), none, or one each'),
  overlap: z
    .enum(['skip', 'queue'])
    .optional()
    .describe('a slot during the turn of an earlier one: no turn (default), or a turn after it'),
  until: z.string().optional().describe('the last time, or a duration from now'),
}

export function addSchedules(server: McpServer, operator: Operator): void {
  server.registerTool(
    'schedules',
    {
      description:
        'List the schedules of an agent, or of all, with the next slot and the outcome of the last ones.',
      inputSchema: { agent: agent.optional() },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ agent }) => answer(() => list(operator, agent)),
  )
  server.registerTool(
    'schedule',
    {
      description:
        'Send an agent a message at the times of a calendar. Repeated, it changes nothing; with the name of a schedule and other values, it replaces that one. A timer of the machine begins the turns (substrat deliver --all).',
      inputSchema: z.strictObject(added),
      annotations: { destructiveHint: false, idempotentHint: true },
    },
    (given: Added) => answer(() => add(operator, given)),
  )
  server.registerTool(
    'change_schedule',
    {
      description: 'Pause, resume or remove a schedule.',
      inputSchema: z.strictObject({ agent, name, change: z.enum(['pause', 'resume', 'remove']) }),
      annotations: { destructiveHint: true, idempotentHint: true },
    },
    ({ agent, name, change }) =>
      answer(() =>
        operator.commands.result(['schedule', change, '--json', '--', operator.find(agent).id, name]),
      ),
  )
}

type Added = z.infer<z.ZodObject<typeof added>>

async function list(operator: Operator, word: string | undefined): Promise<unknown> {
  const ids = word === undefined ? [] : [operator.find(word).id]
  const { results } = await operator.commands.finish(['schedule', 'list', '--json', ...ids])
  return results[0]
}

function add(operator: Operator, given: Added): Promise<unknown> {
  const { agent, name, when, message, time_zone: tz, missed, overlap, until } = given
  const { id } = operator.find(agent)
  const args = [
    'schedule',
    'add',
    '--json',
    ...flags({ name, tz, missed, overlap, until }),
    '--',
    id,
    when,
    '-',
  ]
  return operator.commands.result(args, { input: `${message}\n` })
}
