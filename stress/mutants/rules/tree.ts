/** The tree: parents, ends of agents, and the permitted recipients of messages. */
import type { Mutant } from '../mutant.js'

export const TREE: Mutant[] = [
  {
    name: 'a terminated agent gets a child',
    edits: [["parent === undefined || parent.state === 'terminated'", 'parent === undefined']],
    suites: ['tree/create-agent-below'],
  },
  {
    name: 'a completed agent gets a child',
    edits: [
      [
        "parent === undefined || parent.state === 'terminated' || parent.isDone",
        "parent === undefined || parent.state === 'terminated'",
      ],
    ],
    suites: ['tree/create-agent-below'],
  },
  {
    name: 'a tree may exceed the depth limit by one level',
    edits: [
      ["parent.path.split('/').length >= bounds.depthMax", "parent.path.split('/').length > bounds.depthMax"],
    ],
    suites: ['tree/create-agent-below'],
  },
  {
    name: 'an agent may exceed the limit of children by one',
    edits: [
      [
        'index.count() >= bounds.childrenMax && forgetDead(store, parent, index) >= bounds.childrenMax',
        'index.count() > bounds.childrenMax && forgetDead(store, parent, index) > bounds.childrenMax',
      ],
    ],
    suites: ['tree/create-agent-below'],
  },
  {
    name: 'terminated children count against the limit',
    edits: [['children.length - dead.length', 'children.length']],
    suites: ['tree/create-agent-below'],
  },
  {
    name: 'an agent with a living child is terminated',
    edits: [['children.length === 0', 'children !== null']],
    suites: ['tree/children'],
  },
  {
    name: 'terminated children count as living',
    edits: [
      [
        "childrenOf(store, parentId).filter(({ state }) => state !== 'terminated')",
        'childrenOf(store, parentId)',
      ],
    ],
    suites: ['tree/children'],
  },
  {
    name: "an agent's children include those of another parent",
    edits: [['agent?.parent === parentId', 'agent !== undefined']],
    suites: ['tree/children'],
  },
  {
    name: 'an agent may write to itself',
    edits: [['if (from.id === to.id) return undefined', "if (from.id === to.id) return 'sibling'"]],
    suites: ['tree/relations'],
  },
  {
    name: 'an agent with a forged log that names it as its own parent is its own child',
    edits: [['if (from.id === to.id) return undefined', ';']],
    suites: ['tree/relations'],
  },
  {
    name: 'two roots may write to each other',
    edits: [['from.parent !== null && from.parent === to.parent', 'from.parent === to.parent']],
    suites: ['tree/relations'],
  },
  {
    name: 'an agent may write to any agent',
    edits: [["from.parent !== null && from.parent === to.parent ? 'sibling' : undefined", "'sibling'"]],
    suites: ['tree/relations'],
  },
  {
    name: 'an agent may gate and poke any agent',
    edits: [['to.parent === from.id && to.id !== from.id', 'verb !== null']],
    suites: ['tree/relations'],
  },
  {
    name: 'send --from does not check the rules of the tree',
    edits: [['checkMayWrite(from, to)', ';']],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'a tool may write to any agent',
    edits: [['checkMayWrite(state, stateOf(store, to))', ';']],
    suites: ['turn/tools/await-reply'],
  },
  {
    name: 'a child may write to the operator',
    edits: [['if (state.parent === null) return to', 'if (state !== null) return to']],
    suites: ['turn/tools/await-reply'],
  },
  {
    name: 'a tool may gate any agent',
    edits: [['checkIsChild(state, child, verb)', ';']],
    suites: ['turn/tools/await-reply'],
  },
]
