/**
 * The one error class. Codes are a closed list, and only this file maps them to exit statuses. `message` says what happened,
 * to what and why; `hint` is the next command to run; `facts` are for programs (`--json`).
 */
import { constants } from 'node:os'

export const EXIT_STATUS = {
  UNEXPECTED: 1,
  USAGE: 2,
  CONFIG_INVALID: 2,
  AGENT_NOT_FOUND: 3,
  AGENT_AMBIGUOUS: 3,
  PROVIDER_NOT_FOUND: 3,
  TOKEN_NOT_FOUND: 3,
  MESSAGE_NOT_FOUND: 3,
  LOCKED: 4,
  NO_SLOT: 4,
  WAITING: 5,
  INTERRUPTED: 6,
  PROGRAM_ALIVE: 6,
  OUTCOME_UNKNOWN: 6,
  NOT_BEFORE: 7,
  PROVIDER_MISCONFIGURED: 8,
  PROVIDER_FAILED: 9,
  CORRUPT: 10,
  UNKNOWN_FORMAT: 10,
  STORAGE_FAILED: 11,
  HOME_UNUSABLE: 11,
  HOME_EXPOSED: 11,
  LOCK_UNSUPPORTED: 11,
  TIMED_OUT: 12,
  SESSION_STATE: 13,
  ON_HOLD: 13,
  NAME_TAKEN: 13,
  KEY_CONFLICT: 13,
  QUEUE_FULL: 13,
  GATED: 13,
  OTHER_HOST: 13,
  UNDELIVERABLE: 13,
  TREE_RULES: 13,
  TREE_FULL: 13,
  HAS_CHILDREN: 13,
  DEADLOCK: 13,
  TOKEN_MALFORMED: 13,
  TOKEN_FOREIGN: 13,
  TOKEN_SCOPE: 13,
  TOKEN_EXPIRED: 13,
  TOKEN_REVOKED: 13,
  TOKEN_CONSUMED: 13,
  CANCELLED: 14,
  SYNC_FAILED: 15,
  STOPPED_SIGHUP: 129,
  STOPPED_SIGINT: 130,
  STOPPED_SIGTERM: 143,
} as const

export type ErrorCode = keyof typeof EXIT_STATUS

export type Facts = Record<string, string | number | boolean | null | readonly string[]>

export interface ErrorDetails {
  hint?: string
  facts?: Facts
  cause?: unknown
}

export class SubstratError extends Error {
  override readonly name: string = 'SubstratError'
  readonly code: ErrorCode
  readonly hint: string | undefined
  readonly facts: Facts

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.hint = details.hint
    this.facts = details.facts ?? {}
  }

  get exitStatus(): number {
    return EXIT_STATUS[this.code]
  }
}

/** An illegal transition of the session's state machine (docs/commands.md, State and status). */
export class SessionStateError extends SubstratError {
  override readonly name = 'SessionStateError'

  constructor(message: string, details: ErrorDetails = {}) {
    super('SESSION_STATE', message, details)
  }
}

/** Quotes an argument, so that a command in a hint can be pasted into a shell. */
export function shellWord(text: string): string {
  return /^[\p{L}\p{N}_./:@%+=-]+$/u.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/**
 * The words for it in a hint. A command that has already made something durable replaces them (src/console/advice.ts), so a hint
 * must use them, and read well with another command in their place.
 */
export const RUN_AGAIN = 'run the same command again'

/** Replaces each damaged log by its undamaged part. Only a person may choose it, because it loses the records after the damage. */
export const REBUILD = 'substrat doctor --all --rebuild'

/** The stored conversation is damaged. `what` names the file and the place. No command changes a damaged file. */
export function damagedConversation(what: string, { hint, facts = {} }: ErrorDetails): SubstratError {
  return new SubstratError('CORRUPT', `the stored conversation is damaged: ${what}`, {
    hint: `the file was not changed; ${hint}; to find all damage: substrat doctor --all`,
    facts,
  })
}

/** Checks an invariant before a write. If it fails, substrat has a bug. */
export function assert(condition: unknown, invariant: string): asserts condition {
  if (!condition) throw new SubstratError('UNEXPECTED', `invariant broken: ${invariant}`)
}

/** The name of a system error. libuv has no name for EDQUOT (disk quota exceeded) and calls it UNKNOWN. */
export function errnoName(error: unknown): string | undefined {
  const { code, errno = 0 } = error as NodeJS.ErrnoException
  if (code !== 'UNKNOWN') return code
  const { EDQUOT } = constants.errno
  return -errno === EDQUOT ? 'EDQUOT' : code
}
