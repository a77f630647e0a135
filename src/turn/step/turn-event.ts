/** The types of `step`: the events of a turn, and the effects that follow from them. */

import type { SlotRecord } from '../../schedule/plan.js'
import type { MessageOptions } from '../../schema/message.js'
import type {
  Actor,
  Ask,
  CallRecord,
  ProcessGroup,
  PromptSource,
  RunError,
  Usage,
  Used,
} from '../../schema/types.js'
import type { CheckFinding } from '../../schema/words.js'
import type { ErrorDetail, NewRecord } from '../../session/records.js'
import type { Call } from '../../session/state.js'
import type { Over } from '../budget/turn-budget.js'
import type { Decided, MintedToken } from '../tokens.js'
import type { UnknownAction } from '../tools/on-unknown.js'

export type ProviderKind = 'model' | 'agent'

/** A mail that a run answers. */
type DeliveredMail = Omit<NewRecord<'mail.delivered'>, 'kind' | 'run_id' | 'call_id'>

export interface RunRequest extends MessageOptions {
  run_id: string
  boot_id: string
  /** A person's message, mail, or the continuation of an interrupted run (for a model without new content). */
  prompt:
    | { origin: 'operator'; content: string }
    | { origin: 'mail'; mails: DeliveredMail[]; slots?: SlotRecord[] | undefined }
    | Continuation
  /** An earlier run that launched the agent program with the same message. */
  repeats?: string | undefined
  /** Where the conversation of a model begins, if the agent's `context` leaves out earlier turns. */
  keeps?: { seq: number; offset: number } | undefined
  sources: PromptSource[]
}

export interface Continuation {
  origin: 'continuation'
  continues: string
  auto: boolean
  content: string | null
}

/** The facts about tools that `step` needs for its decisions. `drive` has the tools themselves. */
export interface ToolPolicy {
  /**
   * `program` starts a process, which its record names. `ask` is answered by a person. `own` changes only this home, under
   * ids derived from the call, so repeating it has no further effect. For the rest see `Tool`.
   */
  kindOf(tool: string): 'reads' | 'own' | 'changes' | 'program' | 'ask' | 'unknown'
  /** Whether a pattern of `allow` covers the arguments of that call. */
  covers?(allow: string[], callId: string): boolean
  /** The rule for that call if a crash lost its result. Undefined: the setting `recovery.unknown_tool` decides. */
  ruleFor?(callId: string): UnknownAction | undefined
}

/** Whether the call has no further effect when it runs again. */
export function isRepeatable(policy: ToolPolicy, tool: string): boolean {
  return ['reads', 'own'].includes(policy.kindOf(tool))
}

/**
 * Whether the turn that continues decides about the call if a crash lost its result. It runs the call again, perhaps after a check.
 * Any other such call gets the result "outcome unknown" from recovery.
 */
export function isLeftToTurn(policy: ToolPolicy, { tool, call_id }: Pick<Call, 'tool' | 'call_id'>): boolean {
  if (isRepeatable(policy, tool)) return true
  const rule = policy.ruleFor?.(call_id)?.do
  return rule === 'rerun' || rule === 'check' || rule === 'hint'
}

/** The next step after a failed attempt. `planRetry` decides it from the settings. */
export interface RetryPlan {
  /** Ask again after this time; null: no retry. */
  retryInMs: number | null
  /** Park until this time (ISO 8601); null: the run fails, unless it is retried. */
  notBefore: string | null
}

/** The outcome of a call. `output` is the whole output if `content` is only an excerpt. */
export interface ToolOutcome {
  call_id: string
  content: string
  is_error: boolean
  output: { blob: string; bytes: number } | null
  /** The call's effects on its own agent, in the same batch as its result. */
  records?: NewRecord[]
  /** The agent's last reply. If set, the agent is done and its model is not asked again. */
  ends?: string
  /** The tool was stopped at its time limit. */
  timed_out?: true
  /** The result will come from elsewhere, and `content` only describes it. */
  deferred?: Deferral
}

export interface Deferral {
  /** When the tool asks for the result at the latest; null: as long as a token is valid. */
  deadline_at: string | null
}

/** A shorter conversation, in which `content` replaces all records before `keeps`. */
export interface Shorter {
  content: string
  how: 'summary' | 'dropped'
  keeps: { seq: number; offset: number }
  messages: number
  responses: number
  /** The usage of the request for the summary. */
  usage?: Usage
  model?: string
}

