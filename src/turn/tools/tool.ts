/** What a tool is. */
import type { JsonObject, ToolDefinition } from '../../provider/contract.js'
import type { LaunchCommand, LaunchedProgram } from '../../provider/host-contract.js'
import type { NewRecord } from '../../session/records.js'
import type { TreePorts } from './tree-ports.js'

export interface Tool extends ToolDefinition {
  /**
   * `reads`: changes nothing, runs freely, and again after a crash. `own`: changes only this home, by ids that follow from
   * the call: asked about unless allowed, and run again after a crash. `changes`: asked about unless allowed. `program`: it
   * changes things and is a process. `ask`: answered by a person.
   */
  kind: 'reads' | 'own' | 'changes' | 'program' | 'ask'
  /** Whether it waits for others, so that only the turn's own time bounds it. */
  waits?: boolean
  /** Throws an Error whose message is told to the model as the result. */
  run(input: JsonObject, context: ToolContext): Promise<string | Buffer | ToolAnswer>
}

/** What a tool throws whose process has ended otherwise than well, with what it said. */
export class ProcessEnd extends Error {
  constructor(
    message: string,
    /** `killed`: by a signal that was not ours. */
    readonly end: 'failed' | 'killed',
  ) {
    super(message)
  }
}

export interface ToolAnswer {
  content: string
  is_error?: boolean
  /** What the call does to its own agent: durable in one batch with the result. */
  records?: NewRecord[]
  /** The agent is done with this, its last reply. */
  ends?: string
  /** Whether what it waits for is still to come. Where the turn stops for now, the call is run again when it continues. */
  isOpen?: boolean
}

export interface ToolContext {
  workspace: string
  /** Aborted when the turn is stopped or the tool's time is over. */
  signal: AbortSignal
  /** Starts the program of this call: it runs once its process group is on disk. */
  launch(command: LaunchCommand): Promise<LaunchedProgram>
  /** Where the agent's skills are; see `prompt`. */
  home: string
  call: CallContext
  /** Whether the run may use that tool without anybody being asked about it. */
  isAllowed(tool: string): boolean
  tree: TreePorts
}

export interface CallContext {
  run_id: string
  call_id: string
  /**
   * The one place in all logs where the call was made: what it makes and sends has ids that follow from this. Not from
   * the run, which a crash may have ended, with the call left to the run that goes on; nor from `call_id` alone, which
   * some models give again.
   */
  made_at: string
  /** What the run may do without being asked about. */
  allow: string[]
  /** Whether a process that is gone may have run it, or a part of it, before. */
  isRepeat: boolean
  /** Whether a person has read this very call and let it through. */
  isApproved?: boolean
}

/**
 * A call by the program of an agent provider: settled once its result is durable. `signal`: whoever called has taken it
 * back, or is gone.
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

/** A number of seconds, as milliseconds; null where it is missing. */
export function optionalSeconds(input: JsonObject, field: string): number | null {
  const value = input[field]
  if (value === undefined || value === null) return null
  if (typeof value !== 'number' || !(value >= 0 && value <= SECONDS_MAX))
    throw new Error(`${field} is a number of seconds, at most ${SECONDS_MAX}`)
  return Math.round(value * 1000)
}

/** Ten years. */
const SECONDS_MAX = 10 * 366 * 24 * 3600
