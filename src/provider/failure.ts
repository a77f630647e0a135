/** A provider's failure, from whatever it threw. */
import { limits } from '../limits.js'
import {
  type ErrorDetail,
  type FailureType,
  PROVIDER_FAILURE_TYPES,
  type RunError,
} from '../session/fields.js'
import type { ProviderFailure } from './contract.js'
import { detailOf } from './failure-detail.js'

const MESSAGE_CHARACTERS_MAX = 4000

/** All that is known of a failure: what a person is told, and what the log has besides. */
export interface FailureReport extends ErrorDetail {
  error: RunError
  retryAfterMs: number | null
}

export function providerFailure(type: ProviderFailure['failure']['type'], message: string): ProviderFailure {
  return Object.assign(new Error(message), { failure: { type } })
}

/** `secrets`: values that the log must not have. `said`: the text of a model before it refused. Never throws itself. */
export function reportFailure(thrown: unknown, secrets: string[], said = ''): FailureReport {
  const error = describeFailure(thrown)
  const words = error.type === 'refused' ? saidBefore(thrown) || said : ''
  return {
    error,
    retryAfterMs: retryAfterOf(thrown),
    ...(words === '' ? {} : { said: words }),
    ...detailOf(thrown, secrets),
  }
}

/** Anything that a plugin may throw, as a sentence for a person and a type of ours. Never throws itself. */
export function describeFailure(thrown: unknown): RunError {
  try {
    const { failure, message } = Object(thrown) as { failure?: { type?: unknown }; message?: unknown }
    const type = PROVIDER_FAILURE_TYPES.find((known) => known === failure?.type) ?? 'crashed'
    const sentence = typeof thrown === 'string' ? thrown : message
    return {
      type,
      message: plainSentence(typeof sentence === 'string' ? sentence : `it threw ${String(thrown)}`),
    }
  } catch {
    // An object without a string form, or with getters that throw.
    return { type: 'crashed', message: plainSentence('') }
  }
}

/** What a program that is killed, or a model whose host goes down, leaves behind: no answer of theirs to what was asked. */
const WITHOUT_ANSWER: FailureType[] = ['crashed', 'unreachable', 'timeout', 'overloaded', 'invalid_response']

/** Whether the failure says nothing of the turn itself, so that a stop signal explains it as well. */
export function saysNothing({ type }: RunError): boolean {
  return WITHOUT_ANSWER.includes(type)
}

/** Whether an agent's program exited as if all was well, before the end of its turn. Never throws itself. */
export function hasEndedEarly(thrown: unknown): boolean {
  try {
    const failure = (thrown as Partial<ProviderFailure> | null | undefined)?.failure
    return failure?.type === 'crashed' && failure.ended_early === true
  } catch {
    return false
  }
}

/** When the provider said to try again, in milliseconds from now; null where it did not. Never throws itself. */
function retryAfterOf(thrown: unknown): number | null {
  try {
    const ms = (thrown as Partial<ProviderFailure> | null | undefined)?.failure?.retry_after_ms
    return typeof ms === 'number' && Number.isFinite(ms) && ms >= 0 ? Math.ceil(ms) : null
  } catch {
    return null
  }
}

/** What an agent's program had said before its model refused. */
function saidBefore(thrown: unknown): string {
  try {
    const said = (thrown as Partial<ProviderFailure> | null | undefined)?.failure?.said
    return typeof said === 'string' ? said.slice(0, limits.replyBytesMax / 4) : ''
  } catch {
    return ''
  }
}

/** One line, of a length that a log and a terminal can take, with nothing that steers a terminal. */
export function plainSentence(message: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
  const plain = message.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim()
  if (plain === '') return 'it failed without saying why'
  return plain.length <= MESSAGE_CHARACTERS_MAX ? plain : `${plain.slice(0, MESSAGE_CHARACTERS_MAX)}…`
}
