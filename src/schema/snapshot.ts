/**
 * The state, which `fold` computes from a log, and which the snapshot `session.json` saves (docs/format.md, The snapshot).
 * The order of its fields in the file is in src/session/snapshot-layout.ts.
 */
import { z } from 'zod'
import { budgetState } from './budget.js'
import { location, runState, runStatus, tokenState, trouble } from './snapshot-run.js'
import {
  checksum,
  content,
  context,
  flag,
  framed,
  group,
  integer,
  outboundReply,
  reading,
  sessionUsage,
  text,
  texts,
  time,
  uuid,
  watchedStatus,
} from './types.js'
import {
  INTERRUPTIONS,
  MISSED_CAUSES,
  MISSED_POLICIES,
  OUTBOUND_EVENTS,
  OUTBOX_KINDS,
  OVERLAP_POLICIES,
  REFUSAL_CAUSES,
  SESSION_STATES,
  SKIP_CAUSES,
  SLOT_OUTCOMES,
  WORKSPACE_SCOPES,
} from './words.js'

const interruption = z.enum(INTERRUPTIONS)

const outboxEntry = z
  .object({
    to: text,
    kind: z.enum(OUTBOX_KINDS),
    reply_to: uuid.nullable(),
    status: watchedStatus
      .nullable()
      .describe('For a watcher: the status that follows `running`. Otherwise null.'),
    run_id: uuid,
    seq: integer.describe('Seq of the record that ended or parked the run.'),
    reply: location.nullable(),
    trouble: trouble.nullable().describe('Null if the run completed.'),
  })
  .meta({
    id: 'outbox_entry',
    description: 'A message that the session must send because a run has ended or is waiting.',
  })

const outboundEntry = z
  .object({
    outbound_id: uuid,
    target: text,
    thread: text.nullable().describe('Messages of one thread at one target are sent in order.'),
    event: z.enum(OUTBOUND_EVENTS),
    run_id: uuid.nullable(),
    at: location.describe('Its `outbound.queued`, which has the content.'),
    attempts: integer.describe('Failed attempts.'),
    not_before: time.nullable().describe('The next attempt. Null before the first.'),
    clock: reading.nullable().describe('When that pause began.'),
    expires_at: time.nullable(),
    begun: integer.optional().describe('Attempts that began, from `outbound.attempted`.'),
    not_shown: integer.optional().describe('The attempts among them that certainly showed nothing.'),
  })
  .meta({ id: 'outbound_entry', description: 'A message that must leave the machine.' })

export const refusal = z
  .object({
    cause: z.enum(REFUSAL_CAUSES),
    code: text.describe('The code of the error, and `message` its sentence.'),
    message: text,
    command: text.describe('The command that failed, such as `substrat send`.'),
    key: text.nullable().describe('The key of its message. Null without one.'),
    since: time.describe('The first such refusal since the latest turn began.'),
    past: flag
      .optional()
      .describe('A later turn has begun, but the message of this key never ran. It has no other effect.'),
    more: flag
      .optional()
      .describe('Further keys were refused before this one, and the list has no room for them.'),
  })
  .meta({ id: 'refusal', description: 'Why a turn could not begin.' })

export const grant = z
  .object({
    entry: text,
    by: z.enum(['set', 'approve']).describe('`approve`: by `approve --always`.'),
    since: time,
  })
  .meta({
    id: 'grant',
    description: 'A tool that an agent may use without approval, and the command that allowed it.',
  })

const channelThread = z
  .object({
    thread: text,
    agent_id: uuid,
    latest: outboundReply.describe('The latest message that came from it.'),
    announced: integer.describe(
      'The latest wait or exceeded time limit that the thread knows: a seq in the log of its agent.',
    ),
  })
  .meta({ id: 'channel_thread', description: 'A conversation on the platform, and its agent.' })

const channelMessage = z
  .object({ message_id: uuid, agent_id: uuid, at: location.describe('Its `channel.received`.') })
  .meta({ id: 'channel_message', description: 'A message from the platform that was not passed on yet.' })

const channelState = z
  .object({
    cursor: text.nullable().describe('The place in the messages of the platform.'),
    threads: z.array(channelThread).describe('The last one of a thread has its agent.'),
    pending: z.array(channelMessage),
    received: z.array(uuid).describe('The latest 2,000 message ids.'),
  })
  .meta({ id: 'channel_state', description: 'The state of a channel.' })

const reminder = z
  .object({
    reminder_id: uuid,
    content,
    due_at: time,
    every_ms: integer.nullable(),
    clock: reading
      .nullable()
      .optional()
      .describe('Null if the agent named `due_at` as a time. Absent in older logs.'),
  })
  .meta({ id: 'reminder_state', description: 'A reminder that the agent has set.' })

