/** The failure for a model, or a filter of its API, that refuses to answer. A retry does not help. */
import type { ProviderFailure } from 'substrat/provider'
import { failure } from '../failure.js'
import type { Endpoint } from './settings.js'

/** `reason`: the API's name of the refusal. Text of the model before it was already yielded as `text` events. */
export function refusal(endpoint: Endpoint, reason: string): ProviderFailure {
  return failure('refused', `${endpoint.url.host} refused to answer (${reason})`)
}
