/** The syntax tree of a source file. Its units are functions, methods and constants of the module. */
import { parseSync } from 'oxc-parser'

export interface Node {
  type: string
  start: number
  end: number
  [field: string]: unknown
}

export interface Unit {
  /** `append`, or `Log.append` for a method. */
  name: string
  root: Node
}

/** Fields that hold types, which the compiler erases. */
const TYPES = ['typeAnnotation', 'typeParameters', 'typeArguments', 'returnType', 'implements', 'decorators']

export function programOf(source: string): Node {
  const { program, errors } = parseSync('source.ts', source, { preserveParens: false, astType: 'ts' })
  if (errors.length > 0) throw new Error(`the source does not parse: ${errors[0]?.message}`)
  return program as unknown as Node
}

export function commentsIn(source: string): { start: number; end: number }[] {
  return parseSync('source.ts', source).comments
}

export function unitsOf(source: string): Unit[] {
  return childrenIn(programOf(source), 'body').flatMap((node) => unitsIn((node.declaration ?? node) as Node))
}

function unitsIn(node: Node): Unit[] {
  const name = (node.id as Node | null)?.name as string
  if (node.type === 'FunctionDeclaration') return [{ name, root: node }]
  if (node.type === 'ClassDeclaration')
    return childrenIn(node.body as Node, 'body').map((member) => ({
      name: `${name}.${(member.key as Node | undefined)?.name}`,
      root: member,
    }))
  if (node.type !== 'VariableDeclaration') return []
  return childrenIn(node, 'declarations').map((root) => ({ name: (root.id as Node).name as string, root }))
}

/** The list of children in a field; empty where the field holds none, or one. */
export function childrenIn(node: Node, field: string): Node[] {
  const list = node[field]
  return Array.isArray(list) ? list.filter(isNode) : []
}

const childrenByNode = new WeakMap<Node, [field: string, child: Node][]>()

/** The children in source order, each with its field, such as `left` or `arguments.0`. */
export function childrenOf(node: Node): [field: string, child: Node][] {
  const known = childrenByNode.get(node)
  if (known !== undefined) return known
  const children: [string, Node][] = []
  for (const field of Object.keys(node)) {
    const value = node[field]
    if (typeof value !== 'object' || TYPES.includes(field)) continue
    if (isNode(value)) children.push([field, value])
    else
      for (const [index, child] of childrenIn(node, field).entries())
        children.push([`${field}.${index}`, child])
  }
  children.sort(([, a], [, b]) => a.start - b.start)
  childrenByNode.set(node, children)
  return children
}

function isNode(value: unknown): value is Node {
  return typeof (value as Node | null)?.type === 'string'
}

/** The node and all below it, in source order. */
export function* nodesIn(node: Node): Generator<Node> {
  yield node
  for (const [, child] of childrenOf(node)) yield* nodesIn(child)
}
