/** Constants and types of the on-disk format (docs/format.md) that more than one layer needs. */

/**
 * The format version that this program writes, in `home.json` and in each log. It reads every version up to this one. A log of
 * an earlier version gets `session.upgraded` before its next record.
 */
export const FORMAT = 2

export function isKnownFormat(format: unknown): boolean {
  return typeof format === 'number' && Number.isInteger(format) && format >= 1 && format <= FORMAT
}

/** The key index stores this many bytes of the SHA-256 of a key in NFC. */
export const KEY_HASH_BYTES = 16

/** The user as a party to mail, in place of an agent's id. */
export const OPERATOR = 'operator'

/** The account of the home's own budget. */
export const HOME_ACCOUNT = 'home'

/** The provider of the sessions of channels, which take no turns. */
export const CHANNEL = 'channel'

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | JsonValue[]
  | { [key: string]: JsonValue | undefined }
export type JsonObject = { [key: string]: JsonValue | undefined }

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether the text has the form of an agent, run or message id. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** ISO 8601 with milliseconds, in UTC. All have the same length, so that they compare as strings. */
export function isTime(value: unknown): value is string {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)
}

/** Whether the content of a message is in a blob. */
export function isBlob(value: unknown): value is { blob: string; bytes: number } {
  return (
    isPlainObject(value) &&
    typeof value.blob === 'string' &&
    /^[0-9a-f]{64}$/.test(value.blob) &&
    Number.isSafeInteger(value.bytes)
  )
}

export function isPlainObject(value: unknown): value is { [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Two names that differ only in case or Unicode composition are the same name. */
export function foldName(name: string): string {
  return name.normalize('NFC').toLowerCase().normalize('NFC')
}

/** The amounts that budgets count (schema/budget.ts), without zod: the types of the package name them. */
export interface Amounts {
  tokens?: number | undefined
  usd?: number | undefined
  turns?: number | undefined
  requests?: number | undefined
  time_ms?: number | undefined
}

/** `removed/<uuid>` (schema/files.ts), without zod: the types of the package name it, and its users have no zod. */
export interface RemovedAgent {
  agent_id: string
  path: string
  parent_id: string | null
  created_at: string
  removed_at: string
  /** Its `budget_state`. Absent without a cap over it. */
  budget?: object | undefined
  usage: {
    total: UsageTotal
    models: UsageOfModel[]
    days: (UsageTotal & { day: string; models: UsageOfModel[] })[]
  }
}

type UsageOfModel = UsageTotal & { model: string | null }

interface UsageTotal {
  input_tokens: number
  output_tokens: number
  cache_read_tokens?: number | undefined
  cache_write_tokens?: number | undefined
  reasoning_tokens?: number | undefined
  cost_usd?: number | undefined
  runs: number
  runs_with_usage: number
  runs_with_cost: number
}
