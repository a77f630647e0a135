/**
 * The state, which `fold` computes from a log, and which the snapshot `session.json` saves (docs/format.md, The snapshot).
 * The order of its fields in the file is in src/session/snapshot-layout.ts.
 */
import { z } from 'zod'
import {
  content,
  decision,
  flag,
  framed,
  group,
  integer,
  reading,
  runError,
  sessionUsage,
  text,
  texts,
  time,
  usage,
  uuid,
  waitKind,
  watchedStatus,
} from './types.js'
import { CANCELLATIONS, INTERRUPTIONS, OUTBOX_KINDS, RUN_STATUSES, SESSION_STATES } from './words.js'

const interruption = z.enum(INTERRUPTIONS)
const runStatus = z.enum(RUN_STATUSES)
const runReason = z.enum([...INTERRUPTIONS, ...CANCELLATIONS]).nullable()

const location = z
  .object({ seq: integer, offset: integer, end: integer })
  .meta({ id: 'location', description: "The place of a record's line in the log: its seq and byte range." })

const callState = z
  .object({
    call_id: text,
    tool: text,
    status: z
      .enum(['pending', 'started', 'deferred', 'finished'])
      .describe('`deferred`: its result will come from elsewhere.'),
    isApproved: flag.describe('By a decision on this call, not by `allow`.'),
    group: group.nullable(),
    deadline_at: time.optional().describe('The tool of a deferred call asks for the result by then.'),
  })
  .meta({ id: 'call_state', description: 'A call of the latest response.' })

const waitState = z
  .object({
    kind: waitKind,
    since_seq: integer,
    at: location.describe('The record of the wait, which has the questions.'),
    resume_token_id: uuid.nullable(),
    deadline_at: time.nullable(),
    not_before: time.nullable(),
    clock: reading.nullable().optional().describe('The clock when the wait began. Null in older logs.'),
    call_ids: z.array(text).describe('The calls that a decision is about.'),
  })
  .meta({ id: 'wait_state', description: 'The wait of a parked run.' })

const leftPrograms = z
  .object({
    groups: z.array(group),
    checked_by: text.optional().describe('The machine that could not check them.'),
  })
  .meta({ id: 'left_programs', description: 'Programs that may still be running on another machine.' })

const runPlace = z
  .object({ seq: integer, offset: integer, started_at: time, end: integer })
  .meta({ id: 'run_place', description: 'The place of a run in the log.' })

const tokenState = z
  .object({
    token_id: uuid,
    run_id: uuid,
    run: runPlace.describe('The place of that run.'),
    hash: text,
    status: z.enum(['minted', 'consumed', 'revoked', 'expired']),
    wait: waitKind
      .optional()
      .describe('The kind of wait that the token may end. Absent in logs of format 1.'),
    expires_at: time,
    clock: reading.nullable().optional(),
    decision: decision
      .nullable()
      .describe(
        'The decision that consumed the token. Repeating it gets the same answer; another decision is refused.',
      ),
    digest: text.nullable(),
    reason: text.nullable(),
  })
  .meta({ id: 'token_state', description: 'A resume token.' })

const openRequest = z
  .object({ message_id: uuid, from: text.describe("An agent's id, or `operator`.") })
  .meta({ id: 'open_request', description: 'A request without a reply.' })

const programCall = z
  .object({ call_id: text, tool: text })
  .meta({ id: 'program_call', description: 'A call by an agent program.' })

const runStart = z
  .object({ seq: integer, offset: integer })
  .meta({ id: 'run_start', description: 'The place where a `run.started` begins.' })

const runState = z
  .object({
    run_id: uuid,
    boot_id: text,
    host_id: text
      .optional()
      .describe('The machine of that process. Absent if unknown, which counts as this machine.'),
    host_name: text.optional().describe('Its name, for a person.'),
    status: runStatus,
    origin: z.enum(['operator', 'mail', 'continuation']),
    phase: z
      .enum(['started', 'asked', 'calling', 'launched', 'answered'])
      .describe('The progress of an open run, as recovery finds it in the log.'),
    started_at: time,
    ended_at: time.nullable(),
    continues: uuid.nullable(),
    key: text.nullable(),
    digest: text.nullable(),
    turn_timeout_ms: integer.nullable(),
    prompts: z.array(location).describe('The records that have the prompt: one message, or several mails.'),
    requests: z.array(openRequest).describe('The requests in the prompt that have no reply yet.'),
    reply: location.nullable(),
    said: location.optional().describe("The record with the model's text before it refused."),
    terminates: flag.optional().describe("Whether that reply is the agent's last."),
    reason: runReason,
    error: runError.nullable(),
    usage: usage.nullable(),
    process: group.nullable(),
    left: leftPrograms.optional().describe('With the reason `other_host`.'),
    servers: z
      .array(group)
      .describe('Tool servers of the run. They are stopped after it ends, so a kill may leave them running.'),
    allow: z.array(text),
    steps_max: integer.nullable(),
    steps: integer.describe('Number of responses from the model.'),
    failures: integer.describe('Number of failed requests since the last response.'),
    calls: z.array(callState).describe('The calls of the latest response, in its order.'),
    calls_at: location.nullable().describe('The record with the inputs of `calls`.'),
    program_calls: z
      .array(programCall)
      .describe("Calls of substrat's tools by an agent program that have no result yet."),
    isCompacted: flag,
    wait: waitState.nullable(),
    answer: location
      .nullable()
      .describe(
        "A person's decision on the program's question. Null once the program has acted or a prompt includes the decision.",
      ),
    hasLaunched: flag.describe(
      'Whether this run, or a run that it continues or repeats, has launched an agent program for the prompt. The program may already have the prompt, and may have done part of the work.',
    ),
    repeats: uuid.optional().describe('The earlier run that this run repeats.'),
    start: runStart,
  })
  .meta({ id: 'run_state', description: 'The latest run.' })

const trouble = z
  .object({ status: runStatus, reason: runReason, error: runError.nullable() })
  .meta({ id: 'trouble', description: 'Why a run did not complete.' })

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

const state = z
  .object({
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
      "Start of the model's context: the first record, or the first that the last compaction keeps.",
    ),
    context_seq: integer,
    compaction: location.nullable().describe('The summary of all earlier records.'),
    run: runState.nullable(),
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
    warm: recordedServer.optional().describe('Absent without a kept server.'),
    lost: lost.optional().describe('The key index has the keys of the lost parts.'),
  })
  .describe('The fold of the log up to `log_bytes`.')

/** The whole file: the state with its version and its checksum. */
export const snapshot = framed(
  z.object({ snapshot: integer.describe('Version, 8.'), ...state.shape }),
).describe('The fields have this order.')

export type State = z.infer<typeof state>
export type SessionState = State['state']
export type Run = z.infer<typeof runState>
export type RunStatus = Run['status']
export type Call = z.infer<typeof callState>
export type Wait = z.infer<typeof waitState>
export type TokenEntry = z.infer<typeof tokenState>
/** The place of a record's line in the log. */
export type Location = z.infer<typeof location>
/** A message that the session must send because a run has ended or is waiting. */
export type OutboxEntry = z.infer<typeof outboxEntry>
export type Reminder = z.infer<typeof reminder>
/** A kept server of the agent program. It may be dead. */
export type RecordedServer = z.infer<typeof recordedServer>
/** The place of a key's run in the log. */
export type KeyEntry = z.infer<typeof keyEntry>
