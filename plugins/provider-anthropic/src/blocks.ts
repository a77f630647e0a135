/**
 * The content blocks of one response.
 *
 * Invariant: a new block is a new part, also with the index of another one. A piece belongs to the block that is open at its index.
 */
import type { JsonObject, ModelEvent, ToolCall } from 'substrat/provider'
import { Layout } from '../../shared/src/model/layout.js'
import type { Endpoint } from '../../shared/src/model/settings.js'
import { ToolCalls } from '../../shared/src/model/tool-calls.js'
import { objectIn, textIn } from '../../shared/src/model/wire.js'

/** The fields of all blocks that are read. */
export interface ContentBlock {
  type?: string | null
  text?: string | null
  id?: string | null
  name?: string | null
  input?: object | null
  thinking?: string | null
  signature?: string | null
  data?: string | null
}

const OWN = ['text', 'thinking', 'redacted_thinking', 'tool_use']

interface OpenBlock {
  type: string
  /** Its place among the parts of the response. */
  place: number
  call_id: string
  /** The name and the input of an announced call. */
  announced?: string
  /** Thinking, assembled from its pieces. Its text is never part of the reply. */
  thinking?: JsonObject
}

export class Blocks {
  readonly layout: Layout
  private readonly calls = new ToolCalls()
  private readonly open = new Map<number, OpenBlock>()
  private readonly thinking: OpenBlock[] = []
  private parts = 0

  constructor(endpoint: Endpoint) {
    this.layout = new Layout(endpoint)
  }

  get isEmpty(): boolean {
    return this.parts === 0
  }

  *begin(index = 0, block: ContentBlock = {}): Iterable<ModelEvent> {
    const type = textIn(block, 'type')
    const call_id = type === 'tool_use' ? textIn(block, 'id') : ''
    const announced = JSON.stringify([block.name, block.input])
    const before = this.open.get(index)
    if (type === 'tool_use' && before?.announced === announced && before.call_id === call_id) {
      // The same announcement twice is one. Without an id, nothing tells it from a second call.
      if (call_id !== '') return void this.calls.repeats({ call_id }, textIn(block, 'name'))
      this.calls.refuse(`a call of ${textIn(block, 'name')} was announced twice without an id`)
    }
    const opened: OpenBlock = { type, place: this.parts, call_id }
    if (type === 'tool_use') opened.announced = announced
    this.parts += 1
    this.open.set(index, opened)
    if (type === 'text') yield* this.say(opened, textIn(block, 'text'))
    if (type === 'thinking' || type === 'redacted_thinking') {
      // A field of another type would make the API refuse every later request.
      for (const field of ['thinking', 'signature', 'data'] as const) textIn(block, field)
      this.layout.countReasoning(JSON.stringify(block))
      opened.thinking = { ...block }
      this.thinking.push(opened)
    }
    if (type !== 'tool_use') return
    // Some compatible servers send the whole input here; the API sends `{}`.
    const { input } = block
    const isGiven = typeof input === 'string' || Object.keys(objectIn(block, 'input') ?? {}).length > 0
    this.layout.addCall(opened.place)
    this.calls.start({ call_id, place: index }, textIn(block, 'name'), isGiven ? input : '')
  }

  *add(index = 0, delta: object = {}): Iterable<ModelEvent> {
    const { type, ...said } = delta as Record<
      'type' | 'text' | 'thinking' | 'signature',
      string | null | undefined
    >
    const block = this.open.get(index)
    if (type === 'text_delta') yield* this.say(block ?? this.implied(index), textIn(said, 'text'))
    if (type === 'thinking_delta' && block?.thinking !== undefined) {
      const { thinking } = block
      thinking.thinking = `${thinking.thinking ?? ''}${this.layout.countReasoning(textIn(said, 'thinking'))}`
    }
    // The API sends the whole signature at once.
    if (type === 'signature_delta' && block?.thinking !== undefined)
      block.thinking.signature = this.layout.countReasoning(textIn(said, 'signature'))
    if (type !== 'input_json_delta') return
    // Other blocks have input too, such as the calls of tools that the server runs.
    const isOfServer = block !== undefined && !OWN.includes(block.type)
    if (isOfServer && !this.calls.hasOpenAt(index)) return
    const names = isOfServer ? { item: block.type } : { place: index }
    this.calls.append(names, textIn(delta as { partial_json?: string }, 'partial_json'))
  }

  end(index = 0): void {
    this.open.delete(index)
    this.calls.closeAt(index)
  }

  /** The blocks of a whole message. */
  *takeAll(blocks: ContentBlock[]): Iterable<ModelEvent> {
    for (const [index, block] of blocks.entries()) {
      yield* this.begin(index, block)
      this.end(index)
    }
  }

  finish(cut: string | undefined): ToolCall[] {
    for (const { place, thinking = {} } of this.thinking) {
      // The API refuses a block whose end, with its signature, the token limit cut off.
      const isUnsigned = thinking.type === 'thinking' && (thinking.signature ?? '') === ''
      if (cut === undefined || !isUnsigned) this.layout.addReasoning(place, thinking)
    }
    return this.calls.finish(cut, true)
  }

  /** Some servers do not announce a text. */
  private implied(index: number): OpenBlock {
    const block = { type: 'text', place: this.parts, call_id: '' }
    this.parts += 1
    this.open.set(index, block)
    return block
  }

  private *say({ place }: OpenBlock, piece: string): Iterable<ModelEvent> {
    if (piece === '') return
    this.layout.addText(place, piece)
    yield { type: 'text', text: piece }
  }
}
