/** The last fields of each JSON line that `wait`, `deliver`, `recover` and `check` print. */
import { withUtcTimes } from '../clock.js'
import type { SubstratError } from '../errors.js'
import type { ResultEnd } from '../schema/output.js'

export function resultEnd(failure: SubstratError | undefined): ResultEnd {
  if (failure === undefined) return { exit: 0, error: null }
  const { exitStatus, code, message, hint } = failure
  const [said, advice] = [withUtcTimes(message), hint === undefined ? null : withUtcTimes(hint)]
  return { exit: exitStatus, error: { code, message: said, hint: advice } }
}
