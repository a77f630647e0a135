/** The tree as a person reads it: drawn, with what each agent is doing beside it. */
import type { StrayNode, TreeNode, TreeView } from '../dispatch/tree.js'
import { table } from './table.js'

type AnyNode = TreeNode | StrayNode

export function drawTree({ agents, stray }: TreeView): string {
  if (agents.length === 0 && stray.length === 0) return 'no agents (substrat spawn starts one)'
  const parts = agents.length === 0 ? [] : [drawn(agents)]
  if (stray.length > 0) {
    const why = stray.map((node) => `${labelOf(node)}: ${node.why}`)
    parts.push(['hanging nowhere:', ...why].join('\n'), drawn(stray))
  }
  return parts.join('\n\n')
}

const HEAD = ['AGENT', 'ID', 'STATUS', 'INBOX', '']

function drawn(tops: AnyNode[]): string {
  const rows = tops.flatMap((top) => [rowOf(top, ''), ...below(top, '')])
  return table(HEAD, rows)
}

function below({ children }: AnyNode, indent: string): string[][] {
  return children.flatMap((child, index) => {
    const isLast = index === children.length - 1
    return [
      rowOf(child, `${indent}${isLast ? '└─ ' : '├─ '}`),
      ...below(child, `${indent}${isLast ? '   ' : '│  '}`),
    ]
  })
}

function rowOf(node: AnyNode, branch: string): string[] {
  const label = `${branch}${labelOf(node)}`
  if (!('state' in node)) return [label, node.id.slice(0, 8), node.status, '?', '']
  const status = node.state === 'terminated' ? node.state : node.status
  return [label, node.id.slice(0, 8), status, String(node.inbox), remarksOn(node)]
}

function labelOf(node: AnyNode): string {
  return 'name' in node ? (node.name ?? node.id) : node.id
}

function remarksOn({ hold, gated, reminders }: TreeNode): string {
  const said = [
    hold ? 'on hold' : '',
    gated ? 'gated' : '',
    reminders === 0 ? '' : `${reminders} ${reminders === 1 ? 'reminder' : 'reminders'}`,
  ]
  return said.filter(Boolean).join(', ')
}
