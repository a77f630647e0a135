/** Stand-ins for the tree tools' ports, without dispatch: they wake and run no agent. */

import { scripted } from '../../src/provider/scripted.js'
import type { Session } from '../../src/session/session.js'
import type { TreePorts } from '../../src/turn/tools/tree-ports.js'
import { TREE_BOUNDS } from './sessions.js'

export function treePorts(session: Session): TreePorts {
  return {
    session,
    bounds: TREE_BOUNDS,
    command: 'test',
    wake: () => undefined,
    runUntil: async (_, isAnswered) => (isAnswered() ? undefined : 'nobody runs it in this test'),
    withDefaults: async (_provider, settings) => settings,
    checkProvider: async () => scripted,
  }
}

/** For toolboxes whose tools do not use the tree. */
export const noTree = new Proxy({} as TreePorts, {
  get(_, name) {
    throw new Error(`no tool of this test uses the tree, but something asks for its ${String(name)}`)
  },
})
