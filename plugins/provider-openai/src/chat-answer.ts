/** Turns the chunks of Chat Completions into events of the contract. An answer in JSON is one chunk with a whole message. */
import type OpenAI from 'openai'
import type { ModelEvent } from 'substrat/provider'
import { cutShort, streamFailure } from '../../shared/src/model/ask.js'
import { cutBy, type Ends, endEvents, endIn, refuseEnd } from '../../shared/src/model/ends.js'
import { Layout } from '../../shared/src/model/layout.js'
import type { CallNames } from '../../shared/src/model/partial-call.js'
import type { Paused } from '../../shared/src/model/paused.js'
import type { Endpoint } from '../../shared/src/model/settings.js'
import { errorIn, isDone, untilBroken, type WireEvent } from '../../shared/src/model/stream.js'
import { addPiece, completeText, Messages } from '../../shared/src/model/text-parts.js'
import { ToolCalls } from '../../shared/src/model/tool-calls.js'
import { usageEvent } from '../../shared/src/model/usage.js'
import {
  countOf,
  numberIn,
  objectIn,
  objectsIn,
  textIn,
  valueIn,
  type Wire,
} from '../../shared/src/model/wire.js'

type Chunk = Wire<OpenAI.Chat.ChatCompletionChunk>
type Choice = Wire<OpenAI.Chat.ChatCompletionChunk.Choice> & { message?: Message | null; error?: unknown }
/** `reasoning_content`: a field of several servers, unknown to OpenAI. */
type Message = Wire<OpenAI.Chat.ChatCompletionChunk.Choice.Delta> & { reasoning_content?: string | null }

/** Also the words of other APIs, which gateways pass on. @public A test compares it with the docs. */
export const CHAT_ENDS: Ends = {
  stop: 'complete',
  end_turn: 'complete',
  stop_sequence: 'complete',
  eos: 'complete',
  eos_token: 'complete',
  complete: 'complete',
  completed: 'complete',
  tool_calls: 'calls',
  tool_use: 'calls',
  function_call: 'calls',
  length: 'cut',
  max_tokens: 'cut',
  model_length: 'cut',
  model_context_window_exceeded: 'cut',
  content_filter: 'refused',
  refusal: 'refused',
  safety: 'refused',
  sensitive: 'refused',
  recitation: 'refused',
  error: 'failed',
  abort: 'failed',
  aborted: 'failed',
  cancelled: 'failed',
  network_error: 'failed',
  insufficient_system_resource: 'failed',
  malformed_function_call: 'malformed',
  pause_turn: 'paused',
}

export async function* readChat(
  events: AsyncIterable<WireEvent>,
  endpoint: Endpoint,
): AsyncGenerator<ModelEvent | Paused, void, undefined> {
  const answer = new ChatAnswer(endpoint)
  let isMarked = false
  let failed: unknown
  let unread: WireEvent | undefined
  try {
    for await (const event of untilBroken(events, () => answer.finish !== '')) {
      isMarked ||= isDone(event)
      if (isDone(event)) continue
      if (event.choices === undefined || event.choices === null) unread = event
      answer.count(event as Chunk)
      // OpenRouter puts an error into the choice.
      const error =
        errorIn(event) ?? errorIn({ error: (event.choices as Choice[] | undefined)?.[0]?.error, type: '' })
      if (error !== undefined) throw streamFailure(endpoint, error)
      yield* answer.take(event as Chunk)
    }
  } catch (error) {
    failed = error
  }
  // An answer that failed or is refused is charged too.
  yield* answer.usageEvents()
  if (failed !== undefined) throw failed
  // Some servers omit `[DONE]`, others the finish reason. One of them is enough, and so is a whole message.
  if (answer.finish === '' && !isMarked && !answer.isWhole) throw cutShort(endpoint, unread)
  yield* answer.end()
}

class ChatAnswer {
  finish = ''
  /** The whole message has come. */
  isWhole = false
  private readonly calls = new ToolCalls()
  private readonly layout: Layout
  private readonly text = new Messages().begin({})
  private reasoning = ''
  private refused = false
  private usage: Chunk['usage']
  private model: unknown

  constructor(private readonly endpoint: Endpoint) {
    this.layout = new Layout(endpoint)
  }

  count({ usage, model }: Chunk): void {
    this.usage = usage ?? this.usage
    this.model = model || this.model
  }

