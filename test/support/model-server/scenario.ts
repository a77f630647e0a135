/**
 * The answers of the model server. Entry i answers the i-th model request of a conversation, counted by the assistant
 * responses in its history. A client that is killed and restarted therefore continues at its place.
 */
export interface Scenario {
  responses: ScriptedAnswer[]
  /** Checked first: the first rule whose text is in the latest user message answers (a summary, for example). */
  rules?: ({ includes: string } & ScriptedAnswer)[]
  /** A longer request (at 4 characters per token) is refused as too long. */
  context_tokens_max?: number
  /** Reasoning is refused if the system prompt, the tools or a message before it has changed. */
  is_bound?: boolean
  /** Any other key is refused; without it, every key is accepted. */
  key?: string
}

export interface ScriptedAnswer {
  /** Without text and calls the answer echoes the latest user message. */
  text?: string
  tool_calls?: ScriptedCall[]
  /** The parts of the answer in their order, with reasoning. Default: the text, then the calls. */
  order?: ScriptedPart[]
  /**
   * The stop reason, if not the normal one. `filter` is the provider's own filter, in an API that has one besides the
   * model.
   */
  stop?: 'length' | 'refusal' | 'filter'
  usage?: { input_tokens: number; cached_tokens?: number; output_tokens: number }
  /** Before the first byte. */
  delay_ms?: number
  /** Between events. */
  event_delay_ms?: number
  /** After the last event, before the stream ends. */
  end_delay_ms?: number
  /** Characters per event; 12 by default. */
  event_characters?: number
  fault?: Fault
}

/** The text, the next call, or reasoning: readable or not. An API that cannot separate its parts joins them. */
export type ScriptedPart = 'text' | 'call' | { think: string } | { redacted: string }

export interface ScriptedCall {
  name: string
  input?: Record<string, unknown>
  /** Sent verbatim in place of `input`, even if it is not JSON. */
  raw_input?: string
}

export interface Fault {
  /** Affects only this many first requests with the same history; by default all of them. */
  attempts?: number
  /** An error in place of an answer, or after `after_events` events of it. */
  error?: ErrorKind
  message?: string
  headers?: Record<string, string>
  /** After `after_events` events the connection is cut, the stream ends, or it stalls. */
  stream?: 'cut' | 'end' | 'stall'
  /** Sent as the data of an event in the middle. */
  raw_event?: string
  after_events?: number
}

export type ErrorKind =
  | 'invalid'
  /** Reasoning in the history is not taken back. */
  | 'unbound'
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

/** Splits a text into pieces, never within a character. */
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
