/** The edits that make a mutant. They address nodes of a syntax tree and contain no name of the source. */
import { childrenIn, descendant, type Node, type Place, placesIn } from './syntax.js'

/**
 * Maps the address of a node to its replacement. An empty replacement leaves the node out. Any other is TypeScript with
 * references: `@self` is the node, `@left` a part of it, `@if:2.test` another node of the unit, and
 * `@{tree/names.ts isFree|if:2.test}` a node of another unit. A pair replaces one text by another in a string of shell code,
 * because shell code has no syntax tree here.
 */
export type Edits = Record<string, string | [from: string, to: string]>

/** Finds the node at an address, and the source that it is in. Throws if there is none. */
export type Find = (address: string) => { source: string; node: Node }

export const REFERENCE = /@(?:\{([^}]+)\}|([a-zA-Z]+(?::\d+)?(?:\.\w+)*))/g

/** All addresses in the edits and in their references. */
export function addressesIn(edits: Edits): string[] {
  const texts = Object.values(edits).filter((edit) => typeof edit === 'string')
  const referred = texts.flatMap((text) => [...text.matchAll(REFERENCE)].map(([, far, near]) => far ?? near))
  return [
    ...new Set([...Object.keys(edits), ...referred.filter((address) => address?.includes(':'))]),
  ] as string[]
}

interface Piece {
  start: number
  end: number
  text: string
}

export function applyEdits(source: string, root: Node, edits: Edits, find: Find): string {
  const places = new Map([...placesIn(root)].map((place) => [place.node, place]))
  const pieces = Object.entries(edits).map(([address, edit]) =>
    pieceOf(source, places.get(find(address).node) as Place, edit, find),
  )
  pieces.sort((a, b) => b.start - a.start)
  return pieces.reduce((text, piece, index) => {
    if (piece.end > (pieces[index - 1]?.start ?? text.length)) throw new Error('one edit is in another')
    return text.slice(0, piece.start) + piece.text + text.slice(piece.end)
  }, source)
}

function pieceOf(source: string, place: Place, edit: Edits[string], find: Find): Piece {
  const { node } = place
  if (edit === '') return withoutNode(place)
  const piece = { start: node.start, end: endOf(node) }
  if (typeof edit !== 'string') {
    const parts = textOf(source, node).split(edit[0])
    if (parts.length !== 2) throw new Error(`${edit[0]} stands there ${parts.length - 1} times`)
    return { ...piece, text: parts.join(edit[1]) }
  }
  const text = edit.replaceAll(REFERENCE, (_, far: string | undefined, near: string) => {
    if (far !== undefined || near.includes(':')) {
      const found = find(far ?? near)
      return textOf(found.source, found.node)
    }
    const part = near === 'self' ? node : descendant(node, near.split('.'))
    if (part === undefined) throw new Error(`a ${node.type} has no ${near}`)
    return textOf(source, part)
  })
  return { ...piece, text }
}

function withoutNode({ node, parent, field }: Place): Piece {
  const { start, end } = node
  const list = parent === undefined ? [] : childrenIn(parent, field.split('.')[0] as string)
  const isStatement = /(Statement|Declaration|SwitchCase)$/.test(node.type)
  if (isStatement || list.length === 0) return { start, end, text: isStatement ? ';' : '{}' }
  // Removes the comma as well.
  const index = list.indexOf(node)
  const [before, next] = [list[index - 1], list[index + 1]]
  if (next !== undefined) return { start, end: next.start, text: '' }
  return { start: before === undefined ? start : endOf(before), end: endOf(node), text: '' }
}

function textOf(source: string, node: Node): string {
  return source.slice(node.start, endOf(node))
}

/** The parser counts the type of a parameter as part of its name; a reference to the name does not. */
function endOf(node: Node): number {
  return node.type === 'Identifier' ? node.start + (node.name as string).length : node.end
}
