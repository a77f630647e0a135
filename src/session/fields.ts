/** Types of record fields: process groups, calls, failures, decisions. Each type has a check of its shape. */
import type { ClockReading } from '../host/identity.js'
import {
  blob,
  checkOf,
  integer,
  isPlainObject,
  json,
  object,
  oneOf,
  optional,
  text,
  time,
  uuid,
} from './shapes.js'

export interface Usage {
  input_tokens: number
  output_tokens: number
}

/** Why a run failed: a sentence for the user, and the type, which decides the exit status and whether a retry is allowed. */
export interface RunError {
  type: FailureType
  message: string
}

/** Facts about a failure that only the log has. */
export interface ErrorDetail {
  /** For `refused`: the model's text before it refused. */
  said?: string
  /** The stacks of the error and of its causes. */
  detail?: string
  /** Usage of the failed attempt. */
  usage?: Usage
}

/** The process group of an agent program or tool. The fields identify it even after its number was reused. */
export interface ProcessGroup {
  process_group: number
  start_time: number
  kernel_boot_id: string
  pid_namespace: string
  /** SUBSTRAT_LAUNCH in the environment of its processes. Absent for a kept server and in older logs. */
  launch_id?: string
}

/** A tool call of a model. Its input is in the line, or in a blob (as JSON) when it is large. */
export interface CallRecord {
  call_id: string
  name: string
  input?: { [key: string]: unknown }
  /** A blob of the JSON of `input`, if that is too large for the line. */
  input_blob?: { blob: string; bytes: number }
}

/** The question that a wait asks about one parked call. */
export interface Ask {
  call_id: string
  tool: string
  input: { [key: string]: unknown }
}

/** A file that went into the prompt. */
export interface PromptSource {
  path: string
  bytes: number
  /** How many bytes were left out because the file is too large. */
  cut: number
}

/** The failures that a provider may report. */
export const PROVIDER_FAILURE_TYPES = [
  'overloaded',
  'rate_limit',
  'invalid',
  'overflow',
  'refused',
  'invalid_response',
  'authentication',
  'misconfigured',
  'unreachable',
  'timeout',
  'crashed',
  'session_lost',
  'busy',
] as const

export const FAILURE_TYPES = [...PROVIDER_FAILURE_TYPES, 'max_steps'] as const

export type FailureType = (typeof FAILURE_TYPES)[number]

/**
 * - `process_exit`: the process of the run is gone.
 * - `process_restart`: the machine was restarted too.
 * - `program_killed`: a signal that substrat did not send ended the agent program, or the program exited with status 0 in the
 *   middle of the turn.
 */
export const INTERRUPTIONS = [
  'process_exit',
  'process_restart',
  'program_killed',
  'shutdown',
  'suspended',
  'unknown_tool',
  'wait_timeout',
  'program_alive',
] as const

export type Interruption = (typeof INTERRUPTIONS)[number]

/** `log_damaged`: the undamaged part of the log ends in the middle of the run, see `session.rebuilt`. */
export const CANCELLATIONS = ['turn_timeout', 'terminated', 'cancelled', 'superseded', 'log_damaged'] as const

/** A request that was delivered in a lost part of the log. */
export interface LostRequest {
  message_id: string
  from: string
}

export const lostRequest = object<LostRequest>('request', { message_id: uuid, from: text })

export const call = object<CallRecord>('call', {
  call_id: text,
  name: text,
  input: optional(json),
  input_blob: optional(blob),
})

export const ask = object<Ask>('ask', { call_id: text, tool: text, input: json })

export const source = object<PromptSource>('source', { path: text, bytes: integer, cut: integer })

export const group = object<ProcessGroup>('group', {
  process_group: integer,
  start_time: integer,
  kernel_boot_id: text,
  pid_namespace: text,
  launch_id: optional(uuid),
})

export const decision = oneOf('approve', 'deny', 'input', 'result')

export type Decision = 'approve' | 'deny' | 'input' | 'result'

export const watched = oneOf('idle', 'waiting', 'interrupted')

/** The status that follows `running`, as watchers receive it. */
export type WatchedStatus = 'idle' | 'waiting' | 'interrupted'

export const metadata = checkOf<Record<string, string | null>>(
  '{string|null}',
  (value) => isPlainObject(value) && Object.values(value).every((each) => each === null || text(each)),
)

/** When a duration began: see `durations`. */
export const isReading = object<ClockReading>('clock', { at: time, kernel_boot_id: text, uptime_ms: integer })

export const usage = object<Usage>('usage', { input_tokens: integer, output_tokens: integer })

export const runError = object<RunError>('error', { type: oneOf(...FAILURE_TYPES), message: text })

export const status = oneOf('running', 'waiting', 'idle', 'interrupted_startup', 'interrupted_waiting')
