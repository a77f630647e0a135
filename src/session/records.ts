/**
 * The record kinds of format 1. Kinds and their fields are frozen once released: a new field is optional, a retired
 * kind leaves its name here so that nothing else ever takes it.
 *
 * The same check asserts before a write (our bug) and reports corruption after a read.
 */
import type { JsonValue } from '../storage/frame.js'
import { isUuid } from '../storage/paths.js'

type Check<T> = ((value: unknown) => value is T) & { optional?: true }

const text = ((value: unknown) => typeof value === 'string') as Check<string>
const uuid = ((value: unknown) => typeof value === 'string' && isUuid(value)) as Check<string>
const integer = ((value: unknown) => Number.isSafeInteger(value)) as Check<number>
const flag = ((value: unknown) => typeof value === 'boolean') as Check<boolean>
const time = isTime as Check<string>
const content = ((value: unknown) => typeof value === 'string' || isBlob(value)) as Check<Content>
const texts = ((value: unknown) => isPlainObject(value) && Object.values(value).every(text)) as Check<
  Record<string, string>
>

function orNull<T>(check: Check<T>): Check<T | null> {
  return ((value: unknown) => value === null || check(value)) as Check<T | null>
}

function optional<T>(check: Check<T>): Check<T> & { optional: true } {
  return Object.assign(((value: unknown) => value === undefined || check(value)) as Check<T>, {
    optional: true as const,
  })
}

function oneOf<const T extends string>(...words: T[]): Check<T> {
  return ((value: unknown) => words.includes(value as T)) as Check<T>
}

function object<T>(shape: { [F in keyof T]: Check<T[F]> }): Check<T> {
  const fields = Object.entries(shape) as [string, Check<unknown>][]
  return ((value: unknown) =>
    isPlainObject(value) && fields.every(([field, check]) => check(value[field]))) as Check<T>
}

/** Text of a message: in the line, or in a blob when it is over `limits.inlineBytesMax`. */
export type Content = string | { blob: string; bytes: number }

export interface Usage {
  input_tokens: number
  output_tokens: number
}

/** Why a run failed, in words for a person, and the kind that decides the exit status and who may retry. */
export interface RunError {
  type: FailureType
  message: string
}

/** The process group of an agent program or tool, named so that it cannot be taken for another. */
export interface ProcessGroup {
  process_group: number
  start_time: number
  kernel_boot_id: string
  pid_namespace: string
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
  'invalid_response',
  'authentication',
  'misconfigured',
  'unreachable',
  'timeout',
  'crashed',
] as const
export const FAILURE_TYPES = [...PROVIDER_FAILURE_TYPES, 'max_steps'] as const
export type FailureType = (typeof FAILURE_TYPES)[number]

/** `process_exit`: its process is gone. `process_restart`: so is the start of the kernel that it ran under. */
const INTERRUPTIONS = [
  'process_exit',
  'process_restart',
  'shutdown',
  'suspended',
  'unknown_tool',
  'wait_timeout',
  'program_alive',
] as const
export type Interruption = (typeof INTERRUPTIONS)[number]

const list = <T>(check: Check<T>): Check<T[]> =>
  ((value: unknown) => Array.isArray(value) && value.every((item) => check(item))) as Check<T[]>
const blob = ((value: unknown) => isBlob(value)) as Check<{ blob: string; bytes: number }>
const json = ((value: unknown) => isPlainObject(value)) as Check<{ [key: string]: unknown }>

const call = object<CallRecord>({
  call_id: text,
  name: text,
  input: optional(json),
  input_blob: optional(blob),
})
const ask = object<Ask>({ call_id: text, tool: text, input: json })
const source = object<PromptSource>({ path: text, bytes: integer, cut: integer })
const group = object<ProcessGroup>({
  process_group: integer,
  start_time: integer,
  kernel_boot_id: text,
  pid_namespace: text,
})
const decision = oneOf('approve', 'deny', 'input', 'result')
export type Decision = 'approve' | 'deny' | 'input' | 'result'

const usage = object<Usage>({ input_tokens: integer, output_tokens: integer })
const failure = oneOf(...FAILURE_TYPES)
const status = oneOf('running', 'waiting', 'idle', 'interrupted_startup', 'interrupted_waiting')

