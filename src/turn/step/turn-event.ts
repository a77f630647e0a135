/** What happens in a turn, and what it can lead to: the words of `step`. */

import type {
  Ask,
  CallRecord,
  ErrorDetail,
  ProcessGroup,
  PromptSource,
  RunError,
  Usage,
} from '../../session/fields.js'
import type { NewRecord } from '../../session/records.js'
import type { Decided, MintedToken } from '../tokens.js'

export type ProviderKind = 'model' | 'agent'

/** The mail that a run answers. */
type DeliveredMail = Omit<NewRecord<'mail.delivered'>, 'kind' | 'run_id' | 'call_id'>

export interface RunRequest {
  run_id: string
  boot_id: string
  /** What is asked: a person's message, a mail, or the going on with an interrupted run (a model needs no new message). */
  prompt: { origin: 'operator'; content: string } | { origin: 'mail'; mails: DeliveredMail[] } | Continuation
  key: string | null
  digest: string | null
  turn_timeout_ms: number | null
  allow: string[]
  steps_max: number | null
  /** An earlier run for which an agent's program was launched with the same message. */
  repeats?: string | undefined
  sources: PromptSource[]
}

export interface Continuation {
  origin: 'continuation'
  continues: string
  auto: boolean
  content: string | null
}

/** What the loop must know of the tools to decide; the tools themselves are `drive`'s. */
export interface ToolPolicy {
  /**
   * `program` starts a process, and is recorded with it. `ask` is answered by a person. `own` changes things too, but only
   * in this home and by ids that follow from the call, so that running it again does nothing twice.
   */
  kindOf(tool: string): 'reads' | 'own' | 'changes' | 'program' | 'ask' | 'unknown'
}

/** Whether recovery runs it again where a crash took its result. */
export function isRepeatable(policy: ToolPolicy, tool: string): boolean {
  return ['reads', 'own'].includes(policy.kindOf(tool))
}

/** What follows a failed attempt: decided by `retry`, from the settings. */
export interface RetryPlan {
  /** Ask again after so long; null: no more. */
  retryInMs: number | null
  /** Park until then; null: the run fails. */
  notBefore: string | null
}

/** What came of a call. `output` is the whole, where `content` is a part of it. */
export interface ToolOutcome {
  call_id: string
  content: string
  is_error: boolean
  output: { blob: string; bytes: number } | null
  /** What the call did to its agent itself, in the same batch as its result. */
  records?: NewRecord[]
  /** The agent is done: its last reply, instead of another request to the model. */
  ends?: string
}

export type TurnEvent =
  | { type: 'begin'; provider: ProviderKind; run: RunRequest }
  /** The first turn of a spawned agent: its run is in the log since the spawn. */
  | { type: 'ask'; provider: ProviderKind; sources: PromptSource[] }
  /** The open run of a process that is gone is taken up again, or one whose time has come. */
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
      /** What the wait asked. */
      asks: Ask[]
      sources: PromptSource[]
    }
  | { type: 'launched'; group: ProcessGroup }
  | { type: 'server_launched'; server: string; group: ProcessGroup }
  /** A server of the agent's program, started to outlive the turn; and that it is gone. */
  | { type: 'server_kept'; server_id: string; group: ProcessGroup }
  | { type: 'server_stopped'; server_id: string }
  | { type: 'state_known'; state: string }
  | {
      type: 'model_responded'
      reply: string
      stop: 'end' | 'length' | 'tool_calls'
      usage: Usage | null
      calls: CallRecord[]
    }
  | ({ type: 'model_failed'; error: RunError; plan: RetryPlan } & ErrorDetail)
  | { type: 'retry' }
  | {
      type: 'compacted'
      content: string
      how: 'summary' | 'dropped'
      keeps: { seq: number; offset: number }
      messages: number
      responses: number
    }
  | { type: 'tool_launched'; call_id: string; group: ProcessGroup }
  | ({ type: 'tool_finished' } & ToolOutcome)
  | {
      type: 'parked'
      token: MintedToken
      asks: Ask[]
    }
  /** An agent's program called one of substrat's tools. */
  | { type: 'program_called'; call: CallRecord }
  | ({ type: 'program_call_finished'; tool: string } & ToolOutcome)
  | { type: 'program_tool_started'; call: CallRecord }
  | ({ type: 'program_tool_finished'; tool: string } & ToolOutcome)
  /** The program asks for a person, and has ended its turn for that. */
  | {
      type: 'program_waits'
      wait: 'approval' | 'input'
      state: string | null
      token: MintedToken
      asks: Ask[]
    }
  /** The program's provider says when to come back. */
  | ({ type: 'program_limited'; state: string | null; error: RunError; notBefore: string } & ErrorDetail)
  /** A signal that was not substrat's has ended the program in the middle of its turn. */
  | { type: 'program_killed'; error: RunError }
  | { type: 'agent_replied'; reply: string }
  /** An agent provider has let go after its reply. */
  | { type: 'released'; state: string | null; usage: Usage | null; terminates: boolean }
  | ({ type: 'failed'; error: RunError } & ErrorDetail)
  /** `result`: of the tool that was running; it is known, because the tool was stopped first. */
  | { type: 'stopped'; reason: StopReason; state: string | null; result: ToolOutcome | null }

export type StopReason = 'turn_timeout' | 'terminated' | 'cancelled' | 'suspended' | 'shutdown'

/** Undefined: go on waiting for what is under way, or the run is over or parked. */
export type Effect =
  | { type: 'ask' }
  | { type: 'run_tool'; call_id: string }
  /** Mint a token and park, about these calls. */
  | { type: 'park'; call_ids: string[] }
  | { type: 'pause'; ms: number }
  | { type: 'compact' }

export interface Step {
  records: NewRecord[]
  effect?: Effect
}
