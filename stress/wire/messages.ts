/** Sends an answer as the Messages API does: in blocks, each with its index. */
import { callsOf, type Intended, type Part, textsOf } from './intended.js'
import { merged, pieces, type Role, type Sent, type Style } from './sent.js'

const WORDS = { complete: 'end_turn', cut: 'max_tokens', unknown: 'brand_new', none: null }
const USAGE = { input_tokens: 3, output_tokens: 4 }

export function messagesText(intended: Intended): string {
  return textsOf(intended).join('')
}

export function messagesEvents(intended: Intended, style: Style): Sent[] {
  const lanes = intended.parts.map((part, n) => blockEvents(part, n, style))
  const stop_reason = stopOf(intended)
  // Only blocks of calls can be interleaved without another order of the texts.
  const isMixed = lanes.length > callsOf(intended).length
  return [
    {
      role: 'frame',
      event: { type: 'message_start', message: { role: 'assistant', content: [], usage: USAGE } },
    },
    ...merged(lanes, { ...style, interleaves: style.interleaves && !isMixed }),
    {
      role: 'end',
      event: { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: USAGE },
    },
    ...(style.hasMark || stop_reason === null
      ? [{ role: 'mark' as const, event: { type: 'message_stop' } }]
      : []),
  ]
}

export function messagesBody(intended: Intended): object {
  const content = intended.parts.map((part) => wholeBlock(part))
  return { type: 'message', role: 'assistant', content, stop_reason: stopOf(intended), usage: USAGE }
}

function blockEvents(part: Part, index: number, { cuts, sendsPieces }: Style): Sent[] {
  const at = (role: Role, event: object): Sent => ({ role, part: index, event: { ...event, index } })
  const start = (content_block: object): Sent =>
    at(sendsPieces ? 'start' : 'whole', { type: 'content_block_start', content_block })
  const delta = (said: object): Sent => at('piece', { type: 'content_block_delta', delta: said })
  const stop = at('stop', { type: 'content_block_stop' })
  if (!sendsPieces) return [start(wholeBlock(part)), stop]
  if (part.kind === 'text')
    return [
      start({ type: 'text', text: '' }),
      ...pieces(part.text, cuts).map((text) => delta({ type: 'text_delta', text })),
      stop,
    ]
  if (part.kind === 'reasoning')
    return [
      start({ type: 'thinking', thinking: '', signature: '' }),
      ...pieces(part.text, cuts).map((thinking) => delta({ type: 'thinking_delta', thinking })),
      delta({ type: 'signature_delta', signature: 'c2ln' }),
      stop,
    ]
  const { id, name, input } = part.call
  return [
    start({ type: 'tool_use', id, name, input: {} }),
    ...pieces(JSON.stringify(input), cuts).map((partial_json) =>
      delta({ type: 'input_json_delta', partial_json }),
    ),
    stop,
  ]
}

function wholeBlock(part: Part): object {
  if (part.kind === 'text') return { type: 'text', text: part.text }
  if (part.kind === 'reasoning') return { type: 'thinking', thinking: part.text, signature: 'c2ln' }
  const { id, name, input } = part.call
  return { type: 'tool_use', id, name, input }
}

function stopOf(intended: Intended): string | null {
  const isCalled = callsOf(intended).length > 0 && intended.end === 'complete'
  return isCalled ? 'tool_use' : WORDS[intended.end]
}
