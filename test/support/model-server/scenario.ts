/**
 * What the model server answers. Entry i answers the i-th model request of a conversation: its place is the number of
 * assistant responses in the history that it is given, so a client that was killed and started again goes on where it was.
 */
export interface Scenario {
  responses: ScriptedAnswer[]
  /** Looked at first: the first one whose text is in the latest user message answers (a summary, for one). */
  rules?: ({ includes: string } & ScriptedAnswer)[]
  /** A request of more tokens (4 characters each) is refused as too long a conversation. */
  context_tokens_max?: number
  /** Any other key is refused; without it, any is taken. */
  key?: string
}

export interface ScriptedAnswer {
  /** Without text and calls the latest user message is echoed. */
  text?: string
  tool_calls?: ScriptedCall[]
  /** Why the response ends, if not by itself. `filter`: of the provider, where its API has a filter beside the model. */
  stop?: 'length' | 'refusal' | 'filter'
  usage?: { input_tokens: number; cached_tokens?: number; output_tokens: number }
  /** Before the first byte. */
  delay_ms?: number
  /** Between events. */
  event_delay_ms?: number
  /** After the last event, before the stream ends. */
  end_delay_ms?: number
  /** In one event; 12 without it. */
  event_characters?: number
  fault?: Fault
}

export interface ScriptedCall {
  name: string
  input?: Record<string, unknown>
  /** Sent as it is in the place of `input`, also where it is no JSON. */
  raw_input?: string
}

export interface Fault {
  /** The first so many requests with the same history meet it; without it, all do. */
  attempts?: number
  /** An error in the place of an answer, or after `after_events` events in the middle of it. */
  error?: ErrorKind
  message?: string
  headers?: Record<string, string>
  /** The connection is cut, the stream ends, or nothing more comes, after `after_events`. */
  stream?: 'cut' | 'end' | 'stall'
  /** Sent as data of an event in the middle. */
  raw_event?: string
  after_events?: number
}

export type ErrorKind =
  | 'invalid'
  | 'authentication'
  | 'permission'
  | 'quota'
  | 'not_found'
  | 'overflow'
  | 'too_large'
  | 'rate_limit'
  | 'server_error'
  | 'overloaded'

export function answerFor(scenario: Scenario, place: number, latestUserText: string): ScriptedAnswer {
  const answer =
    scenario.rules?.find(({ includes }) => latestUserText.includes(includes)) ??
    scenario.responses[place] ??
    {}
  const saysNothing = answer.text === undefined && answer.tool_calls === undefined
  return saysNothing ? { ...answer, text: `echo: ${latestUserText}` } : answer
}

/** A text in pieces, never in the middle of a character. */
export function pieces(text: string, answer: ScriptedAnswer): string[] {
  const size = answer.event_characters ?? 12
  const characters = [...text]
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, i) =>
    characters.slice(i * size, (i + 1) * size).join(''),
  )
}

export function inputOf(call: ScriptedCall): string {
  return call.raw_input ?? JSON.stringify(call.input ?? {})
}
