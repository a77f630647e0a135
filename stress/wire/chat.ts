/** Sends an answer as Chat Completions does. A message has one text, one reasoning and one list of calls. */
import { callsOf, type Intended, textsOf } from './intended.js'
import { merged, pieces, type Role, type Sent, type Style } from './sent.js'

const WORDS = { complete: 'stop', cut: 'length', unknown: 'brand_new', none: '' }

export function chatText(intended: Intended): string {
  return textsOf(intended).join('')
}

export function chatEvents(intended: Intended, style: Style): Sent[] {
  const reason = finishOf(intended)
  const chunk = (role: Role, delta: object, more: object = {}, part?: number): Sent => ({
    role,
    ...(part !== undefined && { part }),
    event: {
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: null, ...more }],
    },
  })
  const said = (field: string, text: string, part: number): Sent[] =>
    text === '' ? [] : pieces(text, style.cuts).map((piece) => chunk('piece', { [field]: piece }, {}, part))
  const lanes = callsOf(intended).map(({ id, name, input }, n) =>
    ['', ...pieces(JSON.stringify(input), style.cuts)].map((piece, at) => {
      const isFirst = at === 0
      const call = {
        // An index may be left out only if each piece has an id.
        ...((style.hasIndexes || !style.repeatsIds) && { index: n }),
        ...((isFirst || style.repeatsIds) && { id }),
        ...(isFirst && { type: 'function' }),
        function: { ...(isFirst && { name }), arguments: piece },
      }
      return chunk(isFirst ? 'start' : 'piece', { tool_calls: [call] }, {}, 10 + n)
    }),
  )
  const isMarked = style.hasMark || reason === ''
  return [
    chunk('frame', { role: 'assistant', content: '' }),
    ...said('reasoning_content', reasoningOf(intended), 0),
    ...said('content', chatText(intended), 1),
    ...merged(lanes, style),
    ...(style.hasMessage ? [chunk('whole', {}, { message: messageOf(intended) })] : []),
    ...(reason === '' ? [] : [chunk('end', {}, { finish_reason: reason })]),
    ...(style.hasUsage
      ? [
          {
            role: 'frame' as const,
            event: { choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } },
          },
        ]
      : []),
    ...(isMarked ? [{ role: 'mark' as const, event: '[DONE]' as const }] : []),
  ]
}

export function chatBody(intended: Intended): object {
  const finish_reason = finishOf(intended) || null
  return {
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', ...messageOf(intended) }, finish_reason }],
    usage: { prompt_tokens: 3, completion_tokens: 4 },
  }
}

function messageOf(intended: Intended): object {
  const calls = callsOf(intended)
  return {
    content: chatText(intended) || null,
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, input }) => ({
        id,
        type: 'function',
        function: { name, arguments: JSON.stringify(input) },
      })),
    }),
  }
}

function reasoningOf({ parts }: Intended): string {
  return parts.map((part) => (part.kind === 'reasoning' ? part.text : '')).join('')
}

function finishOf(intended: Intended): string {
  const isCalled = callsOf(intended).length > 0 && intended.end === 'complete'
  return isCalled ? 'tool_calls' : WORDS[intended.end]
}
