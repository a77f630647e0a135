/** Clients of OpenAI's SDK, and what they throw. */
import OpenAI from 'openai'
import type { Served } from './support.js'

export function clientOf(served: Served, apiKey = served.token): OpenAI {
  return new OpenAI({ baseURL: `${served.url}/v1`, apiKey })
}

export const user = (content: string) => [{ role: 'user' as const, content }]

export const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )
