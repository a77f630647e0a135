/**
 * The record kinds, each with its fields. Released kinds and fields are frozen. A new field is optional, and a retired kind
 * keeps its name here so that it is never reused.
 *
 * docs/format.md, the JSON Schemas and the validators are made from these definitions.
 */
import { z } from 'zod'
import {
  ask,
  blob,
  call,
  content,
  decision,
  flag,
  group,
  groupFields,
  integer,
  json,
  lostRequest,
  metadata,
  modelUsage,
  reading,
  runError,
  source,
  status,
  text,
  texts,
  time,
  usage,
  uuid,
  waitKind,
  watchedStatus,
} from './types.js'
import { CANCELLATIONS, INTERRUPTIONS } from './words.js'

/** Every record has these fields, `kind` after `ts`, and then the fields of its kind. */
export const place = {
  seq: integer,
  ts: time,
  batch: z.tuple([integer, integer]),
}

const run_id = uuid
const message_id = uuid
const token_id = uuid
const host_id = text.optional().describe('The machine of the process: a hash of its machine-id.')
const host_name = text.optional().describe('The name of that machine, for a person.')
/** The usage of an agent program in this run since the last record with a usage. */
const programUsage = {
  usage: usage.optional().describe('The usage of an agent program since the last record with its usage.'),
  models: z.array(modelUsage).optional().describe('The same, per model.'),
}

