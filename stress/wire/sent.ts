/** The events of an answer, and how a server varies them without leaving the protocol. */
import fc from 'fast-check'

/**
 * - `frame`: the beginning of the response, or a note about it. The answer does not depend on it.
 * - `start`, `piece`, `whole`, `stop`: of a part.
 * - `end`: the reason of the end.
 * - `mark`: the last event.
 */
export type Role = 'frame' | 'start' | 'piece' | 'whole' | 'stop' | 'end' | 'mark'

export interface Sent {
  role: Role
  /** The part to which the event belongs. */
  part?: number
  event: object | '[DONE]'
}

/** The choices of a server. Each dialect uses those that it has. */
export interface Style {
  /** Where the pieces of a text are split. */
  cuts: number[]
  /** In which order the pieces of the calls come. */
  order: number[]
  interleaves: boolean
  sendsPieces: boolean
  /** Each part of a message is announced, and comes whole at its end. */
  sendsParts: boolean
  sendsItems: boolean
  sendsEnd: boolean
  repeatsIds: boolean
  rotatesItems: boolean
  hasIndexes: boolean
  hasUsage: boolean
  hasMark: boolean
  /** A whole message at the end of a stream, too. */
  hasMessage: boolean
}

export const style: fc.Arbitrary<Style> = fc.record({
  cuts: fc.array(fc.nat(60), { maxLength: 4 }),
  order: fc.array(fc.nat(7), { maxLength: 12 }),
  interleaves: fc.boolean(),
  sendsPieces: fc.boolean(),
  sendsParts: fc.boolean(),
  sendsItems: fc.boolean(),
  sendsEnd: fc.boolean(),
  repeatsIds: fc.boolean(),
  rotatesItems: fc.boolean(),
  hasIndexes: fc.boolean(),
  hasUsage: fc.boolean(),
  hasMark: fc.boolean(),
  hasMessage: fc.boolean(),
})

export function pieces(text: string, cuts: number[]): string[] {
  if (text.length < 2) return [text]
  const at = [...new Set(cuts.map((cut) => cut % text.length))].filter((cut) => cut > 0).sort((a, b) => a - b)
  return [0, ...at].map((from, n) => text.slice(from, at[n] ?? text.length))
}

/** Merges the lanes, each in its own order. */
export function merged(lanes: Sent[][], { order, interleaves }: Style): Sent[] {
  if (!interleaves) return lanes.flat()
  const left = lanes.map((lane) => [...lane])
  const all: Sent[] = []
  for (let n = 0; left.some((lane) => lane.length > 0); n += 1) {
    const open = left.filter((lane) => lane.length > 0)
    all.push(...(open[(order[n] ?? 0) % open.length]?.splice(0, 1) ?? []))
  }
  return all
}
