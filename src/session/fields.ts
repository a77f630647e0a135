/** What the fields of records hold: process groups, calls, failures, decisions. Each has the check of its shape beside it. */
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

/** Why a run failed, in words for a person, and the kind that decides the exit status and who may retry. */
export interface RunError {
  type: FailureType
  message: string
}

/** What the log has of a failure besides its sentence. */
export interface ErrorDetail {
  /** Of `refused`: what the model had said before. */
  said?: string
  /** The stack of the error, and of what caused it. */
  detail?: string
  /** What the attempt has used all the same. */
  usage?: Usage
}

/** The process group of an agent program or tool, named so that it cannot be taken for another. */
export interface ProcessGroup {
  process_group: number
  start_time: number
  kernel_boot_id: string
  pid_namespace: string
  /** The SUBSTRAT_LAUNCH of what was started in it; a server that is kept, and a group of an older version, has none. */
  launch_id?: string
}

/** A tool call of a model. Its input is in the line, or in a blob (as JSON) when it is large. */
export interface CallRecord {
  call_id: string
  name: string
  input?: { [key: string]: unknown }
  /** Instead of `input`, where that is too large for the line: a blob of its JSON. */
  input_blob?: { blob: string; bytes: number }
}

/** What a wait asks about one parked call. */
export interface Ask {
  call_id: string
  tool: string
  input: { [key: string]: unknown }
}

/** A file that went into the prompt. */
export interface PromptSource {
  path: string
  bytes: number
  /** How many of its bytes were left out, for its size. */
  cut: number
}

/** What a provider may report. */
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
 * `process_exit`: its process is gone. `process_restart`: so is the start of the kernel that it ran under. `program_killed`:
 * a signal that was not substrat's has ended its agent program, or it exited with status 0 in the middle of the turn.
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

/** `log_damaged`: its log ends in the middle of it, see `session.rebuilt`. */
export const CANCELLATIONS = ['turn_timeout', 'terminated', 'cancelled', 'superseded', 'log_damaged'] as const

/** A request that was taken in a part of the log that is lost. */
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

/** What an agent went to from running, for those who watch it. */
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
