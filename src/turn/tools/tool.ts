/** The types of a tool, and checks of its input. */
import type { JsonObject, ToolDefinition } from '../../provider/contract.js'
import type { LaunchCommand, LaunchedProgram } from '../../provider/host-contract.js'
import type { NewRecord } from '../../session/records.js'
import type { TreePorts } from './tree-ports.js'

export interface Tool extends ToolDefinition {
  /**
   * - `reads`: changes nothing. Needs no approval. Runs again after a crash.
   * - `own`: changes only this home, under ids derived from the call. Needs approval unless allowed. Runs again after a crash.
   * - `changes`: needs approval unless allowed. Does not run again after a crash.
   * - `program`: like `changes`, and starts a process.
   * - `ask`: a person answers.
   */
  kind: 'reads' | 'own' | 'changes' | 'program' | 'ask'
  /** Whether its tool server calls it read-only or idempotent. */
  isHarmlessAgain?: boolean
  /** Whether it waits for other agents. Then only the turn's timeout bounds it. */
  waits?: boolean
  /** Throws an Error whose message becomes the result for the model. */
  run(input: JsonObject, context: ToolContext): Promise<string | Buffer | ToolAnswer>
}

/** Thrown if a tool's process failed or was killed. The message has its output. */
export class ProcessEnd extends Error {
  constructor(
    message: string,
    /** `killed`: by a signal that substrat did not send. */
    readonly end: 'failed' | 'killed',
  ) {
    super(message)
  }
}

export interface ToolAnswer {
  content: string
  is_error?: boolean
  /** The call's effects on its own agent, durable in one batch with the result. */
  records?: NewRecord[]
  /** The agent's last reply. If set, the agent is done. */
  ends?: string
  /** Whether the awaited reply is still to come. If the turn is interrupted, the call runs again when the turn continues. */
  isOpen?: boolean
  /** The result will come from elsewhere, and `content` only describes it. The turn waits for it without a process. */
  deferred?: { deadline_ms: number | null }
}

export interface ToolContext {
  workspace: string
  /** Aborted when the turn is stopped or the tool times out. */
  signal: AbortSignal
  /** Starts the program of this call. It begins to run once its process group is durable. */
  launch(command: LaunchCommand): Promise<LaunchedProgram>
  /** The home's root, with the user's skills (see `prompt.ts`). */
  home: string
  call: CallContext
  /** Whether the run may use that tool without approval. */
  isAllowed(tool: string): boolean
  tree: TreePorts
}

/**
 * `id` is the same whenever this call runs again, and another one for any other call. `attempt`: 1 for the first time.
 * `message_key`: the key of the message whose turn made the call.
 */
export interface CallIdentity {
  id: string
  attempt: number
  message_key: string | null
}

/** The identity in the environment of the call's program. */
export function variablesOf({ id, attempt }: Omit<CallIdentity, 'message_key'>): Record<string, string> {
  return { SUBSTRAT_CALL: id, SUBSTRAT_ATTEMPT: String(attempt) }
}

export interface CallContext {
  run_id: string
  call_id: string
  /**
   * The call's unique place in all logs. The ids of agents and messages that the call creates are derived from it. The run's
   * id would not do: after a crash the call may continue in another run. Nor would `call_id`, which some models reuse.
   */
  made_at: string
  /** Which call this is, for the world outside. Absent for a call of an agent program. */
  identity?: CallIdentity
  /** The tools that the run may use without approval. */
  allow: string[]
  /** Whether a dead process may have run the call before, completely or in part. */
  isRepeat: boolean
  /** Whether a person approved this call. */
  isApproved?: boolean
}

/**
 * Runs a call of an agent program. Resolves once the result is durable. `signal`: aborted when the program cancels the call
 * or disconnects.
 */
export type ToolCaller = (
  name: string,
  input: JsonObject,
  signal: AbortSignal,
) => Promise<{ content: string; is_error: boolean }>

/** A field that must be text. */
export function textField(input: JsonObject, field: string): string {
  const value = input[field]
  if (typeof value !== 'string') throw new Error(`the input needs ${field}, as text`)
  return value
}

/** A field that may be missing. */
export function optionalText(input: JsonObject, field: string): string | null {
  return input[field] === undefined || input[field] === null ? null : textField(input, field)
}

/** A field in seconds, as milliseconds; null if it is missing. */
export function optionalSeconds(input: JsonObject, field: string): number | null {
  const value = input[field]
  if (value === undefined || value === null) return null
  if (typeof value !== 'number' || !(value >= 0 && value <= SECONDS_MAX))
    throw new Error(`${field} must be a number of seconds, at most ${SECONDS_MAX}`)
  return Math.round(value * 1000)
}

/** Ten years. */
const SECONDS_MAX = 10 * 366 * 24 * 3600
