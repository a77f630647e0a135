/** A model that will not answer, or whose provider stops it: an outcome of its own, which no retry changes. */
import type { ProviderFailure } from 'substrat/provider'
import { failure } from '../failure.js'
import type { Endpoint } from './settings.js'

/** `reason`: what the API calls it. What the model had said before is in the `text` events that came before. */
export function refusal(endpoint: Endpoint, reason: string): ProviderFailure {
  return failure('refused', `${endpoint.url.host} says ${reason}`)
}
