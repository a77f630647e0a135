/** The advice of an error depends on what the command has made durable, so that following it never does work twice. */
import { effectOf } from '../dispatch/effect.js'
import { RUN_AGAIN, SubstratError } from '../errors.js'

/** `error` has left the command as `thrown`. */
export function withAdvice(error: SubstratError, thrown: unknown): SubstratError {
  const effect = effectOf(thrown)
  if (effect === undefined) return error
  const { code, message, hint = '', facts, cause } = error
  const { next, not } = effect
  const advice = hint.includes(RUN_AGAIN)
    ? hint.replaceAll(RUN_AGAIN, next)
    : [hint, next].filter((part) => part !== '').join('; ')
  const dressed = new SubstratError(code, message, {
    hint: `${advice}; ${not}`,
    facts: { ...facts, ...effect.facts, effect: effect.effect },
    cause,
  })
  dressed.stack = error.stack ?? ''
  return dressed
}
