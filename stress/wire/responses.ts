/** Sends an answer as the Responses API does: in items, each in pieces, whole at its end, or whole at the end of the response. */
import { callsOf, type Intended, type Part, textsOf } from './intended.js'
import { merged, pieces, type Role, type Sent, type Style } from './sent.js'

export function responsesText(intended: Intended): string {
  return textsOf(intended).join('\n\n')
}

export function responsesEvents(intended: Intended, style: Style): Sent[] {
  // `[DONE]` ends only a response whose items have come.
  const sends = { ...style, sendsItems: style.sendsItems || intended.end === 'none' }
  const lanes = intended.parts.map((part, n) => itemEvents(part, n, sends))
  const isMixed = lanes.length > callsOf(intended).length
  const sendsEnd = style.sendsEnd || !(style.sendsPieces || style.sendsItems)
  const output = sendsEnd ? intended.parts.map((part, n) => itemOf(part, itemId(n, style, 'end'))) : []
  return [
    { role: 'frame', event: { type: 'response.created', response: { status: 'in_progress', output: [] } } },
    ...merged(lanes, { ...style, interleaves: style.interleaves && !isMixed }),
    ...(intended.end === 'none'
      ? [{ role: 'mark' as const, event: '[DONE]' as const }]
      : [{ role: 'mark' as const, event: lastOf(intended, output) }]),
  ]
}

export function responsesBody(intended: Intended): object {
  const output = intended.parts.map((part, n) => itemOf(part, `item_${n}`))
  return { object: 'response', ...responseOf(intended, output) }
}

function itemEvents(part: Part, n: number, style: Style): Sent[] {
  const output_index = n
  const at = (role: Role, type: string, more: object): Sent => ({
    role,
    part: n,
    event: { type, output_index, ...more },
  })
  const item_id = itemId(n, style, 'start')
  const sendsItems = style.sendsItems || part.kind === 'reasoning'
  const done = sendsItems
    ? [at('whole', 'response.output_item.done', { item: itemOf(part, itemId(n, style, 'done')) })]
    : []
  if (!style.sendsPieces && !sendsItems) return []
  const added = (item: object): Sent => at('start', 'response.output_item.added', { item })
  if (part.kind === 'reasoning') return [added({ type: 'reasoning', id: item_id, summary: [] }), ...done]
  if (part.kind === 'text') {
    const ofPart = (role: Role, type: string, text: string): Sent[] =>
      style.sendsParts ? [at(role, type, { item_id, content_index: 0, part: outputText(text) })] : []
    return [
      added({ type: 'message', id: item_id, role: 'assistant', content: [] }),
      ...(style.sendsPieces
        ? [
            ...ofPart('start', 'response.content_part.added', ''),
            ...pieces(part.text, style.cuts).map((delta) =>
              at('piece', 'response.output_text.delta', { item_id, content_index: 0, delta }),
            ),
            at('whole', 'response.output_text.done', { item_id, content_index: 0, text: part.text }),
            ...ofPart('whole', 'response.content_part.done', part.text),
          ]
        : []),
      ...done,
    ]
  }
  const json = JSON.stringify(part.call.input)
  return [
    added({ ...itemOf(part, item_id), arguments: '' }),
    ...(style.sendsPieces
      ? [
          ...pieces(json, style.cuts).map((delta) =>
            at('piece', 'response.function_call_arguments.delta', { item_id, delta }),
          ),
          at('whole', 'response.function_call_arguments.done', { item_id, arguments: json }),
        ]
      : []),
    ...done,
  ]
}

/** Some gateways give an item another id at each place. */
function itemId(n: number, { rotatesItems }: Style, place: string): string {
  return rotatesItems && place !== 'start' ? `item_${n}_${place}` : `item_${n}`
}

function itemOf(part: Part, id: string): object {
  if (part.kind === 'text') {
    const content = [outputText(part.text)]
    return { type: 'message', id, role: 'assistant', status: 'completed', content }
  }
  if (part.kind === 'reasoning')
    // The reasoning is the same under each id.
    return { type: 'reasoning', id: `rs_${id.split('_')[1]}`, summary: [], encrypted_content: part.text }
  const { name, input, id: call_id } = part.call
  return { type: 'function_call', id, call_id, name, arguments: JSON.stringify(input), status: 'completed' }
}

function outputText(text: string): object {
  return { type: 'output_text', text, annotations: [] }
}

function lastOf(intended: Intended, output: object[]): object {
  const type = intended.end === 'cut' ? 'response.incomplete' : 'response.completed'
  return { type, response: responseOf(intended, output) }
}

function responseOf({ end }: Intended, output: object[]): object {
  const usage = { input_tokens: 3, output_tokens: 4 }
  if (end === 'cut')
    return { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output, usage }
  return { status: end === 'unknown' ? 'brand_new' : 'completed', output, usage }
}
