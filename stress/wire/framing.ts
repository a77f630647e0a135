/** How the events of an answer become bytes, and how the network splits them. Each framing here is valid. */
import fc from 'fast-check'
import type { Sent } from './sent.js'

export interface Framing {
  newline: '\n' | '\r\n' | '\r'
  hasByteOrderMark: boolean
  /** A gateway joins streams that each begin with a byte order mark. */
  marksEachEvent: boolean
  comments: number[]
  names: 'none' | 'also' | 'only'
  hasFields: boolean
  hasSpace: boolean
  isPretty: boolean
  /** How the last event ends. */
  last: 'blank line' | 'newline' | 'nothing'
  /** After these events the empty line is missing. */
  joined: number[]
  splits: number[]
  /** The connection stays open, with comments. */
  staysOpen: boolean
}

export const framing: fc.Arbitrary<Framing> = fc.record({
  newline: fc.constantFrom('\n', '\n', '\r\n', '\r'),
  hasByteOrderMark: fc.boolean(),
  marksEachEvent: fc.nat(5).map((n) => n === 5),
  comments: fc.array(fc.nat(20), { maxLength: 2 }),
  names: fc.constantFrom('none', 'also', 'only'),
  hasFields: fc.boolean(),
  hasSpace: fc.boolean(),
  isPretty: fc.boolean(),
  last: fc.constantFrom('blank line', 'newline', 'nothing'),
  joined: fc.array(fc.nat(20), { maxLength: 1 }),
  splits: fc.array(fc.nat(4000), { maxLength: 8 }),
  staysOpen: fc.nat(150).map((n) => n === 150),
})

export function streamBytes(events: Sent[], how: Framing): Buffer {
  const { newline, comments, joined, names, isPretty } = how
  let text = ''
  for (const [n, sent] of events.entries()) {
    if (comments.includes(n)) text += `: keep-alive${newline}${newline}`
    const isLast = n === events.length - 1
    if (n > 0 && how.marksEachEvent) text += '\ufeff'
    text += linesOf(sent, how).join(newline)
    if (isLast && how.last !== 'blank line' && !how.staysOpen) text += how.last === 'newline' ? newline : ''
    else if (joined.includes(n) && names === 'none' && !isPretty && !how.hasFields && !isLast) text += newline
    else text += newline + newline
  }
  return bytesOf(text, how)
}

export function wholeBytes(body: object, how: Framing): Buffer {
  return bytesOf(JSON.stringify(body, null, how.isPretty ? 1 : 0), how)
}

export function chunksOf(bytes: Buffer, { splits }: Framing): Buffer[] {
  const at = [...new Set(splits.map((split) => split % Math.max(bytes.length, 1)))].sort((a, b) => a - b)
  return [0, ...at]
    .map((from, n) => bytes.subarray(from, at[n] ?? bytes.length))
    .filter(({ length }) => length > 0)
}

function bytesOf(text: string, { hasByteOrderMark }: Framing): Buffer {
  return Buffer.from(`${hasByteOrderMark ? '\ufeff' : ''}${text}`)
}

function linesOf({ event }: Sent, { names, hasFields, hasSpace, isPretty }: Framing): string[] {
  const data = hasSpace ? 'data: ' : 'data:'
  const fields = hasFields ? ['id: 7', 'retry: 1000'] : []
  if (typeof event === 'string') return [...fields, `${data}${event}`]
  const { type, ...rest } = event as { type?: string }
  const isNamed = typeof type === 'string' && names !== 'none'
  const sent = isNamed && names === 'only' ? rest : event
  const json = JSON.stringify(sent, null, isPretty ? 1 : 0)
  return [
    ...(isNamed ? [`event: ${type}`] : []),
    ...fields,
    ...json.split('\n').map((line) => `${data}${line}`),
  ]
}
