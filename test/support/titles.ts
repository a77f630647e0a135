/** The titles of a test file, read from its source without running it. */
import { childrenOf, type Node, programOf } from '../../stress/mutants/syntax.js'

/** vitest replaces it by a value. */
const PLACEHOLDER = /%[sdifjop#%]|\$[\w.]+/g

/**
 * The titles of the tests, each after the titles of its `describe` blocks. A title with a placeholder appears once for
 * each text of the file, because any text may be the value.
 */
export function titlesIn(source: string): string[] {
  const program = programOf(source)
  const texts = [...new Set(textsIn(program))]
  return chainsIn(program, '').flatMap((title) =>
    title.search(PLACEHOLDER) >= 0 ? texts.map((text) => title.replaceAll(PLACEHOLDER, () => text)) : [title],
  )
}

function chainsIn(node: Node, above: string): string[] {
  const [title] = node.type === 'CallExpression' ? (node.arguments as Node[]).map(textOf) : []
  const caller = title === undefined ? '' : callerOf(node.callee as Node)
  const chain = `${above} ${title}`.trim()
  if (caller === 'test') return [chain]
  return childrenOf(node).flatMap(([, child]) => chainsIn(child, caller === 'describe' ? chain : above))
}

/** `test` for `test(…)`, `test.each(…)(…)` and `test.skipIf(…)(…)`. */
function callerOf(node: Node): string {
  if (node.type === 'Identifier') return node.name as string
  const inner = (node.callee ?? node.object ?? node.tag) as Node | undefined
  return inner === undefined ? '' : callerOf(inner)
}

function textsIn(node: Node): string[] {
  const text = textOf(node)
  return text === undefined ? childrenOf(node).flatMap(([, child]) => textsIn(child)) : [text]
}

/** The text of a string, or of a template with `%s` for its values. */
function textOf(node: Node): string | undefined {
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value
  if (node.type !== 'TemplateLiteral') return undefined
  return (node.quasis as { value: { cooked: string } }[]).map(({ value }) => value.cooked).join('%s')
}
