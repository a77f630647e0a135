/** The output of `tree` without `--json`. */
import type { StrayNode, TreeNode, TreeView } from '../../schema/output-overview.js'
import { needsPerson, wordOfStatus } from '../../schema/words.js'
import { shareLeft } from './budget-text.js'
import { table } from './table.js'

type AnyNode = TreeNode | StrayNode

export function treeText({ agents, stray }: TreeView, isTerminal: boolean): string {
  if (agents.length === 0 && stray.length === 0) return 'no agents yet (create one: substrat spawn)'
  const parts = agents.length === 0 ? [] : [treeTable(agents, isTerminal)]
  if (stray.length > 0) {
    const why = stray.map((node) => `${labelOf(node)}: ${node.why}`)
    parts.push(['not in the tree:', ...why].join('\n'), treeTable(stray, isTerminal))
  }
  return parts.join('\n\n')
}

/** The same below a line for each agent that goes on only after a person did something. */
export function watchedTreeText(tree: TreeView): string {
  const lines = allBelow([...tree.agents, ...tree.stray]).flatMap((node) => {
    if (!needsPerson(node)) return []
    return [`needs you: ${'path' in node ? node.path : node.id} (${wordOfStatus(node.shown_status)})`]
  })
  return [...lines, treeText(tree, true)].join('\n')
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

function treeTable(tops: AnyNode[], isTerminal: boolean): string {
  const rows: Drawn[] = []
  for (const top of tops) {
    rows.push({ node: top, branch: '' })
    addBelow(rows, top, '')
  }
  return table(HEAD, rows, (row) => cellsOf(row, isTerminal))
}

function addBelow(rows: Drawn[], { children }: AnyNode, indent: string): void {
  for (const [index, child] of children.entries()) {
    const isLast = index === children.length - 1
    rows.push({ node: child, branch: `${indent}${isLast ? '└─ ' : '├─ '}` })
    addBelow(rows, child, `${indent}${isLast ? '   ' : '│  '}`)
  }
}

function cellsOf({ node, branch }: Drawn, isTerminal: boolean): string[] {
  const label = `${branch}${labelOf(node)}`
  const shortId = node.id.slice(0, 8)
  const word = isTerminal ? wordOfStatus(node.shown_status) : node.shown_status
  if (!('state' in node)) return [label, shortId, word, '?', '']
  const status = node.moved_to === undefined ? word : 'moved'
  return [label, shortId, status, String(node.inbox), remarksOn(node)]
}

function labelOf(node: AnyNode): string {
  return 'name' in node ? (node.name ?? node.id) : node.id
}

/** The status may say it already. */
function remarksOn({ hold, gated, reminders, budget, shown_status: word }: TreeNode): string {
  if (!hold && !gated && reminders === 0 && budget === undefined) return ''
  const said = [
    hold && word !== 'held' ? 'on hold' : '',
    gated && word !== 'gated' ? 'gated' : '',
    reminders === 0 ? '' : `${reminders} ${reminders === 1 ? 'reminder' : 'reminders'}`,
    shareLeft(budget),
  ]
  return said.filter(Boolean).join(', ')
}
