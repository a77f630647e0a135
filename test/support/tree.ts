/** What the tools of the tree need of the outside, without dispatch: nobody is run, whoever is woken is remembered. */
import type { Session } from '../../src/session/session.js'
import type { TreePorts } from '../../src/turn/tools/tree-ports.js'
import { TREE_BOUNDS } from './sessions.js'

/** Whom the tools have woken. */
export const woken = new WeakMap<TreePorts, string[]>()

export function treePorts(session: Session, over: Partial<TreePorts> = {}): TreePorts {
  const agents: string[] = []
  const ports: TreePorts = {
    session,
    bounds: TREE_BOUNDS,
    command: 'test',
    wake: (agentId) => void agents.push(agentId),
    runUntil: async (_, isAnswered) => (isAnswered() ? undefined : 'nobody runs it in this test'),
    checkProvider: async () => undefined,
    ...over,
  }
  woken.set(ports, agents)
  return ports
}

/** For toolboxes of tools that have nothing to do with the tree. */
export const noTree = new Proxy({} as TreePorts, {
  get(_, name) {
    throw new Error(`no tool of this test uses the tree, but something asks for its ${String(name)}`)
  },
})
