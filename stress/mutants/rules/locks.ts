/** Rule 8: one writer at a time; and what is done under which lock. */
import type { Mutant } from '../mutant.js'

export const LOCKS: Mutant[] = [
  {
    name: 'a lock is never taken',
    place: 'storage/locks/kernel-lock.ts lockOpenFile',
    edits: { 'conditional:1': '@test.left !== null && @consequent.arguments.1 !== null' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'an ofd lock is shared by its holders',
    place: 'storage/locks/kernel-lock.ts tryOfd',
    edits: { 'binary:2': 'false' },
    suites: ['storage/locks/lease', 'storage/locks/kernel-lock'],
  },
  {
    name: 'a flock lock is shared by its holders',
    place: 'storage/locks/kernel-lock.ts tryFlock',
    edits: { 'conditional:1.consequent': "'-s'" },
    suites: ['storage/locks/kernel-lock#of kind flock is kept by a holder that is stopped'],
  },
  {
    name: 'locks are of the kind of the machine, not of the home',
    place: 'storage/locks/kernel-lock.ts lockOpenFile',
    edits: { 'binary:1.left': '@{storage/locks/kernel-lock.ts chooseLockKind|function:1.id}()' },
    suites: ['storage/rules#cannot take'],
  },
  {
    name: 'who looks at a lock takes it from others who look',
    place: 'storage/locks/lease.ts isHeld',
    edits: { 'call:2.arguments.2': "'exclusive'" },
    suites: ['storage/locks/lease', 'storage/store', 'storage/locks/kernel-lock#is probed where'],
  },
  {
    name: 'a file whose lock is taken stays open',
    place: 'storage/locks/kernel-lock.ts lockOpenFile',
    edits: { 'if:1': '' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'a lock is not given back',
    place: 'storage/locks/lease.ts Lease.release',
    edits: { 'expression:2': '' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'a lock that was given back still writes',
    place: 'storage/locks/lease.ts Lease.assertHeld',
    edits: { 'if:2': 'if (@test.left !== undefined) @expression:1', 'expression:1': '' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'a lock that was lost still writes',
    place: 'storage/locks/lease.ts Lease.assertHeld',
    edits: { 'if:1': '' },
    suites: ['storage/rules#8: a lock that was lost', 'session/session'],
  },
  {
    name: 'a lock file that was removed while it is held still writes',
    place: 'storage/locks/lease.ts Lease.assertHeld',
    edits: { 'expression:1': '' },
    suites: ['session/removed'],
  },
  {
    name: 'a lock file that was removed before it was locked is a lock',
    place: 'storage/locks/kernel-lock.ts tryLockNamed',
    edits: { 'if:1': '@consequent' },
    suites: ['session/removed'],
  },
  {
    name: 'a log that was removed while it is in use is appended to',
    place: 'storage/log/log.ts LogWriter.append',
    edits: { 'expression:5': '' },
    suites: ['session/removed'],
  },
  {
    name: 'a log that was removed while its tail is settled is acted on',
    place: 'storage/log/log.ts LogWriter.settle',
    edits: { 'expression:5': '' },
    suites: ['storage/log/log'],
  },
  {
    name: 'the log is not locked by its writer',
    place: 'storage/locks/log-lock.ts tryLockLog',
    edits: { 'call:2': '@call:3' },
    suites: ['session/removed', 'storage/locks/two-writers'],
  },
  {
    name: 'a log that is locked by another writer is written',
    place: 'storage/locks/lease.ts leaseFrom',
    edits: {
      'if:3':
        "@variableDeclarator:1.id = new @new:1.callee(@function:1.params.1, @variableDeclarator:2.id, typeof @test.left === 'string' ? undefined : @test.left)",
      'expression:2': '',
    },
    suites: ['session/removed', 'storage/locks/two-writers'],
  },
  {
    name: 'a record is acknowledged whoever has the lock by then',
    place: 'session/session.ts Session.append',
    edits: { 'expression:5': '' },
    suites: ['session/session', 'session/removed'],
  },
  {
    name: 'a lock that was lost is had again when its file is put back',
    place: 'storage/locks/lease.ts Lease.assertNamed',
    edits: {
      'throw:1': 'const { @argument.property } = this\n@argument = undefined\nthrow @argument.property',
    },
    suites: ['session/removed'],
  },
  {
    name: 'the log of a new agent is not locked',
    place: 'storage/birth.ts createAgent',
    edits: {
      'object:3':
        "(@expression:3.expression.callee(@properties.0.argument), @call:8.callee('log.open', @properties.1.value, 'write'))",
    },
    suites: ['storage/birth'],
  },
  {
    name: 'a home that is renamed while it is in use loses its locks',
    place: 'storage/locks/lease.ts Lease.assertNamed',
    edits: { 'logical:1': '@left' },
    suites: ['session/removed'],
  },
  {
    name: 'a name is reserved without the lock of its index',
    place: 'storage/names.ts NameIndex.reserve',
    edits: { 'expression:1': '' },
    suites: ['session/removed'],
  },
  {
    name: 'that a lock is lost is heard by nobody',
    place: 'storage/locks/lease.ts leaseFrom',
    edits: { 'arrowFunction:1.body': 'undefined' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'a batch is appended without a look at the lock',
    place: 'session/session.ts Session.append',
    edits: { 'expression:1': '' },
    suites: ['session/session'],
  },
  {
    name: 'a session ends cleanly without a look at the lock',
    place: 'session/session.ts Session.close',
    edits: { 'expression:1': '' },
    suites: ['storage/rules#8: a lock that was lost'],
  },
  {
    name: 'on a file system that is not local the kernel lock is enough',
    place: 'storage/locks/lease.ts leaseFrom',
    edits: { 'if:1': 'void @consequent.expression.right.argument.callee', 'if:2': '' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'a lock directory that is old is broken',
    place: 'storage/locks/lease.ts tryLockDirectory',
    edits: { 'object:1.properties.2.value': '5000' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'a lock directory of another machine is not seen by who looks',
    place: 'storage/locks/lease.ts isHeld',
    edits: { 'logical:1': 'false' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'where the lock directory is taken the kernel lock is kept',
    place: 'storage/locks/lease.ts leaseFrom',
    edits: { 'if:4': '' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'the file system of a network counts as local',
    place: 'storage/locks/lease.ts LOCAL_TYPES',
    edits: { 'array:1.elements.7': '0x6969, @self' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'a writer calls a lock busy at once',
    place: 'storage/locks/lease.ts waitForLease',
    edits: { 'call:5': '@arguments.1' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'an agent that cannot be opened stays locked',
    place: 'session/session.ts openForAppend',
    edits: { 'expression:3': '' },
    suites: ['session/session'],
  },
  {
    name: 'a new agent is visible before it is locked',
    place: 'storage/birth.ts lockCradle',
    edits: {
      'call:3':
        "@call:2.callee.object.@{host/disk/io.ts open|function:1.id}('spawn.open', @arguments.1, 'create')",
    },
    suites: ['storage/birth'],
  },
  {
    name: 'a sweep takes the cradle of a spawn that lives',
    place: 'storage/birth.ts lockDeadCradle',
    edits: { 'call:2': '@arguments.1' },
    suites: ['storage/birth'],
  },
  {
    name: 'a sweep takes the cradle of a spawn that is about to lock it',
    place: 'storage/birth.ts lockDeadCradle',
    edits: {
      'call:3':
        "@call:1.callee.object.@{host/disk/io.ts open|function:1.id}('sweep.open', @arguments.1, 'create')",
    },
    suites: ['storage/birth'],
  },
  {
    name: 'a sweep takes the cradle of a spawn that has just locked it',
    place: 'storage/birth.ts lockDeadCradle',
    edits: { 'logical:1': '@left.left !== undefined || Number.isNaN(0)' },
    suites: ['storage/birth'],
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
    place: 'storage/birth.ts lockCradle',
    edits: {
      'expression:2':
        "@call:5.callee(@call:2.callee.object.@{host/disk/io.ts open|function:1.id}('lock.open', @call:4.arguments.2, 'create'))\n@self",
    },
    suites: ['storage/birth'],
  },
  {
    name: 'an index of names has no lock',
    place: 'storage/names.ts NameIndex.lock',
    edits: { 'call:2.arguments.1': '`${@self}.${Math.random()}`' },
    suites: ['storage/names', 'tree/names'],
  },
  {
    name: 'a child is born while the index of its parent is not locked',
    place: 'tree/birth.ts createAgent',
    edits: { 'expression:1': '@expression:2\n@self' },
    suites: ['tree/birth-below', 'operations/terminate'],
  },
  {
    name: 'the lock of an index is kept after a birth',
    place: 'tree/birth.ts createAgent',
    edits: { 'expression:2': '' },
    suites: ['tree/birth', 'tree/names'],
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
    name: 'under the lock of its children nobody looks for one',
    place: 'operations/terminate.ts end',
    edits: { 'expression:2': '' },
    suites: ['operations/terminate'],
  },
  {
    name: 'an agent that is done ends beside a living child',
    place: 'dispatch/accounts.ts end',
    edits: { 'unary:1': '@argument.callee !== undefined' },
    suites: ['dispatch/visit', 'commands/tools-mail'],
  },
  {
    name: 'an agent is removed without its lock',
    place: 'operations/removable.ts takeAway',
    edits: { 'await:1': '{ @await:2.argument.callee.property: async () => undefined }' },
    suites: ['operations/remove'],
  },
  {
    name: 'a removal does not look again under the lock',
    place: 'operations/removable.ts takeAway',
    edits: { 'if:3': '', 'expression:1': '' },
    suites: ['operations/remove'],
  },
  {
    name: 'there is one slot more than there are',
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
    name: 'who waits keeps its edge when it is over',
    place: 'storage/wait-edges.ts WaitEdges.add',
    edits: { 'expression:2': 'void @variableDeclarator:3.id', 'expression:3': '' },
    suites: ['storage/wait-edges'],
  },
  {
    name: 'an edge outlives its process',
    place: 'storage/wait-edges.ts WaitEdges.of',
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
    name: 'of two that would wait for one another none is refused',
    place: 'tree/waits.ts checkNoCycle',
    edits: { 'binary:2.right': 'null' },
    suites: ['storage/wait-edges'],
  },
  {
    name: 'a cycle of three is none',
    place: 'tree/waits.ts checkNoCycle',
    edits: {
      'expression:2': 'if (@expression.arguments.0.argument.arguments.0 === @function:1.params.2) @self',
    },
    suites: ['storage/wait-edges'],
  },
]
