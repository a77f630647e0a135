/**
 * The items of one response: messages, reasoning and calls.
 *
 * Invariant: an item that comes in several ways counts once.
 */
import type OpenAI from 'openai'
import type { JsonObject, ModelEvent } from 'substrat/provider'
import { type Facts, Layout } from '../../shared/src/model/layout.js'
import type { Endpoint } from '../../shared/src/model/settings.js'
import {
  addPiece,
  completePart,
  completeText,
  type Message,
  type MessageNames,
  Messages,
} from '../../shared/src/model/text-parts.js'
import { ToolCalls } from '../../shared/src/model/tool-calls.js'
import { numberIn, objectIn, objectsIn, textIn, valueIn, type Wire } from '../../shared/src/model/wire.js'

type Item = Wire<OpenAI.Responses.ResponseOutputItem>
type Call = Wire<OpenAI.Responses.ResponseFunctionToolCall>

/** Any event about an item, with the fields of all. */
export interface ItemEvent {
  type?: string | null
  item?: Item | null
  item_id?: string | null
  output_index?: number | null
  content_index?: number | null
  delta?: unknown
  text?: string | null
  refusal?: string | null
  arguments?: unknown
  name?: string | null
  part?: Part | null
}

interface Part {
  type?: string | null
  text?: string | null
  refusal?: string | null
}

export class ResponseItems {
  readonly calls = new ToolCalls()
  readonly layout: Layout
  isRefused = false
  private readonly messages = new Messages()
  private readonly reasoning = new Set<string>()
  /** Items that began and did not end, by their names. */
  private readonly open = new Set<string>()
  private readonly places = new Map<Message, number>()
  private parts = 0
  private latest: Message | undefined

  constructor(endpoint: Endpoint) {
    this.layout = new Layout(endpoint)
  }

  get isEmpty(): boolean {
    return this.parts === 0
  }

  get isOpen(): boolean {
    return this.open.size > 0
  }

  *take(event: ItemEvent): Iterable<ModelEvent> {
    const names = { item: textIn(event, 'item_id'), place: numberIn(event, 'output_index') }
    const part = numberIn(event, 'content_index') ?? 0
    switch (event.type) {
      case 'response.output_item.added':
        return this.begin(objectIn(event, 'item'), names.place)
      case 'response.output_item.done':
        return yield* this.complete(objectIn(event, 'item'), names.place)
      case 'response.refusal.delta':
      case 'response.output_text.delta':
        this.isRefused ||= event.type === 'response.refusal.delta'
        return yield* this.say(this.messages.of(names), (message) =>
          addPiece(message, part, textIn(event, 'delta')),
        )
      case 'response.output_text.done':
      case 'response.refusal.done':
      case 'response.content_part.done': {
        const whole = textOf([objectIn(event, 'part') ?? event])
        this.isRefused ||= whole.isRefusal
        return yield* this.say(this.messages.of(names), (message) => completePart(message, part, whole.text))
      }
      case 'response.function_call_arguments.delta':
        return this.calls.append(names, valueIn(event, 'delta'))
      case 'response.function_call_arguments.done':
        return this.calls.takeWhole(names, valueIn(event, 'arguments'))
    }
  }

  /** All items, as the end of the response repeats them. */
  *takeAll(items: Item[]): Iterable<ModelEvent> {
    const calls = items.filter(({ type }) => type === 'function_call')
    const made = calls.map((call) => ({ ...sentCall(call as Call, undefined), call }))
    const known = new Set<Message>()
    const unknown = this.calls.takeAll(made).map(({ call }) => call)
    for (const [at, item] of items.entries()) {
      if (unknown.includes(item)) this.layout.addCall(this.next(), factsOf(item as Call, ['id']))
      // Reasoning that comes only here precedes the items that follow it in the list.
      if (item.type === 'reasoning')
        this.takeReasoning(item as JsonObject, at < this.parts ? at - 0.5 : this.parts)
      if (item.type !== 'message') continue
      const whole = textOf(objectsIn(item, 'content') as Part[])
      const message = this.messages.repeated(textIn(item, 'id'), whole.text, known)
      yield* this.completeMessage(message, item, whole)
    }
  }