export const slotOutcome = z
  .object({
    from: time,
    to: time,
    count: integer,
    outcome: z.enum(SLOT_OUTCOMES),
    why: z
      .enum([...SKIP_CAUSES, ...MISSED_CAUSES])
      .nullable()
      .describe('Null for `ran`.'),
    run_id: uuid.nullable().describe('Its latest run. Null unless it ran.'),
    status: runStatus.nullable().describe('Of that run.'),
  })
  .meta({ id: 'slot_outcome', description: 'The outcome of a slot, or of several in a row.' })

const schedule = z
  .object({
    schedule_id: uuid,
    name: text,
    when: text,
    calendar: text,
    time_zone: text,
    content,
    set_at: time,
    next_at: time.nullable().describe('The first slot that is not accounted for. Null after the last one.'),
    every_ms: integer,
    missed: z.enum(MISSED_POLICIES),
    overlap: z.enum(OVERLAP_POLICIES),
    until: time.nullable(),
    jitter_ms: integer,
    paused_at: time.nullable(),
    run_id: uuid.nullable().describe('The latest run of its latest slot. Null before the first.'),
    fired_at: time.nullable().describe('When the latest slot had its turn.'),
    busy_since: time.nullable().describe('When a process began or continued that run.'),
    recent: z.array(slotOutcome).describe('The latest 10, oldest first.'),
    prevented: z
      .object({ why: z.enum(['paused', 'gated', 'hold']), from: time, to: time.nullable() })
      .optional()
      .describe(
        'Slots that something prevented while older ones were due. Absent if these are accounted for.',
      ),
  })
  .meta({ id: 'schedule_state', description: 'A schedule.' })

const recordedServer = z
  .object({ server_id: uuid, group })
  .meta({ id: 'server', description: 'A kept server of the agent program. It may be dead.' })

const watcher = z
  .object({ subscription_id: uuid, from: text, on: z.array(watchedStatus), once: flag })
  .meta({ id: 'watcher_state', description: 'A subscription to status changes of this agent.' })

const keyEntry = z
  .object({
    key: text,
    seq: integer.describe('The place of its `run.started`, with `offset`.'),
    offset: integer,
    started_at: time,
    end: integer.describe('End of the record that ended the run; 0 while it is open.'),
  })
  .meta({
    id: 'key_entry',
    description:
      "The place of a key's run in the log, so that its reply is found without reading the whole log.",
  })

const gate = z
  .object({ isGated: flag, permits: integer })
  .meta({ id: 'gate_state', description: 'A gated agent runs one turn per permit.' })

const recordedInterruption = z
  .object({ run_id: uuid, reason: interruption, at: time })
  .meta({ id: 'interruption', description: 'How the latest run was cut short.' })

const recovery = z
  .object({
    last_boot_seen: text
      .nullable()
      .describe('The process that last did work in the session. Null before the first.'),
    interruption: recordedInterruption.nullable(),
    barren_attempts: integer.describe(
      "Automatic attempts to continue since the last progress: a model's response, a result of its tool, or a reply.",
    ),
    unanswered_requests: integer.describe('Requests to the model since its last response.'),
  })
  .meta({ id: 'recovery_state', description: 'Counts that limit automatic attempts to continue.' })

const lost = z
  .object({ kept: z.array(text) })
  .meta({ id: 'lost', description: 'The names of the damaged logs that rebuilds have set aside.' })

const moved = z
  .object({
    move_id: uuid,
    home_id: uuid.describe('The home that it left.'),
    to: text,
    top: uuid.nullable().describe('The agent with which it moves. Null for the highest.'),
    at: location.describe('Its record.'),
    messages: z.array(uuid),
    answered: z.array(uuid),
    state: z.enum(SESSION_STATES).describe('The state before the move, with the next fields.'),
    run: runState.nullable(),
    tokens: z.array(tokenState),
    owes: z.array(outboxEntry),
    recovery,
  })
  .meta({ id: 'moved', description: 'A session that a move has closed.' })

export const workspaceHost = z
  .object({
    host_id: text.optional().describe('Absent without a machine-id.'),
    host_name: text,
    scope: z.enum(WORKSPACE_SCOPES).describe('Whether only this host may run turns, or any.'),
  })
  .meta({ id: 'workspace_host', description: 'The host of the workspace and the native session.' })

