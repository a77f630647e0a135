/** The right of the page's token, as the server says. */
import { isAllowed, type Scope } from 'substrat/words'
import type { AnswerOf } from '../api/types.js'

export type Right = AnswerOf<'showToken'>

/** Before the right is known, the page offers nothing that a server could refuse. */
export function mayDo(right: Right | undefined, needed: Scope): boolean {
  return right !== undefined && isAllowed(right.read_only ? 'read' : right.may, needed)
}

/** Why the page offers less than everything. */
export function limitOf(right: Right | undefined): string | undefined {
  if (right?.read_only === true) return 'This server only reads.'
  if (right?.may === 'read') return 'This link may only read.'
  return right?.may === 'answer' ? 'This link may only read and answer.' : undefined
}