  *take(chunk: Chunk): Iterable<ModelEvent> {
    const choice = objectsIn(chunk, 'choices')[0] as Choice | undefined
    this.finish = textIn(choice, 'finish_reason') || this.finish
    const delta = objectIn(choice, 'delta')
    yield* this.say(delta, (piece) => addPiece(this.text, 0, piece))
    this.takeCalls(delta)
    // Some servers send the whole message, at the end or instead of its pieces.
    const message = objectIn(choice, 'message')
    yield* this.say(message, (whole) => completeText(this.text, whole))
    if (message === undefined) return
    this.isWhole = true
    this.takeWholeCalls(message)
  }

  *usageEvents(): Iterable<ModelEvent> {
    if (!this.usage) return
    const { prompt_tokens, completion_tokens, prompt_tokens_details, completion_tokens_details } = this.usage
    const parts = {
      cache_read_tokens: prompt_tokens_details?.cached_tokens,
      reasoning_tokens: completion_tokens_details?.reasoning_tokens,
    }
    yield usageEvent(countOf(prompt_tokens), countOf(completion_tokens), parts, this.model)
  }

  *end(): Iterable<ModelEvent | Paused> {
    const { endpoint, layout, calls } = this
    const word = this.refused ? 'refusal' : this.finish
    // `[DONE]` alone ends an answer too, but does not say that it is complete.
    const end = endIn(CHAT_ENDS, word)
    refuseEnd(endpoint, end, word)
    const made = calls.finish(cutBy(end, word), false)
    // A message has one text and one list of calls, so the order is always the same.
    for (const at of made.keys()) layout.addCall(CALLS_AT + at)
    if (this.reasoning !== '') layout.addReasoning(REASONING_AT, { reasoning_content: this.reasoning })
    yield* endEvents({ end, word, calls: made, layout })
  }

  private *say(message: Message | undefined, add: (text: string) => string): Iterable<ModelEvent> {
    this.reasoning += this.layout.countReasoning(textIn(message, 'reasoning_content'))
    const content = contentIn(valueIn(message, 'content'))
    this.layout.countReasoning(content.reasoning)
    const refusal = textIn(message, 'refusal')
    this.refused ||= refusal !== ''
    const said = content.text + refusal
    const piece = said === '' ? '' : add(said)
    if (piece === '') return
    this.layout.addText(TEXT_AT, piece)
    yield { type: 'text', text: piece }
  }

  private takeCalls(message: Message | undefined): void {
    for (const { names, name, input } of callsIn(message)) this.calls.take(names, name, input)
    this.takeOlderCall(message)
  }

  private takeWholeCalls(message: Message): void {
    const calls = callsIn(message)
    if (calls.length > 0) this.calls.takeAll(calls)
    this.takeOlderCall(message)
  }

  private takeOlderCall(message: Message | undefined): void {
    // The API of before there were lists of calls. Its message has at most one.
    const called = objectIn(message, 'function_call')
    if (called === undefined) return
    const name = this.calls.count === 0 ? textIn(called, 'name') : ''
    this.calls.take({ place: 0 }, name, valueIn(called, 'arguments'))
  }
}

const [REASONING_AT, TEXT_AT, CALLS_AT] = [0, 1, 2]

function callsIn(message: Message | undefined): { names: CallNames; name: string; input: unknown }[] {
  return objectsIn(message, 'tool_calls').map((call) => {
    const called = objectIn(call, 'function')
    const names = { call_id: textIn(call, 'id'), place: numberIn(call, 'index') }
    return { names, name: textIn(called, 'name'), input: valueIn(called, 'arguments') }
  })
}

/** The content is a text, or a list of parts. Parts with the model's thinking do not belong to the reply. */
function contentIn(content: unknown): { text: string; reasoning: string } {
  if (content === undefined) return { text: '', reasoning: '' }
  if (typeof content === 'string') return { text: content, reasoning: '' }
  let [text, reasoning] = ['', '']
  for (const part of objectsIn({ content: Array.isArray(content) ? content : [content] }, 'content')) {
    const words = textIn(part as { text?: string }, 'text')
    if (/think|reason/.test(textIn(part as { type?: string }, 'type')))
      reasoning += words || JSON.stringify(part)
    else text += words
  }
  return { text, reasoning }
}
