/** The latest run in the state, with its calls, its wait and its tokens. */
import { z } from 'zod'
import { amounts } from './budget.js'
import { stateFields } from './message-fields.js'
import {
  decision,
  flag,
  group,
  integer,
  reading,
  runError,
  text,
  time,
  usage,
  uuid,
  waitKind,
} from './types.js'
import { CANCELLATIONS, INTERRUPTIONS, RUN_STATUSES } from './words.js'

export const runStatus = z.enum(RUN_STATUSES)
const runReason = z.enum([...INTERRUPTIONS, ...CANCELLATIONS]).nullable()

export const location = z
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
    attempts: integer.optional().describe('How often it has started, if more than once.'),
    edited_at: location.optional().describe('The record with the arguments that a person chose.'),
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
    why: text.optional().describe('With `budget`: the cap that is reached.'),
    needs: amounts.optional().describe('With `budget`: the most that the next request may use.'),
    missing: amounts.optional().describe('With `budget`: how much more the caps must allow for it.'),
  })
  .meta({ id: 'wait_state', description: 'The wait of a parked run.' })

const leftPrograms = z
  .object({
    groups: z.array(group),
    checked_by: text.optional().describe('The machine that could not check them.'),
    undecided: flag.optional().describe('The outcome of a tool call is unknown too.'),
  })
  .meta({ id: 'left_programs', description: 'Programs that may still be running on another machine.' })

const runPlace = z
  .object({ seq: integer, offset: integer, started_at: time, end: integer })
  .meta({ id: 'run_place', description: 'The place of a run in the log.' })

export const tokenState = z
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
    key: text.optional().describe('The `--key` of the answer that consumed the token.'),
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

export const runState = z
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
    ...stateFields,
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
    steps: integer.describe('Number of responses from the model.'),
    failures: integer.describe('Number of failed requests since the last response.'),
    calls: z.array(callState).describe('The calls of the latest response, in its order.'),
    calls_at: location.nullable().describe('The record with the inputs of `calls`.'),
    program_calls: z
      .array(programCall)
      .describe("Calls of substrat's tools by an agent program that have no result yet."),
    isCompacted: flag.describe('Whether the run itself has compacted the conversation.'),
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

export const trouble = z
  .object({ status: runStatus, reason: runReason, error: runError.nullable() })
  .meta({ id: 'trouble', description: 'Why a run did not complete.' })

export type Run = z.infer<typeof runState>
export type RunStatus = Run['status']
export type Call = z.infer<typeof callState>
export type Wait = z.infer<typeof waitState>
export type TokenEntry = z.infer<typeof tokenState>
/** The place of a record's line in the log. */
export type Location = z.infer<typeof location>
