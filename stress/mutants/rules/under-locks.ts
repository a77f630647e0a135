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
    name: 'a sweep removes the staging directory of a living spawn',
    place: 'storage/create-agent.ts lockDeadStaging',
    edits: { 'call:2': '@arguments.1' },
    suites: ['storage/create-agent'],
  },
  {
    name: 'a sweep removes a staging directory that its spawn is about to lock',
    place: 'storage/create-agent.ts lockDeadStaging',
    edits: {
      'call:3':
        "@call:1.callee.object.@{host/disk/io.ts open|function:1.id}('sweep.open', @arguments.1, 'create')",
    },
    suites: ['storage/create-agent'],
  },
  {
    name: 'a sweep removes a staging directory that its spawn has just locked',
    place: 'storage/create-agent.ts lockDeadStaging',
    edits: { 'logical:1': '@left.left !== undefined || Number.isNaN(0)' },
    suites: ['storage/create-agent'],
  },
  {
    name: 'a sweep removes an old temporary file of a living writer',
    place: 'storage/maildir.ts sweepAbandoned',
    edits: {
      'call:1':
        '@callee(@arguments.0, (@arguments.1.params.0) => {\n@arguments.1.body.body.0\nif (@arguments.1.body.body.1.consequent.argument) return true\n@arguments.1.body.body.2\n@arguments.1.body.body.3\n})',
    },
    suites: ['storage/maildir'],
  },
  {
    name: 'a writer does not retry after its temporary file was swept',
    place: 'host/disk/replace.ts unlessSwept',
    edits: { 'if:1': '@consequent' },
    suites: ['host/disk/replace'],
  },
  {
    name: 'the lock file of a new agent gets its name before it is locked',
    place: 'storage/create-agent.ts lockStaging',
    edits: {
      'expression:2':
        "@call:5.callee(@call:2.callee.object.@{host/disk/io.ts open|function:1.id}('lock.open', @call:4.arguments.2, 'create'))\n@self",
    },
    suites: ['storage/create-agent'],
  },
  {
    name: 'each holder of an index locks a file of its own',
    place: 'storage/names.ts NameIndex.lock',
    edits: { 'call:2.arguments.1': '`${@self}.${Math.random()}`' },
    suites: ['storage/names', 'tree/names'],
  },
  {
    name: "a child is created without the lock of its parent's index",
    place: 'tree/create-agent.ts createAgent',
    edits: { 'expression:1': '@expression:2\n@self' },
    suites: ['tree/create-agent-below', 'operations/terminate', 'operations/terminate-killed'],
  },
  {
    name: 'spawn keeps the lock of the index',
    place: 'tree/create-agent.ts createAgent',
    edits: { 'expression:2': '' },
    suites: ['tree/create-agent', 'tree/names'],
  },
  {
    name: 'terminate does not lock the index of children',
    place: 'operations/terminate.ts end',
    edits: {
      'objectPattern:1': '@properties.0.key',
      'await:2': '{ @await:3.argument.callee.property: async () => undefined }',
    },
    suites: ['operations/terminate', 'operations/terminate-killed'],
  },
  {
    name: 'terminate does not check for children under their lock',
    place: 'operations/terminate.ts end',
    edits: { 'expression:2': '' },
    suites: ['operations/terminate', 'operations/terminate-killed'],
  },
  {
    name: 'a completed agent is terminated despite a living child',
    place: 'dispatch/outbox.ts end',
    edits: { 'unary:1': '@argument.callee !== undefined' },
    suites: ['dispatch/visit', 'commands/tools-mail'],
  },
  {
    name: 'remove does not lock the agent',
    place: 'operations/removable.ts removeHeld',
    edits: {
      'await:1':
        '{ @await:2.argument.callee.property: async () => undefined, @{storage/file-store.ts FileStore.remove|call:1.callee.property}: () => undefined }',
    },
    suites: ['operations/remove', 'operations/remove-killed'],
  },
  {
    name: 'remove does not check the agent again under its lock',
    place: 'operations/removable.ts removeHeld',
    edits: { 'if:3': '' },
    suites: ['operations/remove', 'operations/remove-killed'],
  },
  {
    name: 'one slot too many is handed out',
    place: 'storage/slots.ts Slots.tryTake',
    edits: { 'binary:3.right': '(@self + 1)' },
    suites: ['storage/store', 'provider/slots'],
  },
  {
    name: 'a slot is not released after the model has answered',
    place: 'turn/drive.ts Turn.releaseSlot',
    edits: { 'expression:1': 'void @expression.left.property', 'expression:2': '' },
    suites: ['turn/drive-tools#holds no slot'],
  },
  {
    name: 'a turn keeps its slot while tools run',
    place: 'turn/drive.ts Turn.ask',
    edits: { 'expression:3': '' },
    suites: ['turn/drive-tools#holds no slot'],
  },
  {
    name: "a waiter's edge stays after the wait",
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
    name: 'the edges of living waits are swept',
    place: 'storage/wait-edges.ts WaitEdges.leftBy',
    edits: { 'conditional:1': '@alternate' },
    suites: ['storage/wait-edges'],
  },
  {
    name: 'two agents may wait for each other',
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
