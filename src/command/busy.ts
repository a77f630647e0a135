/** The error of a busy agent: how this command can wait for it, or do without it. */
import { SubstratError } from '../errors.js'

const REMEDIES = {
  timeout: 'to wait longer, add --timeout 1h',
  'if-busy': 'to queue a message, add --if-busy queue',
}

/** `flags`: those of the command. Any other error stays as it is. */
export function withBusyFlags(error: SubstratError, flags: object): SubstratError {
  const { code, message, hint, facts, cause } = error
  if (code !== 'LOCKED' || facts.pid === undefined || hint === undefined) return error
  const remedies = Object.entries(REMEDIES).flatMap(([flag, remedy]) => (flag in flags ? [remedy] : []))
  return new SubstratError(code, message, { hint: [hint, ...remedies].join('; '), facts, cause })
}