/** The fields of the state. In the file, `log_crc` is between these and the later ones. */
const firstFields = {
  format: integer,
  id: uuid,
  name: text.nullable(),
  title: text.nullable(),
  parent: uuid.nullable(),
  path: text,
  state: z.enum(SESSION_STATES),
  hold: flag,
  gate,
  isPoked: flag.describe('The parent or a person has asked to continue or retry the latest turn.'),
  metadata: texts,
  provider_name: text,
  options: texts,
  model: text.nullable(),
  workspace: text,
  instructions: content.nullable(),
  allow: z.array(text),
  created_at: time,
  updated_at: time,
  suspended_at: time.nullable(),
  provider_state: text.nullable().describe("The provider's own state for its next turn, in base64."),
  seed: location
    .nullable()
    .describe("The conversation as text, if the provider's own store does not have it."),
  isSeedDue: flag.describe(
    'Whether the agent program must still receive the seed. False once the program has acted.',
  ),
  last_seq: integer,
  last_offset: integer.describe('Offset of the last record.'),
  log_bytes: integer.describe('Its end, and so the end of the log.'),
  context_offset: integer.describe(
    "Start of the model's context: the first record, or the first that the last compaction or the turn keeps.",
  ),
  context_seq: integer,
  compaction: location.nullable().describe('The summary of all earlier records.'),
  run: runState.nullable(),
}

const laterFields = {
  reply: location.nullable().describe('The latest reply.'),
  keys: z.array(keyEntry).describe('The latest 128 keys, oldest first.'),
  keys_since: integer.describe(
    'The latest run of every other key began before this record, and is in the key index. 0 if there are no other keys.',
  ),
  tokens: z.array(tokenState).describe('The latest 100, oldest first.'),
  delivered: z.array(uuid).describe('The latest 2,000 message ids.'),
  delivered_forgotten: integer.describe('How many older message ids the state no longer has.'),
  owes: z
    .array(outboxEntry)
    .describe('The outbox. These messages must be stored in their inboxes before any other work.'),
  isDone: flag.describe("Whether the latest run was the agent's last."),
  reminders: z.array(reminder),
  watchers: z.array(watcher),
  recovery,
  usage: sessionUsage
    .nullable()
    .describe('Total of the session. Null in a snapshot of an earlier version, which did not count it.'),
  workspace_host: workspaceHost.optional().describe('Only in a home that several hosts share.'),
  warm: recordedServer.optional().describe('Absent without a kept server.'),
  lost: lost.optional().describe('The key index has the keys of the lost parts.'),
  imported: location
    .optional()
    .describe("In a copy: the record before which all records are the original's."),
  outbound: z
    .array(outboundEntry)
    .optional()
    .describe('The pending outbound messages, oldest first. Absent if there are none.'),
  channel: channelState.optional().describe('Only of a channel.'),
  timed_out: integer
    .optional()
    .describe(
      'The first tool result over its time limit, a seq, in the latest such run that had a request of the parent.',
    ),
  refused: z
    .array(refusal)
    .optional()
    .describe(
      'The refusals since the latest turn began, those of a hold or a gate that still holds, and those of keys that never ran; at most 100 with a key. Absent if there are none.',
    ),
  grants: z
    .array(grant)
    .optional()
    .describe(
      'The entries of `allow` that a person added since the agent was created. Absent if there are none.',
    ),
  on_unknown: z.array(text).optional().describe('The rules of the agent. Absent if there are none.'),
  context: context.optional().describe('Absent: `all`.'),
  schedules: z.array(schedule).optional().describe('Oldest first. Absent if there are none.'),
  budget: budgetState.optional().describe('Absent without a cap over the agent.'),
  moved: moved
    .optional()
    .describe('Absent unless a move has closed the session. `state` is then `terminated`.'),
}

const state = z.object({ ...firstFields, ...laterFields }).describe('The fold of the log up to `log_bytes`.')

/** The whole file: the state with its version, the checksum of the log's end, and its own checksum. */
export const snapshot = framed(
  z.object({
    snapshot: integer.describe('Version, 8.'),
    ...firstFields,
    log_crc: checksum
      .optional()
      .describe(
        'CRC-32 of the 256 KiB before `log_bytes`, or of all `log_bytes` of a shorter log. Absent if the writer does not know it.',
      ),
    ...laterFields,
  }),
).describe('The fields have this order.')

export type State = z.infer<typeof state>
export type Moved = z.infer<typeof moved>
export type SessionState = State['state']
/** A message that the session must send because a run has ended or is waiting. */
export type OutboxEntry = z.infer<typeof outboxEntry>
/** A message that must leave the machine. */
export type OutboundEntry = z.infer<typeof outboundEntry>
/** Why a turn could not begin. */
export type Refusal = z.infer<typeof refusal>
export type Reminder = z.infer<typeof reminder>
export type Schedule = z.infer<typeof schedule>
export type SlotOutcome = z.infer<typeof slotOutcome>
/** A kept server of the agent program. It may be dead. */
export type RecordedServer = z.infer<typeof recordedServer>
/** The place of a key's run in the log. */
export type KeyEntry = z.infer<typeof keyEntry>
/** The host of the workspace, in a home that several hosts share. */
export type WorkspaceHost = z.infer<typeof workspaceHost>
export type ChannelState = z.infer<typeof channelState>
