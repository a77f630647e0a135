/** The JSON of commands that show many agents, or messages: `list`, `tree`, `prune`, `inbox` and `usage`. */
import { z } from 'zod'
import { control, message } from './mail.js'
import { agent, budgetUse, corruptAgent, grant, unreadable } from './output.js'
import { ticker } from './output-schedule.js'
import { actor, flag, integer, sessionUsage, text, time, uuid } from './types.js'
import { OUTBOUND_DROPS, OUTBOUND_EVENTS } from './words.js'

export const listed = z
  .object({
    agents: z.array(z.union([agent, corruptAgent])),
    ticker: ticker.optional(),
    grants: z
      .array(grant)
      .optional()
      .describe(
        'The tools that the setting `allow` lets every agent use without approval. Absent if there are none.',
      ),
  })
  .describe('Agents, oldest first.')

const treeFields = { ...agent.shape, hold: flag, gated: flag, reminders: integer }

export interface TreeNode extends z.infer<z.ZodObject<typeof treeFields>> {
  children: TreeNode[]
}

const treeNode: z.ZodType<TreeNode> = z
  .object({ ...treeFields, children: z.array(z.lazy(() => treeNode)) })
  .meta({ id: 'tree_agent', description: 'An agent and the agents below it, oldest first.' })

const why = text.describe('Why it has no place in the tree.')

const strayNode = z
  .union([
    z.object({ ...treeFields, children: z.array(treeNode), why }),
    z.object({ ...unreadable, children: z.array(treeNode), why }),
  ])
  .meta({
    id: 'stray_agent',
    description:
      'A `tree_agent` with the field `why`. If its log cannot be read, only `id`, `status`, `shown_status` and `children`.',
  })

const outboxMessage = z
  .object({
    outbound_id: uuid,
    agent: uuid,
    path: text,
    target: text,
    event: z.enum(OUTBOUND_EVENTS),
    run_id: uuid.nullable(),
    state: z
      .enum(['pending', 'failed', 'dropped'])
      .describe('`failed`: at least one attempt failed, and another one follows.'),
    attempts: integer.describe('Failed attempts of a pending message.'),
    at: time.describe('When it was queued.'),
    next_at: time.nullable().describe('The next attempt is not before this time.'),
    expires_at: time.nullable(),
    reason: z.enum(OUTBOUND_DROPS).nullable().describe('Why it was dropped.'),
    why: text.nullable().describe('The last failure.'),
    text,
  })
  .meta({ id: 'outbox_message', description: 'A message that must leave the machine.' })

export const outbox = z.object({ messages: z.array(outboxMessage) }).describe('Messages, oldest first.')

export type OutboxMessage = z.infer<typeof outboxMessage>
export type OutboxView = z.infer<typeof outbox>

export const tree = z
  .object({
    agents: z.array(treeNode),
    stray: z
      .array(strayNode)
      .describe(
        'Agents with a missing or terminated parent, a parent cycle or an unreadable log. Each is a `tree_agent` with the field `why`, or only `id`, `status`, `shown_status`, `children` and `why`. The exit status is then 10.',
      ),
  })
  .describe('The agents as a tree.')

const named = { id: uuid, path: text }

export const pruned = z
  .object({
    dry_run: flag,
    removed: z.array(z.object(named)).describe('With `--dry-run`: the agents that would be removed.'),
    kept: z.array(z.object({ ...named, why: text })).describe('Old agents that cannot be removed yet.'),
    messages: integer.describe('How many messages that you took were deleted.'),
  })
  .describe('The removed agents.')

const mail = z
  .object({
    message_id: uuid,
    kind: message.shape.kind,
    from: text.describe("An agent's id, or `operator`."),
    from_path: text,
    reply_to: uuid.nullable(),
    content: text,
    control: control.nullable().describe('Null unless `kind` is `control`.'),
    key: text.nullable(),
    not_before: time.nullable(),
    created_at: time,
    actor: actor.optional().describe('The writer of a message of the operator or of a channel.'),
  })
  .meta({ id: 'mail', description: 'A pending message.' })

export const inbox = z
  .object({
    agent: text.describe('A UUID, or `operator`.'),
    messages: z.array(mail).describe('In delivery order.'),
    damaged: z.array(text).describe('Damaged message files. The exit status is then 10.'),
    unknown: z
      .array(z.object({ path: text, unknown: text }))
      .describe(
        'Message files that a newer version wrote, each with its unknown word. The exit status is then 10.',
      ),
  })
  .describe('The pending messages.')

const usageRow = z
  .object({
    agent_id: uuid.optional().describe('With `--by agent` and `--by schedule`.'),
    path: text.optional().describe('With `--by agent` and `--by schedule`.'),
    removed_at: time.optional().describe('With `--by agent`. Only if the agent was removed.'),
    model: text.nullable().optional().describe('With `--by model`. Null if the log names none.'),
    day: text.optional().describe('With `--by day`, in UTC.'),
    schedule: text
      .nullable()
      .optional()
      .describe(
        'With `--by schedule`: its name. Null for all turns without one, also those of removed agents.',
      ),
    ...sessionUsage.shape,
  })
  .meta({ id: 'usage_row', description: 'The usage of one agent, model or day.' })

export const used = z
  .object({
    by: z.enum(['agent', 'model', 'day', 'schedule']),
    since: time.nullable(),
    total: sessionUsage,
    rows: z.array(usageRow),
    budgets: z
      .array(budgetUse)
      .optional()
      .describe('The caps of the home and of the counted agents, as they are now. Absent if there are none.'),
    removed: integer.describe('How many of the counted agents were removed.'),
    damaged: z.array(uuid).describe('Agents whose log cannot be read. The exit status is then 10.'),
  })
  .describe('The tokens and costs of agents.')

export const searched = z
  .object({
    agent_id: uuid,
    path: text.nullable().describe('Null if its log cannot be read.'),
    seq: integer.describe('The number of the record in the log.'),
    ts: time,
    kind: text.describe('The kind of the record.'),
    role: z
      .enum(['operator', 'agent', 'mail', 'tool', 'error', 'settings', 'substrat'])
      .describe('Whose text it is.'),
    tool: text.nullable().describe('The tool that was called, or whose output it is.'),
    snippet: text.describe('The line of the match, or the part around it.'),
    match: z
      .tuple([integer, integer])
      .describe('Begin and end of the match in `snippet`, in UTF-16 code units.'),
  })
  .describe('One line per record with the text. Exit status 0 also if there is none.')

/** An agent whose log cannot be read is also listed, with the error. */
export type ListedAgent = z.infer<typeof listed>['agents'][number]
/** An agent without a place in the tree, and why. If it cannot be read, only its id is known. */
export type StrayNode = z.infer<typeof strayNode>
export type SearchMatch = z.infer<typeof searched>
export type TreeView = z.infer<typeof tree>
export type PruneResult = z.infer<typeof pruned>
export type MailView = z.infer<typeof mail>
export type InboxView = z.infer<typeof inbox>
export type UsageRow = z.infer<typeof usageRow>
export type UsedView = z.infer<typeof used>
