/**
 * The JSON that commands on agents print (docs/commands.md). `OUTPUTS` in outputs.ts has the shape of each command.
 *
 * Released fields are frozen: a new version adds fields and removes none.
 */
import { z } from 'zod'
import { type ErrorCode, EXIT_STATUS } from '../errors.js'
import { holder } from './files.js'
import { schedule } from './output-schedule.js'
import { refusal, workspaceHost } from './snapshot.js'
import {
  actor,
  ask,
  context,
  flag,
  integer,
  json,
  sessionUsage,
  text,
  texts,
  time,
  usage,
  uuid,
  waitKind,
  watchedStatus,
} from './types.js'
import {
  ACTS,
  BUDGET_PERIODS,
  BUDGET_UNITS,
  RECOVERY_ROWS,
  REPLY_PARTS,
  RUN_STATUSES,
  SESSION_STATES,
  SHOWN_STATUSES,
  STATUSES,
} from './words.js'

const state = z.enum(SESSION_STATES)
const status = z.enum(STATUSES)
const shownStatus = z
  .enum(SHOWN_STATUSES)
  .meta({ id: 'shown_status', description: 'The one word that people get for an agent.' })
export const errorCode = z
  .enum(Object.keys(EXIT_STATUS) as ErrorCode[])
  .meta({ id: 'error_code', description: 'The code of an error.' })

export const budgetUse = z
  .object({
    agent_id: uuid.nullable().describe('The agent with the cap. Null for the home.'),
    path: text.nullable(),
    unit: z.enum(BUDGET_UNITS),
    max: z.number().describe('In milliseconds for `time`, like the other amounts.'),
    per: z.enum(BUDGET_PERIODS).nullable().describe('Null for a cap that never refills.'),
    spent: z.number().describe('By the agent and everything below it, in the current window.'),
    held: z.number().describe('The holds of running requests.'),
    left: z.number(),
    refills_at: time.nullable(),
  })
  .meta({ id: 'budget_use', description: 'A cap of a [budget](budgets.md), and its use.' })

export const agent = z
  .object({
    id: uuid,
    name: text.nullable(),
    path: text,
    title: text.nullable(),
    parent: uuid.nullable(),
    provider: text,
    model: text.nullable(),
    state,
    status,
    shown_status: shownStatus,
    workspace: text,
    created_at: time,
    updated_at: time,
    last_seq: integer,
    inbox: integer.describe('The number of pending messages.'),
    allow: z
      .array(text)
      .optional()
      .describe(
        'The tools that it may use without approval. Absent if there are none. The allow setting and a message may add to them.',
      ),
    refused: z
      .array(refusal)
      .optional()
      .describe(
        'Why turns could not begin since the latest turn began, and the keys whose messages never ran, oldest first. Absent if there are none.',
      ),
    next_slot: time.optional().describe('When the next slot of its schedules is due.'),
    budget: z.array(budgetUse).optional().describe('Its own caps. Absent if it has none.'),
    moved_to: text
      .optional()
      .describe('Where a move took the agent. Only if `state` is `terminated` by a move.'),
    stopped: flag
      .optional()
      .describe(
        'The process of its turn is stopped (SIGSTOP, a frozen container), so the turn does not go on. Absent otherwise.',
      ),
  })
  .meta({ id: 'agent', description: 'An agent.' })

export const unreadable = { id: uuid, status: z.literal('corrupt'), shown_status: z.literal('corrupt') }

export const corruptAgent = z
  .object({
    ...unreadable,
    path: text.nullable().describe('The last known path. Null if unknown.'),
    error: z.object({ code: errorCode, message: text }),
  })
  .meta({ id: 'corrupt_agent', description: 'An agent whose log cannot be read.' })

const run = z
  .object({
    id: uuid,
    status: z.enum(RUN_STATUSES),
    started_at: time,
    ended_at: time.nullable(),
    usage: usage.nullable().describe('Null if unknown.'),
    fresh: flag
      .optional()
      .describe('Present if its turn began a new conversation (`--fresh`, or `turn` of `context`).'),
  })
  .meta({ id: 'run', description: 'One attempt at a turn.' })

const wait = z
  .object({
    kind: waitKind.describe('Exit status 7 for `not_before`, otherwise 5.'),
    token: text
      .nullable()
      .describe(
        'Only of the command that created it, which prints it without `--json` if it has `--print-token`. Otherwise null.',
      ),
    token_id: uuid.nullable(),
    deadline_at: time.nullable(),
    not_before: time
      .nullable()
      .describe(
        'When a run that waits for a time can continue. For `budget`: when its window refills, or null.',
      ),
    why: text.optional().describe('For `budget` only: the cap that is reached.'),
    asks: z
      .array(
        z.object({
          call_id: text.optional().describe('For `tool_result` only.'),
          tool: text,
          input: ask.shape.input,
        }),
      )
      .describe('The calls that the turn waits for.'),
  })
  .meta({ id: 'wait', description: 'A waiting turn.' })

