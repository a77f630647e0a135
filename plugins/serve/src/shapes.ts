/** The shapes of the API. Those of answers are substrat's own `--json`; only what HTTP adds is defined here. */
import { OUTPUTS } from 'substrat/outputs'
import { z } from 'zod'
import { ACTORS, PROBLEM_CODES } from './problem.js'
import type { Shape } from './route.js'

const ofCommand = (name: keyof typeof OUTPUTS, component = name.replaceAll(' ', '_')): Shape => ({
  name: component,
  schema: OUTPUTS[name],
})

export const shownAgent = ofCommand('show', 'shown_agent')
export const agentTree = ofCommand('tree', 'agent_tree')
export const inboxShape = ofCommand('inbox', 'inbox')
export const usageShape = ofCommand('usage', 'usage_report')
export const providersShape = ofCommand('providers', 'provider_report')
export const modelsShape = ofCommand('models', 'provider_models')
export const schedulesShape = ofCommand('schedule list', 'schedule_list')
export const scheduleShape = ofCommand('schedule show', 'shown_schedule')
export const changedScheduleShape = ofCommand('schedule add', 'changed_schedule')
export const doctorShape = ofCommand('doctor', 'doctor_report')

const cursor = z.string().nullable().describe('Pass it as `after` for the next page. Null on the last page.')

export const agentPage: Shape = {
  name: 'agent_page',
  schema: z.object({ ...OUTPUTS.list.shape, next: cursor }).describe('Agents, oldest first.'),
}

export const searchPage: Shape = {
  name: 'search_page',
  schema: z
    .object({
      matches: z.array(OUTPUTS.search),
      is_end: z.boolean().describe('Whether there are no further records with the text.'),
      damage: z.string().nullable().describe('Why some records could not be searched. Null if all were.'),
    })
    .describe('The records with a text.'),
}

export const recordPage: Shape = {
  name: 'record_page',
  schema: z
    .object({
      records: z.array(OUTPUTS.log),
      last_seq: z
        .int()
        .describe('The number of the last record here, or `after` if there is none: pass it as `after`.'),
      is_end: z.boolean().describe('Whether the log had no further record.'),
    })
    .describe('Durable records of one agent.'),
}

export const pendingShape: Shape = {
  name: 'pending_calls',
  schema: z
    .object({
      token_id: z.string().nullable().describe('The token of the wait. Null if no call waits for approval.'),
      calls: z.array(
        z.object({
          call_id: z.string(),
          tool: z.string(),
          input: z.record(z.string(), z.unknown()),
          change: z
            .object({
              fields: z.array(z.string()).describe('The arguments that the lines stand for.'),
              head: z.string().describe('The kind of the change, and its number of lines.'),
              lines: z.array(z.string()).describe('The lines of a unified diff, each with its sign.'),
            })
            .optional()
            .describe('The change of a file, as the file is now. Only of a call that writes one.'),
          no_change: z.string().optional().describe('Why a call that writes a file has no diff.'),
        }),
      ),
      can_be_edited: z.boolean().describe('False for the calls of an agent program, which runs them itself.'),
      questions: z
        .array(
          z.object({
            text: z.string(),
            choices: z
              .array(z.object({ label: z.string(), description: z.string() }))
              .describe('Answers to choose from. Any other text is an answer too.'),
            takes_several: z.boolean().describe('Whether several choices together are an answer.'),
          }),
        )
        .optional()
        .describe('Only of an agent that waits for an answer.'),
    })
    .describe('The calls that need approval, or the questions that wait for an answer.'),
}

export const turn = ofCommand('send', 'turn')
export const changed = ofCommand('suspend', 'changed_agent')
export const cancelled = ofCommand('cancel', 'cancelled_agents')
export const compacted = ofCommand('compact', 'compacted_agent')
export const gated = ofCommand('gate', 'gated_agent')

export const terminated: Shape = {
  name: 'terminated_agents',
  schema: z
    .object({ agents: z.array(OUTPUTS.terminate.shape.agent) })
    .describe('The terminated agents, children first.'),
}

export const accepted: Shape = {
  name: 'accepted',
  schema: z
    .object({
      agent: z.string().describe('The UUID of the agent.'),
      run_id: z
        .string()
        .nullable()
        .describe('The run that began or continued. Null if the message is pending in the inbox.'),
      events: z.string().describe('The path of the events of the agent.'),
    })
    .describe('The request is durable: no crash loses it. Its turn runs or will run.'),
}

export const problem: Shape = {
  name: 'problem',
  schema: z
    .object({
      type: z.string(),
      title: z.string(),
      status: z.int(),
      detail: z.string().describe('The event, in a sentence.'),
      code: z.enum(PROBLEM_CODES).describe('The error code of substrat, or one of the server.'),
      where: z.string().nullable().describe('The agent, file or address that it is about.'),
      who: z
        .enum(ACTORS)
        .describe(
          'The person who can act. `caller`: change the request. `operator`: a person with access to the home. `anyone`: repeat the request later.',
        ),
      next: z.string().nullable().describe('What to do next, mostly a command.'),
      facts: z.record(z.string(), z.unknown()).describe('The other facts of the error.'),
    })
    .describe('An error (RFC 9457).'),
}

/** A word in a query: `true`, `false`, or nothing after the name. */
export const flag = z
  .enum(['true', 'false', ''])
  .optional()
  .transform((word) => word === 'true' || word === '')

export const count = (max: number, normal: number) => z.coerce.number().int().min(1).max(max).default(normal)

const { name, may, created_at } = OUTPUTS['serve token list'].shape.tokens.element.shape

export const tokenShape: Shape = {
  name: 'token',
  schema: z
    .object({
      name: name.describe('`operator` for the token that the server made itself.'),
      id: z.string().describe('The beginning of its hash: `token_id` of an actor.'),
      may,
      created_at: created_at.nullable().describe('Null for the token that the server made itself.'),
      read_only: z.boolean().describe('Whether the server refuses all changes (`--read-only`).'),
    })
    .describe('The token of this request.'),
}
