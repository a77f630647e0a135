/** Rule 8: work that needs a lock: creating, sweeping, indexing and removing agents; slots; the edges of waits. */
import type { Mutant } from '../mutant.js'

export const UNDER_LOCKS: Mutant[] = [
  {
    name: 'a new agent is visible before it is locked',
    place: 'storage/create-agent.ts lockStaging',
    edits: {
      'call:3':
        "@call:2.callee.object.@{host/disk/io.ts open|function:1.id}('spawn.open', @arguments.1, 'create')",
    },
    suites: ['storage/create-agent'],
  },
  {
    name: 'a sweep takes the cradle of a spawn that lives',
    place: 'storage/create-agent.ts lockDeadStaging',
    edits: { 'call:2': '@arguments.1' },
    suites: ['storage/create-agent'],
  },
  {
    name: 'a sweep takes the cradle of a spawn that is about to lock it',
    place: 'storage/create-agent.ts lockDeadStaging',
    edits: {
      'call:3':
        "@call:1.callee.object.@{host/disk/io.ts open|function:1.id}('sweep.open', @arguments.1, 'create')",
    },
    suites: ['storage/create-agent'],
  },
  {
    name: 'a sweep takes the cradle of a spawn that has just locked it',
    place: 'storage/create-agent.ts lockDeadStaging',
    edits: { 'logical:1': '@left.left !== undefined || Number.isNaN(0)' },
    suites: ['storage/create-agent'],
  },
  {
    name: 'the temporary file of a writer that lives is swept by its age',
    place: 'storage/maildir.ts sweepAbandoned',
    edits: {
      'call:1':
        '@callee(@arguments.0, (@arguments.1.params.0) => {\n@arguments.1.body.body.0\nif (@arguments.1.body.body.1.consequent.argument) return true\n@arguments.1.body.body.2\n@arguments.1.body.body.3\n})',
    },
    suites: ['storage/maildir'],
  },
  {
    name: 'a writer whose temporary file was swept gives up',
    place: 'host/disk/replace.ts unlessSwept',
    edits: { 'if:1': '@consequent' },
    suites: ['host/disk/replace'],
  },
  {
    name: 'the lock of a new agent has its name before it is locked',
    place: 'storage/create-agent.ts lockStaging',
    edits: {
      'expression:2':
        "@call:5.callee(@call:2.callee.object.@{host/disk/io.ts open|function:1.id}('lock.open', @call:4.arguments.2, 'create'))\n@self",
    },
    suites: ['storage/create-agent'],
  },
  {
    name: 'an index of names has no lock',
    place: 'storage/names.ts NameIndex.lock',
    edits: { 'call:2.arguments.1': '`${@self}.${Math.random()}`' },
    suites: ['storage/names', 'tree/names'],
  },
  {
    name: 'a child is born while the index of its parent is not locked',
    place: 'tree/create-agent.ts createAgent',
    edits: { 'expression:1': '@expression:2\n@self' },
    suites: ['tree/create-agent-below', 'operations/terminate'],
  },
  {
    name: 'the lock of an index is kept after a birth',
    place: 'tree/create-agent.ts createAgent',
    edits: { 'expression:2': '' },
    suites: ['tree/create-agent', 'tree/names'],
  },
  {
    name: 'an agent ends without the lock of its children',
    place: 'operations/terminate.ts end',
    edits: {
      'objectPattern:1': '@properties.0.key',
      'await:2': '{ @await:3.argument.callee.property: async () => undefined }',
    },
    suites: ['operations/terminate'],
  },
  {
    name: 'children are not checked under their lock',
    place: 'operations/terminate.ts end',
    edits: { 'expression:2': '' },
    suites: ['operations/terminate'],
  },
  {
    name: 'an agent that is done ends beside a living child',
    place: 'dispatch/outbox.ts end',
    edits: { 'unary:1': '@argument.callee !== undefined' },
    suites: ['dispatch/visit', 'commands/tools-mail'],
  },
  {
    name: 'an agent is removed without its lock',
    place: 'operations/removable.ts removeAgent',
    edits: { 'await:1': '{ @await:2.argument.callee.property: async () => undefined }' },
    suites: ['operations/remove'],
  },
  {
    name: 'a removal does not check again under the lock',
    place: 'operations/removable.ts removeAgent',
    edits: { 'if:3': '', 'expression:1': '' },
    suites: ['operations/remove'],
  },
  {
    name: 'there is one slot too many',
    place: 'storage/slots.ts Slots.tryTake',
    edits: { 'binary:3.right': '(@self + 1)' },
    suites: ['storage/store', 'provider/slots'],
  },
  {
    name: 'a slot is not given back after the model has answered',
    place: 'turn/drive.ts Turn.releaseSlot',
    edits: { 'expression:1': 'void @expression.left.property', 'expression:2': '' },
    suites: ['turn/drive-tools#holds no slot'],
  },
  {
    name: 'a slot is kept while tools run',
    place: 'turn/drive.ts Turn.ask',
    edits: { 'expression:3': '' },
    suites: ['turn/drive-tools#holds no slot'],
  },
  {
    name: 'a waiter keeps its edge after the wait',
    place: 'storage/wait-edges.ts WaitEdges.add',
    edits: { 'expression:2': 'void @variableDeclarator:3.id', 'expression:3': '' },
    suites: ['storage/wait-edges'],
  },
  {
    name: 'an edge outlives its process',
    place: 'storage/wait-edges.ts WaitEdges.edgesOf',
    edits: { 'conditional:1': '@test.arguments.1 === null ? [] : @consequent' },
    suites: ['storage/wait-edges'],
  },
  {
    name: 'edges of living waits are swept',
    place: 'storage/wait-edges.ts WaitEdges.leftBy',
    edits: { 'conditional:1': '@alternate' },
    suites: ['storage/wait-edges'],
  },
  {
    name: 'neither of two agents that wait for each other is refused',
    place: 'tree/waits.ts checkNoCycle',
    edits: { 'binary:2.right': 'null' },
    suites: ['storage/wait-edges'],
  },
  {
    name: 'a cycle of three agents is not detected',
    place: 'tree/waits.ts checkNoCycle',
    edits: {
      'expression:2': 'if (@expression.arguments.0.argument.arguments.0 === @function:1.params.2) @self',
    },
    suites: ['storage/wait-edges'],
  },
]
