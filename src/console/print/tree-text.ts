/** The output of `tree` without `--json`. */
import { needsPerson } from '../../operations/list-rows.js'
import type { StrayNode, TreeNode, TreeView } from '../../schema/output-overview.js'
import type { ShownStatus } from '../../schema/words.js'
import { table } from './table.js'
import { displayWidth } from './width.js'

type AnyNode = TreeNode | StrayNode

/** `statusOf`: at a terminal, the word of `list` for an agent. */
type StatusOf = (agentId: string) => ShownStatus

export function treeText({ agents, stray }: TreeView, statusOf?: StatusOf): string {
  if (agents.length === 0 && stray.length === 0) return 'no agents yet (create one: substrat spawn)'
  const parts = agents.length === 0 ? [] : [treeTable(agents, statusOf)]
  if (stray.length > 0) {
    const why = stray.map((node) => `${labelOf(node)}: ${node.why}`)
    parts.push(['not in the tree:', ...why].join('\n'), treeTable(stray, statusOf))
  }
  return parts.join('\n\n')
}

/** The same below a line for each agent that goes on only after a person did something. */
export function watchedTreeText(tree: TreeView, statusOf: StatusOf): string {
  const lines = allBelow([...tree.agents, ...tree.stray]).flatMap((node) => {
    const status = statusOf(node.id)
    return needsPerson({ status }) ? [`needs you: ${'path' in node ? node.path : node.id} (${status})`] : []
  })
  return [...lines, treeText(tree, statusOf)].join('\n')
}

function allBelow(nodes: AnyNode[]): AnyNode[] {
  return nodes.flatMap((node) => [node, ...allBelow(node.children)])
}

const HEAD = ['AGENT', 'ID', 'STATUS', 'INBOX', '']

interface Drawn {
  node: AnyNode
  /** The lines drawn before the name, such as `│  └─ `. */
  branch: string
}

function treeTable(tops: AnyNode[], statusOf?: StatusOf): string {
  const rows: Drawn[] = []
  for (const top of tops) {
    rows.push({ node: top, branch: '' })
    addBelow(rows, top, '')
  }
  if (statusOf === undefined) return table(HEAD, rows, (row) => cellsOf(row))
  return table(HEAD, rows, (row) => cellsOf(row, statusOf(row.node.id)), displayWidth)
}

function addBelow(rows: Drawn[], { children }: AnyNode, indent: string): void {
  for (const [index, child] of children.entries()) {
    const isLast = index === children.length - 1
    rows.push({ node: child, branch: `${indent}${isLast ? '└─ ' : '├─ '}` })
    addBelow(rows, child, `${indent}${isLast ? '   ' : '│  '}`)
  }
}

function cellsOf({ node, branch }: Drawn, word?: ShownStatus): string[] {
  const label = `${branch}${labelOf(node)}`
  const shortId = node.id.slice(0, 8)
  if (!('state' in node)) return [label, shortId, node.status, '?', '']
  const status =
    node.state !== 'terminated' ? (word ?? node.status) : node.moved_to === undefined ? node.state : 'moved'
  return [label, shortId, status, String(node.inbox), remarksOn(node, word)]
}

function labelOf(node: AnyNode): string {
  return 'name' in node ? (node.name ?? node.id) : node.id
}

/** The status may say it already. */
function remarksOn({ hold, gated, reminders }: TreeNode, word?: ShownStatus): string {
  if (!hold && !gated && reminders === 0) return ''
  const said = [
    hold && word !== 'held' ? 'on hold' : '',
    gated && word !== 'gated' ? 'gated' : '',
    reminders === 0 ? '' : `${reminders} ${reminders === 1 ? 'reminder' : 'reminders'}`,
  ]
  return said.filter(Boolean).join(', ')
}
