/** The tree: parents, ends of agents, and the permitted recipients of messages. */
import type { Mutant } from '../mutant.js'

export const TREE: Mutant[] = [
  {
    name: 'a terminated agent gets a child',
    place: 'tree/create-agent.ts checkParent',
    edits: { 'logical:2': '@left' },
    suites: ['tree/create-agent-below'],
  },
  {
    name: 'a completed agent gets a child',
    place: 'tree/create-agent.ts checkParent',
    edits: { 'logical:1': '@left' },
    suites: ['tree/create-agent-below'],
  },
  {
    name: 'a tree may exceed the depth limit by one level',
    place: 'tree/create-agent.ts checkParent',
    edits: { 'binary:3': '@left > @right' },
    suites: ['tree/create-agent-below'],
  },
  {
    name: 'an agent may exceed the limit of children by one',
    place: 'tree/create-agent.ts checkParent',
    edits: { 'logical:4': '@left.left > @left.right && @right.left > @left.right' },
    suites: ['tree/create-agent-below'],
  },
  {
    name: 'terminated children count against the limit',
    place: 'tree/create-agent.ts forgetDead',
    edits: { 'binary:2': '@left' },
    suites: ['tree/create-agent-below'],
  },
  {
    name: 'an agent with a living child is terminated',
    place: 'tree/children.ts checkChildless',
    edits: { 'binary:2': '@left.object !== null' },
    suites: ['tree/children'],
  },
  {
    name: 'terminated children count as living',
    place: 'tree/children.ts livingChildren',
    edits: { 'call:1': '@callee.object' },
    suites: ['tree/children'],
  },
  {
    name: "an agent's children include those of another parent",
    place: 'tree/children.ts childrenOf',
    edits: { 'binary:1': '@left.expression.object !== undefined' },
    suites: ['tree/children'],
  },
  {
    name: 'an agent may write to itself',
    place: 'tree/relations.ts relationOf',
    edits: { 'return:1.argument': "'sibling'" },
    suites: ['tree/relations'],
  },
  {
    name: 'an agent with a forged log that names it as its own parent is its own child',
    place: 'tree/relations.ts relationOf',
    edits: { 'if:1': '' },
    suites: ['tree/relations'],
  },
  {
    name: 'two roots may write to each other',
    place: 'tree/relations.ts relationOf',
    edits: { 'logical:1': '@right' },
    suites: ['tree/relations'],
  },
  {
    name: 'an agent may write to any agent',
    place: 'tree/relations.ts relationOf',
    edits: { 'conditional:1': "'sibling'" },
    suites: ['tree/relations'],
  },
  {
    name: 'an agent may gate and poke any agent',
    place: 'tree/relations.ts checkIsChild',
    edits: { 'logical:1': '@function:1.params.2 !== null' },
    suites: ['tree/relations'],
  },
  {
    name: 'send --from does not check the rules of the tree',
    place: 'operations/send-as.ts sendAs',
    edits: { 'expression:1': '' },
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'a tool may write to any agent',
    place: 'turn/tools/tree/correspondence.ts recipientOf',
    edits: { 'expression:1': '' },
    suites: ['turn/tools/await-reply'],
  },
  {
    name: 'a child may write to the operator',
    place: 'turn/tools/tree/correspondence.ts recipientOf',
    edits: { 'binary:2': '@left.object !== null' },
    suites: ['turn/tools/await-reply'],
  },
  {
    name: 'a tool may gate any agent',
    place: 'turn/tools/tree/correspondence.ts childOf',
    edits: { 'expression:1': '' },
    suites: ['turn/tools/await-reply'],
  },
]