export const turn = z
  .object({
    agent,
    run: run.nullable().describe('Null without a turn, as after `send --queue`.'),
    reply: text.nullable(),
    incomplete: text
      .optional()
      .describe(
        'Only if `reply` may be incomplete: `length` if the model reached its limit of tokens, otherwise the word of its service.',
      ),
    wait: wait.nullable(),
  })
  .describe('The outcome of a turn.')

export const changed = z
  .object({ agent })
  .describe('The agent after the change. With `--recursive`, one line per agent, children first.')

const resultError = z
  .object({ code: errorCode, message: text, hint: text.nullable() })
  .meta({ id: 'result_error', description: 'Why the line has a nonzero exit status.' })

/** The last fields of each JSON line that `wait`, `deliver`, `recover` and `check` print. */
const resultEnd = { exit: integer.describe('The exit status for this agent.'), error: resultError.nullable() }

export const waited = z
  .object({
    ...turn.shape,
    agent: z.union([agent, corruptAgent]),
    run: run.nullable(),
    ...resultEnd,
  })
  .describe('One line per agent, in the order of the arguments. With `--all` or `--from`: the oldest first.')

export const delivered = z
  .object({
    agent: uuid,
    path: text.nullable(),
    turns: integer.describe('How many turns it ran.'),
    status: z.enum([...STATUSES, 'corrupt']),
    shown_status: shownStatus,
    inbox: integer.describe('Messages that are still pending.'),
    run: run.nullable().describe('The latest turn.'),
    ...resultEnd,
  })
  .describe('One line per agent. With `--all`, only agents that had a turn or have pending mail.')

export const recovered = z
  .object({
    agent: uuid,
    name: text.nullable(),
    row: z
      .enum(RECOVERY_ROWS)
      .nullable()
      .describe('The row of the [recovery table](recovery.md), and `found` its description.'),
    outcome: z
      .enum(['clean', 'marked', 'continued', 'held', 'failed'])
      .describe('`marked`: repaired. `held`: another process holds the agent. `failed`: see `error`.'),
    run: run.nullable(),
    shown_status: shownStatus.nullable().describe('Null if the agent does not exist.'),
    found: text,
    ...resultEnd,
  })
  .describe('One line per agent that it [selects](recovery.md#recover---all).')

export const checked = z
  .object({
    agent: uuid.nullable().describe('Null for the provider of new agents.'),
    path: text.nullable(),
    provider: text.nullable().describe('Null if the agent cannot be read.'),
    ready: flag.describe('Whether a turn could begin now, as far as the provider can tell.'),
    ...resultEnd,
  })
  .describe('One line per agent.')

export const cancelled = z
  .object({
    agents: z.array(
      z.object({
        agent,
        cancelled: flag.describe('False if there was no turn.'),
        forgotten: integer
          .optional()
          .describe('Refusals that are no longer listed. Absent if there were none.'),
      }),
    ),
  })
  .describe('Each agent, and whether its turn was cancelled.')

export const gated = z
  .object({
    agent,
    gated: flag,
    applied: flag.describe('False while a turn runs: the gate changes after it.'),
  })
  .describe('The agent and its gate.')

export const compacted = z
  .object({
    agent,
    compacted: flag.describe('False if there was nothing to leave out.'),
    how: z
      .enum(['summary', 'dropped'])
      .nullable()
      .describe('A `summary` by the model, or `dropped` without a summary.'),
    messages: integer.describe('How many messages are left out.'),
  })
  .describe('The agent, and the number of messages that its model no longer gets.')

const shownReminder = z
  .object({ reminder_id: uuid, due_at: time, every_ms: integer.nullable(), content: text })
  .meta({ id: 'reminder', description: 'A reminder that the agent has set.' })

const shownWatcher = z
  .object({ from: text, on: z.array(watchedStatus), once: flag })
  .meta({ id: 'watcher', description: 'A subscription to status changes of the agent.' })

const shownGate = z
  .object({ gated: flag, permits: integer.describe('Turns that a gated agent can still start.') })
  .meta({ id: 'gate', description: 'The gate of the agent.' })