export const RECORD_SHAPES = {
  'session.created': {
    agent_id: uuid,
    format: integer,
    name: orNull(text),
    parent: orNull(uuid),
    instructions: orNull(content),
    provider: text,
    options: texts,
    model: orNull(text),
    workspace: text,
    allow: optional(list(text)),
  },
  'session.configured': {
    instructions: optional(orNull(content)),
    options: optional(texts),
    model: optional(orNull(text)),
    workspace: optional(text),
    title: optional(orNull(text)),
    hold: optional(flag),
    allow: optional(list(text)),
  },
  'session.activated': { boot_id: text },
  'session.suspended': { reason: oneOf('idle', 'requested', 'recovery') },
  'session.terminated': {},
  'run.started': {
    run_id: uuid,
    boot_id: text,
    origin: oneOf('operator', 'mail', 'continuation'),
    provider: text,
    model: orNull(text),
    options: texts,
    key: optional(text),
    /** sha256 of the message's bytes: the same key with another body is refused. */
    digest: optional(text),
    continues: optional(uuid),
    auto: optional(flag),
    turn_timeout_ms: optional(integer),
    /** Tools that may change things without being asked about; `all` is every tool. */
    allow: optional(list(text)),
    steps_max: optional(integer),
  },
  /** With `token_id` where a decision let it go on. */
  'run.resumed': { run_id: uuid, boot_id: text, auto: flag, attempt: integer, token_id: optional(uuid) },
  /** Parked: its process exits. `not_before` for a time, else a decision with the token is waited for. */
  'run.waiting': {
    run_id: uuid,
    wait: oneOf('approval', 'input', 'not_before'),
    asks: optional(list(ask)),
    token_id: optional(uuid),
    deadline_at: optional(time),
    not_before: optional(time),
    why: optional(text),
  },
  'run.completed': { run_id: uuid, usage: optional(usage) },
  'run.failed': { run_id: uuid, error: object<RunError>({ type: failure, message: text }) },
  'run.cancelled': { run_id: uuid, reason: oneOf('turn_timeout', 'terminated', 'cancelled', 'superseded') },
  'run.interrupted': { run_id: uuid, reason: oneOf(...INTERRUPTIONS) },
  'message.user': { message_id: uuid, run_id: uuid, content, origin: oneOf('operator', 'continuation') },
  /** Told to the model, not by anybody: that its turn was interrupted. */
  'message.notice': { run_id: uuid, content, attempt: integer },
  'message.agent': { message_id: uuid, run_id: uuid, content },
  'model.requested': { run_id: uuid },
  'model.responded': {
    run_id: uuid,
    stop: oneOf('end', 'length', 'tool_calls'),
    usage: optional(usage),
    calls: optional(list(call)),
  },
  /** An attempt that failed; `retry_in_ms` where another follows. */
  'model.failed': {
    run_id: uuid,
    error: object<RunError>({ type: failure, message: text }),
    retry_in_ms: orNull(integer),
  },
  /** `group` where the tool is a program: recorded before it runs. */
  'tool.started': { run_id: uuid, call_id: text, tool: text, group: optional(group) },
  /** `content` is what the model is given; `output` the whole of it, where that is more. */
  'tool.finished': {
    run_id: uuid,
    call_id: text,
    tool: text,
    content,
    is_error: flag,
    output: optional(blob),
  },
  /** A tool server (MCP) that runs beside a turn. */
  'server.started': { run_id: uuid, server: text, group },
  /** The secret itself is on no disk: `hash` is its sha256. */
  'token.minted': { run_id: uuid, token_id: uuid, hash: text, expires_at: time },
  'token.consumed': { run_id: uuid, token_id: uuid, decision, digest: text },
  'token.revoked': {
    run_id: uuid,
    token_id: uuid,
    reason: oneOf('rotated', 'superseded', 'ended', 'expired'),
  },
  /** Everything before `keeps_seq` is given to the model as `content` from now on; the log keeps it. */
  'context.compacted': {
    run_id: uuid,
    content,
    how: oneOf('summary', 'dropped'),
    keeps_seq: integer,
    keeps_offset: integer,
    messages: integer,
    /** How many responses of the model are before `keeps_seq`, since the beginning. */
    responses: integer,
  },
  'prompt.assembled': { run_id: uuid, sources: list(source) },
  'provider.started': {
    run_id: uuid,
    process_group: integer,
    start_time: integer,
    kernel_boot_id: text,
    pid_namespace: text,
  },
  'provider.state': { run_id: optional(uuid), state: text },
  'mail.delivered': {
    run_id: uuid,
    message_id: uuid,
    from: text,
    mail_kind: oneOf('request', 'response', 'notification', 'error'),
    content,
    sent_at: time,
  },
  /** Appended by recovery for those who follow the log; never read back. */
  'status.derived': { status },
} satisfies Record<string, Record<string, Check<never> | Check<unknown>>>

type Shapes = typeof RECORD_SHAPES
type Checked<C> = C extends (value: unknown) => value is infer T ? T : never
type Fields<S> = { [F in keyof S as S[F] extends { optional: true } ? never : F]: Checked<S[F]> } & {
  [F in keyof S as S[F] extends { optional: true } ? F : never]?: Checked<S[F]>
}

export type RecordKind = keyof Shapes

/** What a record says, without its place in the log. */
export type NewRecord<K extends RecordKind = RecordKind> = { [P in K]: { kind: P } & Fields<Shapes[P]> }[K]

export interface Place {
  seq: number
  ts: string
  /** First and last seq of the records that were written together. */
  batch: [number, number]
}

export type SessionRecord<K extends RecordKind = RecordKind> = NewRecord<K> & Place

/** Undefined where the record is of its kind's shape; else what is wrong with it. */
export function wrongShape(record: unknown): string | undefined {
  if (!isPlainObject(record)) return 'it is no object'
  if (!Number.isSafeInteger(record.seq) || !time(record.ts)) return 'it has no seq or no ts'
  const shape = kindIsKnown(record.kind)
    ? (RECORD_SHAPES[record.kind] as Record<string, Check<unknown>>)
    : undefined
  if (shape === undefined) return `its kind ${JSON.stringify(record.kind)} is unknown`
  for (const [field, check] of Object.entries(shape)) {
    if (!check(record[field])) return `its ${field} is not as ${String(record.kind)} has it`
  }
  return undefined
}

export function kindIsKnown(kind: unknown): kind is RecordKind {
  return typeof kind === 'string' && Object.hasOwn(RECORD_SHAPES, kind)
}

export function isBlob(value: unknown): value is { blob: string; bytes: number } {
  return (
    isPlainObject(value) &&
    typeof value.blob === 'string' &&
    /^[0-9a-f]{64}$/.test(value.blob) &&
    integer(value.bytes)
  )
}

/** ISO 8601 with milliseconds, in UTC: of one length, so that they compare as strings. */
export function isTime(value: unknown): value is string {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)
}

function isPlainObject(value: unknown): value is { [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
