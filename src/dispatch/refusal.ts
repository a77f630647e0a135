/**
 * Records that a turn could not begin, for people who did not see the command fail, such as the owner of a crontab.
 *
 * On disk after a crash: the refusal, or nothing of it. The turn has not begun either way, and no command runs because of a refusal.
 */
import { clock } from '../clock.js'
import { type ErrorCode, SubstratError } from '../errors.js'
import { limits } from '../limits.js'
import type { RefusalCause } from '../schema/words.js'
import { isNewRefusal } from '../session/fold/refused.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { Context } from './context.js'

export interface RefusedMessage {
  key: string | null
  digest: string | null
}

/** Returns the error. If the refusal cannot be stored, that failure is thrown instead: it is about this command too. */
export function recordRefusal(
  { command }: Pick<Context, 'command'>,
  session: Session,
  error: unknown,
  message: RefusedMessage | null,
): unknown {
  const cause = causeOf(error)
  if (cause === undefined || session.state.state === 'terminated') return error
  const { code, message: text } = error as SubstratError
  const { key = null, digest = null } = message ?? {}
  const record: NewRecord<'turn.refused'> = {
    kind: 'turn.refused',
    cause,
    code,
    message: text.slice(0, limits.refusalCharactersMax),
    command,
    ...(key === null ? {} : { key }),
    ...(digest === null ? {} : { digest }),
  }
  if (isNewRefusal(session.state, record, clock.now())) session.append([record])
  return error
}

/** Undefined for any other failure. */
function causeOf(error: unknown): RefusalCause | undefined {
  if (!(error instanceof SubstratError)) return undefined
  if (error.code !== 'PROVIDER_MISCONFIGURED') return CAUSE_OF_CODE[error.code]
  const { type, plugin } = error.facts
  if (type === 'authentication') return 'authentication'
  return plugin === undefined ? 'settings' : 'broken_plugin'
}

/** `USAGE` is an option that the provider does not have, or a workspace that is gone. */
const CAUSE_OF_CODE: Partial<Record<ErrorCode, RefusalCause>> = {
  ON_HOLD: 'hold',
  GATED: 'gate',
  PROGRAM_ALIVE: 'program',
  OUTCOME_UNKNOWN: 'unknown_tool',
  PROVIDER_NOT_FOUND: 'not_installed',
  USAGE: 'settings',
  WAITING: 'waiting',
  NOT_BEFORE: 'waiting',
}