const runningTool = z
  .object({ tool: text, input: json.nullable().describe('Null if it is large.'), started_at: time })
  .meta({ id: 'running_tool', description: 'A tool that runs now.' })

const host = z
  .object({ host_id: text, host_name: text.nullable() })
  .meta({ id: 'host', description: 'A machine.' })

export const grant = z
  .object({
    entry: text,
    by: z
      .enum(['spawn', 'set', 'approve', 'setting', 'environment'])
      .describe(
        'The command: `approve` is `approve --always`. `setting`: the `allow` of config.json, for every agent. `environment`: SUBSTRAT_ALLOW of this command.',
      ),
    since: time.optional().describe('Absent for `setting` and `environment`.'),
  })
  .meta({ id: 'grant', description: 'An entry that lets an agent use a tool without approval.' })

const act = z.object({ did: z.enum(ACTS), at: time, actor }).meta({
  id: 'act',
  description: 'An act of a person or a program on an agent.',
})

export const shown = z
  .object({
    ...turn.shape,
    run: run.nullable().describe('The latest turn, like `wait`.'),
    reply_is: z
      .enum(REPLY_PARTS)
      .nullable()
      .describe(
        '`final`: `reply` ended the latest turn. `so_far`: the turn has said this before its end. `previous`: it is of an earlier turn.',
      ),
    prompt: text.nullable().describe('The message that began the latest turn.'),
    preview: text
      .nullable()
      .describe(
        'Its request, the cause of its stop, its running tool, or its latest reply, at most 400 characters.',
      ),
    doing: z.array(runningTool).describe('The tools that run now, of substrat or of the agent program.'),
    format: integer.describe('The format of its log.'),
    title: text.nullable(),
    topic: text.nullable().describe('Its title, or else the first words of its first message.'),
    instructions: text.nullable(),
    options: texts,
    hold: flag,
    gate: shownGate,
    budgets: z
      .array(budgetUse)
      .optional()
      .describe(
        'All caps over it: those of the home, of the agents above it, and its own. Absent if there are none.',
      ),
    unanswered: integer
      .optional()
      .describe('How many requests under a cap had no answer. Their holds count as used. Absent for none.'),
    grants: z
      .array(grant)
      .describe(
        'The tools that it may use without approval: the entries of `allow`, then those of the setting.',
      ),
    on_unknown: z
      .array(text)
      .optional()
      .describe('Its rules for calls whose result a crash lost. Absent if it has none.'),
    context: context.describe('A new turn begins with this much of the earlier conversation.'),
    metadata: texts.describe('Texts set by the agent.'),
    reminders: z.array(shownReminder),
    schedules: z.array(schedule).optional().describe('Absent if it has none.'),
    watchers: z.array(shownWatcher),
    last_boot_seen: text
      .nullable()
      .describe('The process that last worked for the agent. Null before its first turn.'),
    host: host.nullable().describe('The machine of the latest run. Null if unknown.'),
    usage: sessionUsage
      .nullable()
      .describe('Total of the agent. Null if an earlier version wrote its snapshot.'),
    holder: holder.nullable().describe('The process that holds the agent.'),
    workspace_host: workspaceHost
      .optional()
      .describe('The host of its workspace. Only in a home that several hosts share.'),
    acts: z
      .array(act)
      .describe('The latest acts of people and programs on it: at most three, the newest first.'),
    trouble: text.nullable().describe('Why the latest turn did not complete.'),
    next: text.nullable().describe('The command to run. Null for a terminated agent.'),
    advice: text
      .optional()
      .describe(
        '`next` in a sentence, as on stderr: what to do or wait for before it. Only if there is more to say.',
      ),
  })
  .describe('An agent with its settings and its latest turn.')

export type Act = z.infer<typeof act>
export type BudgetUse = z.infer<typeof budgetUse>
export type AgentView = z.infer<typeof agent>
export type RunView = z.infer<typeof run>
export type WaitView = z.infer<typeof wait>
export type TurnResult = z.infer<typeof turn>
export type ResultEnd = z.infer<z.ZodObject<typeof resultEnd>>
export type WaitedAgent = z.infer<typeof waited>
export type DeliveredAgent = z.infer<typeof delivered>
export type CheckedAgent = z.infer<typeof checked>
export type RecoveredAgent = z.infer<typeof recovered>
export type CancelledAgent = z.infer<typeof cancelled>['agents'][number]
export type CompactedAgent = z.infer<typeof compacted>
export type GatedAgent = z.infer<typeof gated>
export type RunningTool = z.infer<typeof runningTool>
export type Grant = z.infer<typeof grant>
export type ShownAgent = z.infer<typeof shown>
