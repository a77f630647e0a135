/** The output of `tree` without `--json`. */
import type { StrayNode, TreeNode, TreeView } from '../../schema/output-overview.js'
import { table } from './table.js'
import { displayWidth } from './width.js'

type AnyNode = TreeNode | StrayNode

/** `widthOf`: the columns of a name at a terminal. */
export function treeText({ agents, stray }: TreeView, widthOf?: (text: string) => number): string {
  if (agents.length === 0 && stray.length === 0) return 'no agents yet (create one: substrat spawn)'
  const parts = agents.length === 0 ? [] : [treeTable(agents, widthOf)]
  if (stray.length > 0) {
    const why = stray.map((node) => `${labelOf(node)}: ${node.why}`)
    parts.push(['not in the tree:', ...why].join('\n'), treeTable(stray, widthOf))
  }
  return parts.join('\n\n')
}

/** The same below a line for each agent that goes on only after a person did something. */
export function watchedTreeText(tree: TreeView): string {
  const waiting = [...tree.agents, ...tree.stray].flatMap(needingPerson)
  const lines = waiting.map((node) => `needs you: ${'path' in node ? node.path : node.id} (${node.status})`)
  return [...lines, treeText(tree, displayWidth)].join('\n')
}

function needingPerson(node: AnyNode): AnyNode[] {
  const isNeeding =
    !['running', 'idle'].includes(node.status) && !('state' in node && node.state === 'terminated')
  return [...(isNeeding ? [node] : []), ...node.children.flatMap(needingPerson)]
}

const HEAD = ['AGENT', 'ID', 'STATUS', 'INBOX', '']

interface Drawn {
  node: AnyNode
  /** The lines drawn before the name, such as `│  └─ `. */
  branch: string
}

function treeTable(tops: AnyNode[], widthOf?: (text: string) => number): string {
  const rows: Drawn[] = []
  for (const top of tops) {
    rows.push({ node: top, branch: '' })
    addBelow(rows, top, '')
  }
  return table(HEAD, rows, cellsOf, widthOf)
}

function addBelow(rows: Drawn[], { children }: AnyNode, indent: string): void {
  for (const [index, child] of children.entries()) {
    const isLast = index === children.length - 1
    rows.push({ node: child, branch: `${indent}${isLast ? '└─ ' : '├─ '}` })
    addBelow(rows, child, `${indent}${isLast ? '   ' : '│  '}`)
  }
}

function cellsOf({ node, branch }: Drawn): string[] {
  const label = `${branch}${labelOf(node)}`
  const shortId = node.id.slice(0, 8)
  if (!('state' in node)) return [label, shortId, node.status, '?', '']
  const status =
    node.state !== 'terminated' ? node.status : node.moved_to === undefined ? node.state : 'moved'
  return [label, shortId, status, String(node.inbox), remarksOn(node)]
}

function labelOf(node: AnyNode): string {
  return 'name' in node ? (node.name ?? node.id) : node.id
}

function remarksOn({ hold, gated, reminders }: TreeNode): string {
  if (!hold && !gated && reminders === 0) return ''
  const said = [
    hold ? 'on hold' : '',
    gated ? 'gated' : '',
    reminders === 0 ? '' : `${reminders} ${reminders === 1 ? 'reminder' : 'reminders'}`,
  ]
  return said.filter(Boolean).join(', ')
}
