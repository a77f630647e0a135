/** Converts any value that a provider throws into a failure. */
import { limits } from '../limits.js'
import type { RunError } from '../schema/types.js'
import { type FailureType, PROVIDER_FAILURE_TYPES } from '../schema/words.js'
import type { ErrorDetail } from '../session/records.js'
import type { ProviderFailure } from './contract.js'
import { detailOf } from './failure-detail.js'

const MESSAGE_CHARACTERS_MAX = 4000

/** A failure: the sentence for the user, and the details for the log. */
export interface FailureReport extends ErrorDetail {
  error: RunError
  retryAfterMs: number | null
}

export function providerFailure(type: ProviderFailure['failure']['type'], message: string): ProviderFailure {
  return Object.assign(new Error(message), { failure: { type } })
}

/** `secrets`: values to keep out of the log. `said`: the model's text before it refused. Never throws. */
export function reportFailure(thrown: unknown, secrets: string[], said = ''): FailureReport {
  const error = describeFailure(thrown)
  const words = error.type === 'refused' ? saidBefore(thrown) || said : ''
  return {
    error,
    retryAfterMs: retryAfterOf(thrown),
    ...(words === '' ? {} : { said: words }),
    ...(isSet(thrown, 'answer_began') ? { answer_began: true as const } : {}),
    ...(isSet(thrown, 'budget_reached') ? { budget_reached: true as const } : {}),
    ...detailOf(thrown, secrets),
  }
}

/** A sentence and a failure type for any value that a plugin may throw. Never throws. */
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
    // The value cannot be converted to a string, or has a getter that throws.
    return { type: 'crashed', message: plainSentence('') }
  }
}

/** The failure types that a killed program or a lost network can cause. They are not an answer to the prompt. */
const WITHOUT_ANSWER: FailureType[] = [
  'crashed',
  'unreachable',
  'timeout',
  'overloaded',
  'server_error',
  'invalid_response',
]

/** Whether a stop signal could also have caused the failure. */
export function saysNothing({ type }: RunError): boolean {
  return WITHOUT_ANSWER.includes(type)
}

/** Whether an agent program ended before the end of its turn, with status 0 or an unknown one. Never throws. */
export function hasEndedEarly(thrown: unknown): boolean {
  try {
    const failure = (thrown as Partial<ProviderFailure> | null | undefined)?.failure
    return failure?.type === 'crashed' && failure.ended_early === true
  } catch {
    return false
  }
}

/** Whether the provider has set the flag. Never throws. */
function isSet(thrown: unknown, flag: 'answer_began' | 'budget_reached'): boolean {
  try {
    return (thrown as Partial<ProviderFailure> | null | undefined)?.failure?.[flag] === true
  } catch {
    return false
  }
}

/** The retry time that the provider gave, in milliseconds from now; null if it gave none. Never throws. */
function retryAfterOf(thrown: unknown): number | null {
  try {
    const ms = (thrown as Partial<ProviderFailure> | null | undefined)?.failure?.retry_after_ms
    return typeof ms === 'number' && Number.isFinite(ms) && ms >= 0 ? Math.ceil(ms) : null
  } catch {
    return null
  }
}

/** The text of an agent program before its model refused. */
function saidBefore(thrown: unknown): string {
  try {
    const said = (thrown as Partial<ProviderFailure> | null | undefined)?.failure?.said
    return typeof said === 'string' ? said.slice(0, limits.replyBytesMax / 4) : ''
  } catch {
    return ''
  }
}

/** The message in one line of bounded length, without control characters. */
export function plainSentence(message: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are removed
  const plain = message.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim()
  if (plain === '') return 'it failed without saying why'
  return plain.length <= MESSAGE_CHARACTERS_MAX ? plain : `${plain.slice(0, MESSAGE_CHARACTERS_MAX)}…`
}
