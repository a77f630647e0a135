/** The records of a turn and of its provider. */
import { z } from 'zod'
import { amounts } from '../budget.js'
import { askedFields } from '../message-fields.js'
import {
  ask,
  blob,
  call,
  content,
  flag,
  group,
  groupFields,
  integer,
  json,
  modelUsage,
  reading,
  runError,
  source,
  text,
  texts,
  time,
  usage,
  uuid,
  waitKind,
} from '../types.js'
import { CANCELLATIONS, INTERRUPTIONS, REFUSAL_CAUSES } from '../words.js'
import { actor, host_id, host_name, kind, message_id, programUsage, run_id, token_id } from './kind.js'

const { key, digest, ...otherOptions } = askedFields

export const run = {
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
    key,
    digest,
    continues: uuid.optional(),
    auto: flag.optional().describe('Whether it continues automatically.'),
    ...otherOptions,
    keeps_seq: integer
      .optional()
      .describe('With `last:N` of `context`: the first earlier record that the model still gets.'),
    keeps_offset: integer.optional().describe('Its byte offset in the log.'),
    repeats: uuid
      .optional()
      .describe(
        'An earlier run with the same key (`--retry`), whose agent program may already have the message.',
      ),
    actor: actor.describe('The one who continued the run `continues`. Absent if that was automatic.'),
  }),
  'run.resumed': kind('A process continues the open run, or its wait is over.', {
    run_id,
    boot_id: text,
    host_id,
    host_name,
    auto: flag,
    attempt: integer.describe('1, plus the automatic attempts since the turn last made progress.'),
    token_id: token_id.optional().describe('The token whose decision let the run continue.'),
    actor: actor.describe('The one who continued it. Absent if that was automatic, or by a token.'),
  }),
  'run.waiting': kind('The run is parked, and its process exits. Written again when the token is replaced.', {
    run_id,
    wait: waitKind.describe(
      '`tool_result`: for the result of a call from elsewhere. `budget`: a cap is reached.',
    ),
    asks: z.array(ask).optional(),
    token_id: token_id.optional().describe('Absent for `not_before`.'),
    deadline_at: time.optional(),
    not_before: time.optional().describe('With `budget`: when its window refills. Absent if it does not.'),
    clock: reading.optional(),
    why: text.optional().describe('The error behind `not_before`. With `budget`: the cap that is reached.'),
    needs: amounts.optional().describe('With `budget`: the most that the next request may use.'),
    missing: amounts.optional().describe('With `budget`: how much more the caps must allow for it.'),
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
    actor,
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
    undecided: flag
      .optional()
      .describe('With `other_host`: the outcome of a tool call is unknown too, and a person decides.'),
    actor: actor.describe('With `suspended`.'),
    ...programUsage,
  }),
  'run.programs_gone': kind(
    'The programs in `left` of the latest run are dead. Its reason is now `process_exit`, or `unknown_tool` if it was `undecided`.',
    {
      run_id,
      by: z.enum(['host', 'person']).describe('Their machine has checked, or `recover --host-gone`.'),
      leash: flag
        .optional()
        .describe(
          'With `host`: its leash has ended them, because the lease is over. No machine has checked.',
        ),
      actor: actor.describe('With `person`.'),
    },
  ),
  'turn.refused': kind(
    'A turn could not begin, and the command failed. Once for each key and cause since the latest turn began. With 100 refused keys that never ran, a further key is recorded once in 12 hours. A message of `send` is not stored, and mail stays in the inbox. This record starts nothing, and a repetition of the key runs the message.',
    {
      cause: z
        .enum(REFUSAL_CAUSES)
        .describe(
          '`authentication`: its provider has no key or login. `settings`: the provider rejects a setting, or its program or the workspace is not there. `not_installed`, `broken_plugin`: the provider cannot be loaded. `host`: the agent belongs to another host. `program`: a program of the interrupted turn may still run. `waiting`: an earlier turn waits.',
        ),
      code: text.describe('The [code](errors.md) of the error.'),
      message: text.describe('The error, at most 500 characters.'),
      command: text.describe('The command that failed, such as `substrat send`.'),
      key: text.optional().describe('The key of its message.'),
      digest: text.optional().describe('As in `run.started`.'),
    },
  ),
}

export const messages = {
  'message.user': kind('The prompt of a run, other than mail. `message_id` is derived from `run_id`.', {
    message_id,
    run_id,
    content,
    origin: z
      .enum(['operator', 'continuation'])
      .describe(
        '`continuation`: the [recovery prompt](recovery.md#the-recovery-prompt) to an agent program.',
      ),
    actor,
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
      incomplete: text
        .optional()
        .describe(
          "The reply may be incomplete. `length`: the model reached its limit of tokens. Otherwise the service's word for an end that substrat does not know.",
        ),
      ...programUsage,
    },
  ),
}

export const provider = {
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
    items_refused: z
      .boolean()
      .optional()
      .describe(
        'The service refused the items of earlier responses: it answered without them, and later requests leave them out.',
      ),
  }),
  'model.failed': kind('A request failed, or an agent program reported a usage limit.', {
    run_id: run_id.describe('The latest run, also ended, for the summary of `compact`.'),
    error: runError,
    retry_in_ms: integer.nullable().describe('Null if there is no retry.'),
    detail: text.optional(),
    usage: usage.optional(),
    model: text.optional().describe('The model that had begun to answer.'),
    answer_began: flag.optional().describe('The answer had begun, so the request may have been charged.'),
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
  'context.tried': kind(
    'The service refused the conversation, and the next request sends a shorter one. If the model answers it, `context.compacted` follows.',
    {
      run_id,
      how: z.enum(['summary', 'dropped']).describe('As in `context.compacted`.'),
      messages: integer.describe('How many messages are replaced.'),
      usage: usage.optional().describe('The usage of the request for the summary.'),
      model: text.optional().describe('The model that wrote the summary.'),
    },
  ),
  'context.compacted': kind(
    'The conversation was too long or refused, or a person has compacted it. The model gets `content` instead of all records before `keeps_seq`.',
    {
      run_id,
      content,
      how: z
        .enum(['summary', 'dropped'])
        .describe('A `summary` by the model, or `dropped`: no summary has some of the messages.'),
      keeps_seq: integer.describe('The first record that the model still gets.'),
      keeps_offset: integer.describe('Its byte offset in the log.'),
      messages: integer.describe('How many messages `content` replaces.'),
      responses: integer.describe('How many model responses precede `keeps_seq` in the log.'),
      usage: usage.optional().describe('The usage of the request for the summary.'),
      model: text.optional().describe('The model that wrote the summary.'),
      actor: actor.describe('The one who ran `compact`.'),
    },
  ),
  'session.seeded': kind(
    'The conversation of another agent (`fork`), or of this one for a new native session (`--reseed`). A program gets it in its next prompt.',
    {
      from: uuid.describe('The agent of the conversation.'),
      content: content.describe('The conversation as text. May be empty.'),
      conversation: content
        .optional()
        .describe(
          "For a fork with the same model provider, which gets them instead of `content`: JSON of the original's messages, with tool calls, results and `items`.",
        ),
      responses: integer.optional().describe('How many responses compaction had left out of `conversation`.'),
      last_seq: integer
        .optional()
        .describe('For `fork --at`: the last record of the original whose conversation it has.'),
    },
  ),
}
