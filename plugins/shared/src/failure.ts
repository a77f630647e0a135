/** Builds the failures that a provider can report (`ProviderFailure` of the contract). */
import type { ProviderFailure } from 'substrat/provider'

export type FailureType = ProviderFailure['failure']['type']

export function failure(type: FailureType, message: string, retryAfterMs?: number): ProviderFailure {
  const facts = retryAfterMs === undefined ? { type } : { type, retry_after_ms: retryAfterMs }
  return Object.assign(new Error(message), { failure: facts })
}

/** `said`: the text of an agent's model before its refusal. */
export function refusedAfter(said: string, message: string): ProviderFailure {
  return Object.assign(new Error(message), { failure: { type: 'refused' as const, said } })
}

/** The program exited with status 0 during its turn, or its exit is unknown. substrat continues the turn. */
export function endedEarly(message: string): ProviderFailure {
  return Object.assign(new Error(message), { failure: { type: 'crashed' as const, ended_early: true } })
}

export function isFailure(error: unknown): error is ProviderFailure {
  return error instanceof Error && typeof (error as Partial<ProviderFailure>).failure?.type === 'string'
}