export type TurnEvent =
  | { type: 'begin'; provider: ProviderKind; run: RunRequest }
  /** The first turn of a spawned agent, whose run the spawn has already recorded. */
  | { type: 'ask'; provider: ProviderKind; sources: PromptSource[] }
  /** Continues the open run of a dead process, or a run parked until a time that has come. */
  | {
      type: 'go_on'
      provider: ProviderKind
      boot_id: string
      auto: boolean
      notice: string | null
      sources: PromptSource[]
    }
  /** A person has decided about the parked calls. */
  | {
      type: 'decided'
      provider: ProviderKind
      boot_id: string
      decided: Decided
      /** The questions of the wait. */
      asks: Ask[]
      sources: PromptSource[]
    }
  | { type: 'launched'; group: ProcessGroup }
  | { type: 'server_launched'; server: string; group: ProcessGroup }
  | { type: 'server_failed'; server: string; reason: string; stderr: string }
  /** The agent program has a new server that may outlive the turn; `server_stopped`: that server ended. */
  | { type: 'server_kept'; server_id: string; group: ProcessGroup }
  | { type: 'server_stopped'; server_id: string }
  | { type: 'state_known'; state: string }
  | {
      type: 'model_responded'
      reply: string
      stop: 'end' | 'length' | 'tool_calls'
      /** Why the reply may be incomplete. */
      incomplete?: string
      usage: Usage | null
      /** The model that answered, if the provider names it. */
      model?: string
      calls: CallRecord[]
      /** The provider's own items. */
      items?: StoredItems
      /** The service refused the items of earlier responses. */
      itemsRefused?: boolean
      /** The conversation that was answered, if it was a shorter one. It is the conversation from now on. */
      compacted?: Shorter
      /** How many responses in a row, before this one, had only calls whose arguments could not be read. */
      spoiledBefore?: number
    }
  | ({
      type: 'model_failed'
      error: RunError
      plan: RetryPlan
      /** It was the request for the summary that a compaction needs. */
      isSummary?: boolean
      /** How many shorter conversations this request has tried. Default: 0. */
      trials?: number
      /** The conversation was answered before, with the same model and options. */
      wasAnswered?: boolean
      /** How many times in a row the turn went on without the results of its calls, and its next results were refused too. */
      droppedInARow?: number
    } & ErrorDetail)
  | { type: 'retry' }
  /** A cap over the agent does not allow the next request. `ended`: how the program's turn ended. */
  | ({ type: 'over_budget'; token: MintedToken; ended?: { error: RunError } & Used } & Over)
  /** The next request sends a shorter conversation. */
  | { type: 'shortened'; shorter: Shorter }
  /** `attempt`: only if the call runs again. */
  | { type: 'tool_launched'; call_id: string; group: ProcessGroup; attempt?: number }
  /** A call that starts no process of its own runs again. */
  | { type: 'tool_repeated'; call_id: string; attempt: number }
  | { type: 'check_launched'; call_id: string; command: string; group: ProcessGroup }
  /** `result`: of the call, unless it was not done. */
  | { type: 'tool_checked'; call_id: string; found: CheckFinding; said: string; result: ToolOutcome | null }
  | ({ type: 'tool_finished' } & ToolOutcome)
  | {
      type: 'parked'
      token: MintedToken
      asks: Ask[]
    }
  /** An agent program called one of substrat's tools. */
  | { type: 'program_called'; call: CallRecord }
  | ({ type: 'program_call_finished'; tool: string } & ToolOutcome)
  | { type: 'program_tool_started'; call: CallRecord }
  | ({ type: 'program_tool_finished'; tool: string } & ToolOutcome)
  /** The program asked a question to a person, and ended its turn to wait for the answer. */
  | ({
      type: 'program_waits'
      wait: 'approval' | 'input'
      state: string | null
      token: MintedToken
      asks: Ask[]
    } & Used)
  /** The program's provider refuses further work until a given time. */
  | ({ type: 'program_limited'; state: string | null; error: RunError; notBefore: string } & ErrorDetail)
  /** A signal that substrat did not send ended the program in mid-turn. */
  | ({ type: 'program_killed'; error: RunError } & Used)
  | ({ type: 'agent_replied'; reply: string } & Used)
  /** The agent provider released its session after the reply. It has a usage only if the reply's record has none. */
  | ({ type: 'released'; state: string | null; terminates: boolean } & Used)
  | ({ type: 'failed'; error: RunError } & ErrorDetail)
  /**
   * `result`: of the tool that was running. It is known, because the tool is stopped before the turn. `by`: the one who asked for the stop, if
   * that is known.
   */
  | ({
      type: 'stopped'
      reason: StopReason
      state: string | null
      result: ToolOutcome | null
      by?: Actor | undefined
    } & Used)

/** In the record itself, or in a blob that is on disk already. */
export type StoredItems = Pick<NewRecord<'model.responded'>, 'items' | 'items_blob'>

/** `unknown_tool`: a tool call was cut short, and a person decides. */
export type StopReason =
  | 'unknown_tool'
  | 'turn_timeout'
  | 'terminated'
  | 'cancelled'
  | 'suspended'
  | 'shutdown'

/** An undefined effect: something is still in flight, or the run is over or parked. */
export type Effect =
  | { type: 'ask' }
  | { type: 'run_tool'; call_id: string }
  /** Mint a token and park, about these calls: for a decision, or for the results of deferred calls. */
  | { type: 'park'; call_ids: string[] }
  /** `before`: the effect that follows. Default: the model is asked again. */
  | { type: 'pause'; ms: number; before?: 'compact' }
  | { type: 'compact' }
  /** Wait until running requests of other agents end, which hold what the next request needs. */
  | { type: 'await_budget'; why: string }

export interface Step {
  records: NewRecord[]
  effect?: Effect
}
