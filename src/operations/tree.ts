/** `tree`: the agents as a tree, with the status of each. Takes no lock and writes nothing. */

import { viewAgent } from '../dispatch/view.js'
import { SubstratError, shellWord } from '../errors.js'
import { mailIndexOf } from '../mail/inbox.js'
import type { AgentView } from '../schema/output.js'
import type { StrayNode, TreeNode, TreeView } from '../schema/output-overview.js'
import { peekSummary } from '../session/peek-summary.js'
import type { AgentSummary } from '../session/snapshot-layout.js'
import type { Store } from '../storage/store.js'
import { branchOf, type Forest, forestOf } from '../tree/forest.js'

export interface TreeRequest {
  /** Only this agent and the agents below it. */
  agentId?: string | undefined
  /** Include terminated agents. */
  all: boolean
}

const NO_CHILDREN: TreeNode[] = []

export function viewTree(store: Store | undefined, { agentId, all }: TreeRequest): TreeView {
  if (store === undefined) return { agents: [], stray: [] }
  const hasMail = mailIndexOf(store)
  // Those whose view takes more than the summary: a store on another machine reads it with the agent.
  const views = new Map<string, AgentView>()
  const peekAt = (_: Store, id: string): AgentSummary | undefined => {
    const state = peekSummary(store, id, hasMail(id))
    if (state !== undefined && (hasMail(id) || state.run?.status === 'open'))
      views.set(id, viewAgent(store, state, hasMail))
    return state
  }
  const forest = agentId === undefined ? forestOf(store, peekAt) : branchOf(store, agentId, all, peekAt)
  const shown = new Set<string>()
  const nodeOf = (id: string): TreeNode | undefined => {
    const state = forest.agents.get(id)
    if (state === undefined) return undefined
    if (forest.strays.size > 0) shown.add(id)
    return viewNode(views.get(id) ?? viewAgent(store, state, hasMail), state, childrenOf(id))
  }
  const nodesOf = (ids: string[]): TreeNode[] => ids.map(nodeOf).filter((node) => node !== undefined)
  const childrenOf = (id: string): TreeNode[] => {
    const children = forest.children.get(id)
    return children === undefined
      ? NO_CHILDREN
      : nodesOf(children.filter((child) => isShown(forest, child, all)))
  }
  const tops = agentId === undefined ? forest.roots.filter((id) => isShown(forest, id, all)) : [agentId]
  const agents = nodesOf(tops.filter((id) => !forest.strays.has(id)))
  const stray: StrayNode[] = []
  for (const [id, why] of forest.strays) {
    const parent = forest.agents.get(id)?.parent
    // A branch shows only its own strays, and those whose parent is unknown because they cannot be read.
    const isMeant = agentId === undefined || id === agentId || parent == null || shown.has(parent)
    if (!isMeant) continue
    const node = nodeOf(id) ?? {
      id,
      status: 'corrupt' as const,
      shown_status: 'corrupt' as const,
      children: childrenOf(id),
    }
    stray.push({ ...node, why })
  }
  return { agents, stray }
}

/** Undefined if every agent has its place in the tree. */
export function damageOf({ stray }: TreeView): SubstratError | undefined {
  const [first] = stray
  if (first === undefined) return undefined
  const count = stray.length === 1 ? '1 agent has' : `${stray.length} agents have`
  return new SubstratError('CORRUPT', `${count} no place in the tree: ${first.id}: ${first.why}`, {
    hint: `the other agents are intact; inspect this one: substrat show ${shellWord(first.id)}`,
    facts: { stray: stray.map(({ id }) => id) },
  })
}

function isShown({ agents, strays }: Forest<AgentSummary>, id: string, all: boolean): boolean {
  return !strays.has(id) && (all || agents.get(id)?.state !== 'terminated')
}

function viewNode(agent: AgentView, state: AgentSummary, children: TreeNode[]): TreeNode {
  const { id, name, path, title, parent, provider, model, status, shown_status, inbox } = agent
  const { workspace, created_at, updated_at } = agent
  const { budget } = agent
  // A literal: with very many agents, spreading would take half of the total time, and adding fields to an object a tenth.
  const node: TreeNode = {
    id,
    name,
    path,
    title,
    parent,
    provider,
    model,
    state: state.state,
    status,
    shown_status,
    workspace,
    created_at,
    updated_at,
    last_seq: state.last_seq,
    inbox,
    hold: state.hold,
    gated: state.gate.isGated,
    reminders: state.reminders.length,
    children,
  }
  return budget === undefined ? node : { ...node, budget }
}
