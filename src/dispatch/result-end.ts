/** The last fields of each JSON line that `wait`, `deliver` and `recover` print. */
import type { ErrorCode, SubstratError } from '../errors.js'

export interface ResultEnd {
  exit: number
  error: { code: ErrorCode; message: string; hint: string | null } | null
}

export function resultEnd(failure: SubstratError | undefined): ResultEnd {
  if (failure === undefined) return { exit: 0, error: null }
  const { exitStatus, code, message, hint = null } = failure
  return { exit: exitStatus, error: { code, message, hint } }
}
