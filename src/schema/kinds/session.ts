/** The records of the session itself: its settings, its life, control messages, its clock. */
import { z } from 'zod'
import { cap } from '../budget.js'
import {
  blob,
  content,
  context,
  flag,
  integer,
  lostRequest,
  metadata,
  reading,
  status,
  text,
  texts,
  uuid,
  watchedStatus,
} from '../types.js'
import { WORKSPACE_SCOPES } from '../words.js'
import { actor, host_id, kind, message_id } from './kind.js'

const from = text
/** In a home that several hosts share: the host with the workspace and the native session. */
const place = {
  host_id: text
    .optional()
    .describe('In a shared home: the machine with the workspace, a hash of its machine-id.'),
  host_name: text.optional().describe('In a shared home: the name of that machine.'),
}
const workspace_scope = z
  .enum(WORKSPACE_SCOPES)
  .optional()
  .describe('In a shared home: whether only that machine may run turns, or any.')

const rules = z
  .array(text)
  .describe('Rules for calls whose result a crash lost: `TOOL=rerun|stop|continue|check COMMAND`.')

export const session = {
  'session.created': kind('The agent is created. Always the first record.', {
    agent_id: uuid,
    format: integer.describe('2. It is 1 in a log of an earlier version.'),
    name: text.nullable(),
    parent: uuid.nullable().describe('Null for a root.'),
    path: text.optional().describe('Names from the root to the agent, joined by `/`. Absent for a root.'),
    instructions: content.nullable().describe('The system prompt.'),
    provider: text,
    options: texts,
    model: text.nullable(),
    workspace: text.describe('Absolute path.'),
    allow: z.array(text).optional(),
    on_unknown: rules.optional(),
    context: context.optional().describe('Absent: `all`.'),
    budget: z.array(cap).optional().describe('The caps of the agent and everything below it.'),
    ...place,
    workspace_scope,
    actor: actor.describe('Its creator. Absent for an agent of `spawn_agent`.'),
  }),
  'session.configured': kind(
    'Settings change. A present field replaces the old value; `options` and `metadata` are merged into it.',
    {
      instructions: content.nullable().optional().describe('Null removes them.'),
      options: texts.optional(),
      model: text.nullable().optional(),
      workspace: text.optional(),
      title: text.nullable().optional(),
      hold: flag.optional().describe('No turn starts until `resume`.'),
      allow: z.array(text).optional(),
      allowed_by: z
        .literal('approve')
        .optional()
        .describe('The new entries of `allow` come from `approve --always`. Absent: from `set`.'),
      on_unknown: rules.optional(),
      context: context.optional(),
      budget: z.array(cap).optional().describe('An empty one removes the caps.'),
      metadata: metadata.optional().describe('Null removes a key.'),
      forgets_refusals: flag.optional().describe('A person has dismissed the refused messages.'),
      ...place,
      workspace_scope,
      actor,
    },
  ),
  'session.upgraded': kind('From here on the log has a newer format.', {
    from_format: integer,
    to_format: integer,
  }),
  'session.activated': kind('A process starts work.', { boot_id: text, host_id }),
  'session.suspended': kind('No turn is in progress. Usually in the batch that ends or parks its run.', {
    reason: z
      .enum(['idle', 'requested', 'recovery'])
      .describe(
        '`idle`: the turn ended or is parked. `requested`: by `suspend`. `recovery`: the process died.',
      ),
  }),
  'session.terminated': kind('The agent ends permanently.', { actor }),
  'session.imported': kind(
    'The agent is a copy from a bundle. The records before it are those of the original, but for its id, name and place.',
    {
      from: uuid.describe('The original.'),
      home_id: uuid.describe('Its home.'),
      bundle_id: uuid,
      ...place,
    },
  ),
  'session.moved': kind(
    'The agent moves to another home. Only `session.arrived` opens the session again, there or, if it is taken back, here.',
    {
      move_id: uuid,
      home_id: uuid.describe('The home that it leaves.'),
      to: text.describe('Where it goes, for a person.'),
      top: uuid.optional().describe('For an agent that moves with one above it: the highest of them.'),
      messages: z.array(uuid).describe('The pending messages that go along.'),
      content: content.describe('These messages, as a JSON array.'),
      answered: z.array(lostRequest).describe('Requests of agents that stay. Their senders get an error.'),
    },
  ),
  'session.arrived': kind('The move is over, and the agent is open in this home.', {
    move_id: uuid,
    from_home: uuid.describe('The home that it left. This home, if it was taken back.'),
    ...place,
  }),
  'session.rebuilt': kind(
    'After `doctor --rebuild` of a damaged log. The records before it are the undamaged part.',
    {
      kept: text.describe('File name of the damaged log, or `nothing`.'),
      last_seq: integer.describe('Its highest known `seq`.'),
      delivered: z.array(uuid).describe('Messages delivered in the lost part.'),
      requests: z.array(lostRequest).describe('Their senders get an error.'),
      keys: z.array(text).describe('Keys of the lost part, at most 256 KiB.'),
      key_hashes: z
        .array(text)
        .optional()
        .describe('At most 7,000 more keys, as the first 16 bytes of their SHA-256 in hex.'),
      more_key_hashes: blob.optional().describe('The rest, 16 bytes each.'),
    },
  ),
}

export const control = {
  'agent.gated': kind('The agent runs no turn until it is ungated or permitted.', {
    message_id,
    from,
    actor,
  }),
  'agent.ungated': kind('The gate is removed.', { message_id, from, actor }),
  'agent.permitted': kind('A gated agent may run one turn more.', { message_id, from, actor }),
  'agent.poked': kind('The latest turn must be continued or tried again.', { message_id, from, actor }),
  'agent.watched': kind('`from` subscribes to these changes of status.', {
    message_id,
    from: uuid,
    on: z.array(watchedStatus),
    once: flag.describe('Whether the subscription ends with its first report.'),
  }),
  'agent.unwatched': kind('The subscription of `from` ends.', { message_id, from: uuid }),
}

export const clock = {
  'clock.set_back': kind(
    'The wall clock is behind the beginning of a duration ([time](#time)). The rest of each duration counts from here.',
    { clock: reading },
  ),
  'status.derived': kind(
    'The derived status changed with this batch. Only for readers that follow the log.',
    { status },
  ),
}
