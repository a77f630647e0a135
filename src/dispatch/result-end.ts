/** The last fields of each JSON line that `wait`, `deliver`, `recover` and `check` print. */
import type { SubstratError } from '../errors.js'
import type { ResultEnd } from '../schema/output.js'

export function resultEnd(failure: SubstratError | undefined): ResultEnd {
  if (failure === undefined) return { exit: 0, error: null }
  const { exitStatus, code, message, hint = null } = failure
  return { exit: exitStatus, error: { code, message, hint } }
}
