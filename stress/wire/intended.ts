/** The answer that a model means: the text, the calls and the reasoning, apart from how a server sends them. */
import fc from 'fast-check'

export interface IntendedCall {
  id: string
  name: string
  input: Record<string, unknown>
}

export type Part =
  | { kind: 'text'; text: string }
  | { kind: 'reasoning'; text: string }
  | { kind: 'call'; call: IntendedCall }

/** `none`: the server gives no reason for the end. */
type IntendedEnd = 'complete' | 'cut' | 'unknown' | 'none'

export interface Intended {
  parts: Part[]
  end: IntendedEnd
}

// Texts that can be mistaken for parts of the protocol, or that a careless reader splits or drops.
const TEXTS = [
  'a',
  'Done.',
  ' ',
  '\n\n',
  'data: {"type":"message_stop"}\n\n',
  '[DONE]',
  '{"error":{"message":"no"}}',
  'é€😀👩‍💻',
  '\ud83d',
  '\udc00 half',
  '\ufeffmark',
  'a\r\nb\rc\u2028d',
  '\u0000\u001b[31m',
  '<think>x</think>',
  'x'.repeat(300),
]
// Inputs whose texts can be mistaken for parts of each other.
const INPUTS: Record<string, unknown>[] = [
  {},
  { path: 'notes.txt', content: 'first' },
  { path: 'other.txt', content: 'SECOND' },
  { x: '{}' },
  { x: '' },
  { x: { y: 1 } },
  { y: 1 },
  { a: '"}{"', b: ['{"x":1}', null, true] },
  { 'é😀': '\ud83d\n\\' },
  JSON.parse('{"__proto__":{"x":1},"constructor":"no"}') as Record<string, unknown>,
  { n: 1e21, deep: [[[[{ a: [{}] }]]]] },
]
const NAMES = ['write_file', 'edit_file', 'shell', 'mcp__a__b']

const text = fc.record({ kind: fc.constant('text' as const), text: fc.constantFrom(...TEXTS) })
const reasoning = fc.record({
  kind: fc.constant('reasoning' as const),
  text: fc.constantFrom('hmm', 'because 😀', ...TEXTS.slice(4, 7)),
})
const call = fc
  .record({ name: fc.constantFrom(...NAMES), input: fc.constantFrom(...INPUTS) })
  .map((made) => ({ kind: 'call' as const, call: { ...made, id: '' } }))

export const intended: fc.Arbitrary<Intended> = fc
  .record({
    parts: fc.array(fc.oneof(text, reasoning, call, call), { minLength: 1, maxLength: 5 }),
    end: fc.constantFrom<IntendedEnd>('complete', 'complete', 'complete', 'cut', 'unknown', 'none'),
    prefix: fc.constantFrom('call_', 'toolu_01', 'functions.shell:', 'é-'),
  })
  .map(({ parts, end, prefix }) => ({
    end,
    parts: parts.map((part, n) =>
      part.kind === 'call'
        ? { ...part, call: { ...part.call, id: `${prefix}${n}` } }
        : part.kind === 'reasoning' || part.text !== ''
          ? part
          : { ...part, text: 'a' },
    ),
  }))

export function callsOf({ parts }: Intended): IntendedCall[] {
  return parts.flatMap((part) => (part.kind === 'call' ? [part.call] : []))
}

export function textsOf({ parts }: Intended): string[] {
  return parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []))
}
