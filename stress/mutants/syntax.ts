/**
 * The syntax tree of a source file. Its units are functions, methods and constants of the module. A node of a unit has an
 * address without names: `if:2.test.left` is the left side of the condition of the second `if`.
 */
import { createHash } from 'node:crypto'
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
/** Fields other than children, names and texts that distinguish two nodes of one type. */
const FACTS = ['operator', 'kind', 'computed', 'optional', 'async', 'generator', 'prefix', 'static']

export function programOf(source: string): Node {
  const { program, errors } = parseSync('source.ts', source, { preserveParens: false, astType: 'ts' })
  if (errors.length > 0) throw new Error(`the source does not parse: ${errors[0]?.message}`)
  return program as unknown as Node
}

export function unitsOf(source: string): Unit[] {
  return childrenIn(programOf(source), 'body').flatMap((node) => unitsIn((node.declaration ?? node) as Node))
}

function unitsIn(node: Node): Unit[] {
  const name = (node.id as Node | null)?.name as string
  // Each imported name is a unit: `import:openDurable`.
  if (node.type === 'ImportDeclaration')
    return childrenIn(node, 'specifiers').map((root) => ({
      name: `import:${(root.local as Node).name}`,
      root,
    }))
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

export interface Place {
  node: Node
  parent: Node | undefined
  /** The field of the parent that holds the node. */
  field: string
}

/** Every node of the tree, in source order. */
export function* placesIn(node: Node, parent?: Node, field = ''): Generator<Place> {
  yield { node, parent, field }
  for (const [name, child] of childrenOf(node)) yield* placesIn(child, node, name)
}

/** The kind in an address: `if` for IfStatement, `call` for CallExpression. */
function kindOf({ type }: Node): string {
  const short = type.replace(/^TS|(Statement|Expression|Declaration)$/g, '')
  return short.charAt(0).toLowerCase() + short.slice(1)
}

export function nodeAt(root: Node, address: string): Node | undefined {
  const [first = '', ...fields] = address.split('.')
  const [kind, ordinal] = first.split(':')
  const found = [...placesIn(root)].filter(({ node }) => kindOf(node) === kind)[Number(ordinal) - 1]?.node
  return found === undefined ? undefined : descendant(found, fields)
}

export function descendant(node: Node, fields: string[]): Node | undefined {
  let value: unknown = node
  for (const field of fields) value = (value as Record<string, unknown> | null | undefined)?.[field]
  return isNode(value) ? value : undefined
}

/** A hash of the tree without names and prose. A rename does not change it. */
export function shapeOf(node: Node): string {
  return digest(outline(node, false))
}

/**
 * Two hashes for each node, neither of which a rename changes. The first is of the shape of its statement, without the
 * statements inside that, and of the path from the statement to the node. The second is of the statements before and behind.
 */
export function contextsIn(root: Node): Map<Node, string> {
  const contexts = new Map<Node, string>()
  const visit = (node: Node, statement: string, around: string, way: string[]): void => {
    contexts.set(node, `${digest(`${statement} ${way.join('.')}`)} ${around}`)
    const children = childrenOf(node)
    const outlines = children.map(([, child]) => (isStatement(child) ? outline(child, true) : ''))
    for (const [index, [field, child]] of children.entries())
      if (isStatement(child))
        visit(child, outlines[index] as string, digest(`${outlines[index - 1]} ${outlines[index + 1]}`), [])
      else visit(child, statement, around, [...way, field])
  }
  visit(root, outline(root, true), '-', [])
  return contexts
}

function outline(node: Node, isShallow: boolean): string {
  if (node.type === 'Literal') return literalOf(node)
  const facts = FACTS.map((fact) => node[fact]).filter((fact) => ['string', 'boolean'].includes(typeof fact))
  const children = childrenOf(node).map(([field, child]) =>
    isShallow && isStatement(child) ? `${field}=` : `${field}=${outline(child, isShallow)}`,
  )
  return `${node.type}(${[...facts, ...children].join()})`
}

/** Includes words of the contract, such as fault points and record kinds. Leaves prose out, because it may be reworded. */
function literalOf({ value, raw }: Node): string {
  if (typeof value === 'string') return /^[\w.-]+$/.test(value) ? value : 'text'
  return value === null ? String(raw) : typeof value
}

function isStatement({ type }: Node): boolean {
  return /(Statement|Declaration)$/.test(type) || type === 'SwitchCase'
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 6)
}