  private begin(item: Item | undefined, place: number | undefined): void {
    if (item === undefined) return
    this.open.add(keyOf(item, place))
    if (item.type === 'message') this.messages.begin({ item: textIn(item, 'id'), place })
    if (item.type !== 'function_call') return
    const { names, name, input } = sentCall(item as Call, place)
    // The same announcement twice is one.
    if (names.call_id + names.item !== '' && this.calls.repeats(names, name)) return
    this.calls.start(names, name, input)
    this.layout.addCall(this.next(), factsOf(item as Call, ['id']))
  }

  private *complete(item: Item | undefined, place: number | undefined): Iterable<ModelEvent> {
    if (item === undefined) return
    this.open.delete(keyOf(item, place))
    if (item.type === 'reasoning') this.takeReasoning(item as JsonObject, this.parts)
    if (item.type === 'message') {
      const whole = textOf(objectsIn(item, 'content') as Part[])
      const names: MessageNames = { item: textIn(item, 'id'), place }
      yield* this.completeMessage(this.messages.ofWhole(names, whole.text), item, whole)
    }
    if (item.type !== 'function_call') return
    const { names, name, input } = sentCall(item as Call, place)
    if (this.calls.takeItem(names, name, input))
      this.layout.addCall(this.next(), factsOf(item as Call, ['id']))
  }

  private *completeMessage(message: Message, item: object, whole: Whole): Iterable<ModelEvent> {
    this.isRefused ||= whole.isRefusal
    yield* this.say(message, () => completeText(message, whole.text))
    const place = this.places.get(message)
    if (place !== undefined)
      this.layout.describeText(place, factsOf(item as { id?: string; phase?: string }, ['id', 'phase']))
  }

  /**
   * Keeps reasoning that the server can read again: OpenAI's is encrypted, other servers send its text. With `store: false`, an
   * item that has only a summary refers to data that the server does not have.
   */
  private takeReasoning(item: JsonObject, place: number): void {
    const { content } = item
    // A field of another type would make the API refuse every later request.
    const id = textIn(item, 'id')
    if (textIn(item, 'encrypted_content') === '' && !(Array.isArray(content) && content.length > 0)) return
    const key = id || JSON.stringify(item)
    if (this.reasoning.has(key)) return
    this.reasoning.add(key)
    this.layout.countReasoning(JSON.stringify(item))
    this.layout.addReasoning(place, item)
    if (place === this.parts) this.next()
  }

  /** An empty line separates the messages of a response. */
  private *say(message: Message, add: (message: Message) => string): Iterable<ModelEvent> {
    const piece = add(message)
    if (piece === '') return
    const separator = this.latest !== undefined && this.latest !== message ? '\n\n' : ''
    this.latest = message
    const place = this.places.get(message) ?? this.next()
    this.places.set(message, place)
    this.layout.addText(place, piece, separator.length)
    yield { type: 'text', text: `${separator}${piece}` }
  }

  /** The parts are in the order in which they begin. An index may be the same for all. */
  private next(): number {
    this.parts += 1
    return this.parts - 1
  }
}

interface Whole {
  text: string
  isRefusal: boolean
}

/** Parts with the model's reasoning do not belong to the reply. */
function textOf(all: Part[]): Whole {
  const parts = all.filter((part) => !/reason|think/.test(textIn(part, 'type')))
  const refusals = parts.map((part) => textIn(part, 'refusal'))
  return {
    text: parts.map((part, at) => textIn(part, 'text') + refusals[at]).join(''),
    isRefusal: refusals.some((refusal) => refusal !== ''),
  }
}

function sentCall(
  call: Call,
  place: number | undefined,
): { names: { call_id: string; item: string; place: number | undefined }; name: string; input: unknown } {
  const names = { call_id: textIn(call, 'call_id'), item: textIn(call, 'id'), place }
  return { names, name: textIn(call, 'name'), input: valueIn(call, 'arguments') }
}

/** Some servers give an item another id at its end, and calls have ids of their own. */
function keyOf(item: Item, place: number | undefined): string {
  const call_id = item.type === 'function_call' ? textIn(item as Call, 'call_id') : ''
  return call_id || `${item.type}/${place}`
}

function factsOf<T extends object>(item: T, names: (keyof T & string)[]): Facts {
  const facts = names.map((name) => [name, textIn(item, name)] as const)
  return Object.fromEntries(facts.filter(([, value]) => value !== ''))
}