const session = {
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
      metadata: metadata.optional().describe('Null removes a key.'),
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
  'session.terminated': kind('The agent ends permanently.', {}),
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

const run = {
  'run.started': kind('A turn starts. Provider, model and options are fixed for the run.', {
    run_id,
    boot_id: text,
    host_id,
    host_name,
    origin: z
      .enum(['operator', 'mail', 'continuation'])
      .describe('`continuation`: continues the interrupted run `continues`.'),
    provider: text,
    model: text.nullable(),
    options: texts,
    key: text.optional().describe("The message's key (`--key`)."),
    digest: text
      .optional()
      .describe("The SHA-256 of the message's bytes. A repeated key with another message is refused."),
    continues: uuid.optional(),
    auto: flag.optional().describe('Whether it continues automatically.'),
    turn_timeout_ms: integer.optional(),
    allow: z.array(text).optional(),
    steps_max: integer.optional().describe('Limit of model requests (`--max-steps`). Default: 200.'),
    repeats: uuid
      .optional()
      .describe(
        'An earlier run with the same key (`--retry`), whose agent program may already have the message.',
      ),
  }),
  'run.resumed': kind('A process continues the open run, or its wait is over.', {
    run_id,
    boot_id: text,
    host_id,
    host_name,
    auto: flag,
    attempt: integer.describe('1, plus the automatic attempts since the turn last made progress.'),
    token_id: token_id.optional().describe('The token whose decision let the run continue.'),
  }),
  'run.waiting': kind('The run is parked, and its process exits. Written again when the token is replaced.', {
    run_id,
    wait: waitKind.describe('`tool_result`: for the result of a call from elsewhere. `budget` is reserved.'),
    asks: z.array(ask).optional(),
    token_id: token_id.optional().describe('Absent for `not_before`.'),
    deadline_at: time.optional(),
    not_before: time.optional(),
    clock: reading.optional(),
    why: text.optional().describe('The error behind `not_before`.'),
    ...programUsage,
  }),
  'run.completed': kind('The turn ended with its reply.', {
    run_id,
    usage: usage.optional().describe('Total of the run.'),
    models: z
      .array(modelUsage)
      .optional()
      .describe('The usage of an agent program per model, since the last record with its usage.'),
    terminates: flag
      .optional()
      .describe("True for the agent's last turn: it terminates once its replies are sent."),
  }),
  'run.failed': kind('The turn failed.', {
    run_id,
    error: runError,
    said: content.optional().describe('The text before a refusal, not a reply.'),
    detail: text.optional(),
    ...programUsage,
  }),
  'run.cancelled': kind('The turn was stopped and will not continue.', {
    run_id,
    reason: z
      .enum(CANCELLATIONS)
      .describe('`superseded`: by another message of a person. `log_damaged`: see `session.rebuilt`.'),
    ...programUsage,
  }),
  'run.interrupted': kind('The turn was cut short and may continue in another run.', {
    run_id,
    reason: z
      .enum(INTERRUPTIONS)
      .describe(
        '`process_exit`: the holder died. `process_restart`: the machine restarted too. `program_killed`: a signal that substrat did not send ended the agent program, or the program exited with status 0 during the turn. `shutdown`: a signal stopped the holder. `suspended`: by `suspend`. `unknown_tool`: the outcome of a tool call is unknown. `wait_timeout`: the deadline passed without a decision. `program_alive`: a program of the run may still be running and cannot be killed. `other_host`: the same on another machine.',
      ),
    error: runError.optional().describe('The signal or the status that ended the agent program.'),
    left: z.array(group).optional().describe('With `other_host`: the programs.'),
    host_id: text.optional().describe('With `other_host`: the machine that could not check them.'),
    ...programUsage,
  }),
  'run.programs_gone': kind(
    'The programs in `left` of the latest run are dead. Its reason is now `process_exit`.',
    {
      run_id,
      by: z.enum(['host', 'person']).describe('Their machine has checked, or `recover --host-gone`.'),
    },
  ),
}

const messages = {
  'message.user': kind('The prompt of a run, other than mail. `message_id` is derived from `run_id`.', {
    message_id,
    run_id,
    content,
    origin: z
      .enum(['operator', 'continuation'])
      .describe(
        '`continuation`: the [recovery prompt](recovery.md#the-recovery-prompt) to an agent program.',
      ),
  }),
  'message.notice': kind('`content` informs the model of an interruption.', {
    run_id,
    content,
    attempt: integer.describe('As in `run.resumed`.'),
  }),
  'message.agent': kind(
    'Text of the model or program, also beside tool calls. `message_id` is derived from `run_id` and the step.',
    {
      message_id,
      run_id,
      content,
      terminates: flag
        .optional()
        .describe('Whether the agent ends with this reply, although its program still runs.'),
      ...programUsage,
    },
  ),
}

const provider = {
  'model.requested': kind('A request goes to the model. Written before it is sent.', { run_id }),
  'model.responded': kind('The model answered.', {
    run_id,
    stop: z.enum(['end', 'length', 'tool_calls']),
    usage: usage.optional(),
    model: text.optional().describe('The model that answered.'),
    calls: z.array(call).optional().describe('In order.'),
    items: z
      .array(json)
      .optional()
      .describe(
        "The provider's own items, such as reasoning with a signature. It gets them back in this order, unchanged.",
      ),
    items_blob: blob.optional().describe('A blob of the JSON of `items`, if that is too large for the line.'),
  }),
  'model.failed': kind('A request failed, or an agent program reported a usage limit.', {
    run_id,
    error: runError,
    retry_in_ms: integer.nullable().describe('Null if there is no retry.'),
    detail: text.optional(),
    usage: usage.optional(),
    model: text.optional().describe('The model that had begun to answer.'),
  }),
  'provider.started': kind(
    'An agent program is launched (written before it runs), or its kept server takes the turn. The fields are those of `group`.',
    { run_id, ...groupFields },
  ),
  'provider.state': kind(
    "The data that restores the provider's session. The latest counts, until `session.seeded`.",
    {
      run_id: run_id.optional().describe('Absent after a rebuild.'),
      state: text.describe('Bytes of the provider, in base64.'),
    },
  ),
  'prompt.assembled': kind('Files are read into the prompt, in this order.', {
    run_id,
    sources: z.array(source),
  }),
  'context.compacted': kind(
    'The conversation was too long. The model gets `content` instead of all records before `keeps_seq`.',
    {
      run_id,
      content,
      how: z
        .enum(['summary', 'dropped'])
        .describe('A `summary` by the model, or `dropped` without a summary.'),
      keeps_seq: integer.describe('The first record that the model still gets.'),
      keeps_offset: integer.describe('Its byte offset in the log.'),
      messages: integer.describe('How many messages `content` replaces.'),
      responses: integer.describe('How many model responses precede `keeps_seq` in the log.'),
      usage: usage.optional().describe('The usage of the request for the summary.'),
      model: text.optional().describe('The model that wrote the summary.'),
    },
  ),
  'session.seeded': kind(
    'The program gets the conversation as text in its next prompt, after `fork` or `--reseed`.',
    { from: uuid.describe('The agent of the conversation.'), content: content.describe('May be empty.') },
  ),
}

const call_id = text
const tool = text

const tools = {
  'tool.started': kind('A call starts. Written before it runs.', {
    run_id,
    call_id,
    tool,
    group: group.optional().describe('If the tool is a program.'),
    input: json
      .optional()
      .describe(
        "Only if an agent program called one of substrat's tools. Otherwise `model.responded` has the input.",
      ),
    input_blob: blob.optional(),
  }),
  'tool.finished': kind('A call has its result. The model gets `content`.', {
    run_id,
    call_id,
    tool,
    content,
    is_error: flag,
    output: blob.optional(),
  }),
  'tool.deferred': kind(
    'The result of a started call will come from elsewhere. The run then waits for `tool_result`.',
    {
      run_id,
      call_id,
      tool,
      content: content.describe('The text of the tool about it, for a person.'),
      deadline_at: time.optional().describe('The tool asks for the result by then.'),
    },
  ),
  'program.tool_started': kind(
    'An agent program started its own tool. This record and the next are only for readers.',
    { run_id, call_id, tool, input: json.optional(), input_blob: blob.optional() },
  ),
  'program.tool_finished': kind('That tool finished.', {
    run_id,
    call_id,
    tool,
    content,
    is_error: flag,
    output: blob.optional(),
  }),
  'server.started': kind('A tool server (MCP) starts. It ends with the turn.', {
    run_id,
    server: text.describe('Its name in `mcp_servers`.'),
    group,
  }),
  'server.kept': kind('A server that outlives the turn starts. Written before it runs.', {
    server_id: uuid.describe('`SUBSTRAT_SERVER` in its environment.'),
    group,
  }),
  'server.stopped': kind('That server is gone.', { server_id: uuid }),
}

const waits = {
  'token.minted': kind(
    'A resume token is created, in the same batch as `run.waiting`. The secret is `st_<token_id>_<random>`.',
    {
      run_id,
      token_id,
      hash: text.describe('SHA-256 of the whole secret, which is not stored.'),
      expires_at: time,
      clock: reading.optional(),
      wait: waitKind.optional().describe('The kind of wait that the token may end.'),
    },
  ),
  'token.consumed': kind('A decision was made with the token.', {
    run_id,
    token_id,
    decision: decision.describe('`input` is an answer, `result` a tool output from elsewhere.'),
    digest: text.describe(
      'SHA-256 of the JSON array `[decision, text]`. With `--failed` or `--call`, a third element has the object `{failed, call}`. Only the same decision is acknowledged again.',
    ),
    clock: reading.optional(),
  }),
  'token.revoked': kind('The token stops working: a new token, a new message, or the end of the run.', {
    run_id,
    token_id,
    reason: z
      .enum(['rotated', 'superseded', 'ended', 'expired'])
      .describe('`expired`: only in logs of format 1, which have no `token.expired`.'),
  }),
  'token.expired': kind('The deadline of the token passed before a decision.', { run_id, token_id }),
  'wait.answered': kind('A person decided a question of an agent program, never with `result`.', {
    run_id,
    decision,
    content: content.describe('The reason or answer. May be empty.'),
    asks: z.array(ask),
  }),
}

const mail = {
  'mail.delivered': kind('A message becomes part of the run. Its file is removed afterwards.', {
    run_id,
    message_id,
    from: text,
    from_path: text.optional().describe("The sender's path when it sent the message."),
    mail_kind: z
      .enum(['request', 'response', 'notification', 'error'])
      .describe('See [mail](mail.md#kinds).'),
    reply_to: uuid.optional(),
    content,
    sent_at: time,
    call_id: text.optional().describe('The call whose result it is. Without it, the message is a prompt.'),
    reminder_id: uuid.optional().describe('The reminder that became this message.'),
    clock: reading
      .optional()
      .describe('For a reminder: the clock at delivery. Unlike `ts` it may be behind earlier records.'),
  }),
  'mail.replied': kind('The agent answered this request before the end of its run.', {
    run_id,
    message_id,
  }),
  'mail.answered': kind('All due replies and errors of ended runs are in the inboxes.', {}),
}

const reminders = {
  'reminder.set': kind('The agent sets a reminder for itself.', {
    reminder_id: uuid,
    content,
    due_at: time.describe('The first delivery.'),
    every_ms: integer.nullable().describe('Null for a single one.'),
    clock: reading.optional().describe('When the delay began. Absent if a time was named.'),
  }),
  'reminder.cancelled': kind('The agent cancels it.', { reminder_id: uuid }),
}

const from = text

const control = {
  'agent.gated': kind('The agent runs no turn until it is ungated or permitted.', { message_id, from }),
  'agent.ungated': kind('The gate is removed.', { message_id, from }),
  'agent.permitted': kind('A gated agent may run one turn more.', { message_id, from }),
  'agent.poked': kind('The latest turn must be continued or tried again.', { message_id, from }),
  'agent.watched': kind('`from` subscribes to these changes of status.', {
    message_id,
    from: uuid,
    on: z.array(watchedStatus),
    once: flag.describe('Whether the subscription ends with its first report.'),
  }),
  'agent.unwatched': kind('The subscription of `from` ends.', { message_id, from: uuid }),
}

const clock = {
  'clock.set_back': kind(
    'The wall clock is behind the beginning of a duration ([time](#time)). The rest of each duration counts from here.',
    { clock: reading },
  ),
  'status.derived': kind(
    'The derived status changed with this batch. Only for readers that follow the log.',
    { status },
  ),
}

const outbound_id = uuid.describe("Derived from the agent's id and the `seq` of the cause.")

/** Kinds that later commands will write. Until then no command writes them, and a log with one is refused as newer. */
const reserved = {
  'outbound.queued': kind('A message must leave the machine. In the batch of its cause.', {
    outbound_id,
    target: text.describe('The configured target.'),
    event: z.enum(['waiting', 'failed', 'interrupted', 'limited', 'completed', 'message']),
    run_id: run_id.optional(),
    thread: text.optional().describe('The conversation at the target.'),
    content: content.optional(),
    expires_at: time.optional(),
    clock: reading.optional(),
  }),
  'outbound.sent': kind('The target accepted it.', {
    outbound_id,
    attempt: integer,
    remote_id: text.optional().describe('The id that the target gave.'),
  }),
  'outbound.failed': kind('An attempt failed. The next one is not before `not_before`.', {
    outbound_id,
    attempt: integer,
    why: text,
    not_before: time,
    clock: reading.optional(),
  }),
  'outbound.dropped': kind('It will not be sent.', {
    outbound_id,
    reason: z.enum(['attempts', 'expired', 'refused', 'queue_full', 'no_target']),
    why: text.optional(),
  }),
  'session.moved': kind('The agent lives elsewhere now. This log is closed.', {
    move_id: uuid,
    to: text.describe('Where it went, for a person.'),
    digest: text.optional().describe('SHA-256 of the exported bundle.'),
  }),
  'schedule.set': kind('A message is sent to the agent at each time of a calendar.', {
    schedule_id: uuid,
    calendar: text.describe('A cron expression.'),
    time_zone: text,
    content,
    next_at: time,
  }),
  'schedule.fired': kind('The message of one time was delivered.', {
    schedule_id: uuid,
    message_id,
    due_at: time,
    next_at: time,
  }),
  'schedule.cancelled': kind('The schedule ends.', { schedule_id: uuid }),
}

/** The sections of docs/format.md, Record kinds. */
export const RECORD_SECTIONS = {
  Session: session,
  Run: run,
  'Messages of a turn': messages,
  Provider: provider,
  Tools: tools,
  'Waits and tokens': waits,
  Mail: mail,
  Reminders: reminders,
  Control: control,
  'Clock and status': clock,
  Reserved: reserved,
}

/** The kinds that commands write and read. */
export const RECORDS = {
  ...session,
  ...run,
  ...messages,
  ...provider,
  ...tools,
  ...waits,
  ...mail,
  ...reminders,
  ...control,
  ...clock,
}

export type RecordKind = keyof typeof RECORDS

function kind<S extends z.ZodRawShape>(description: string, fields: S): z.ZodObject<S> {
  return z.object(fields).describe(description)
}
