/** Rule 8: one writer at a time. */
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
    name: 'a reader of a lock blocks other readers',
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
    place: 'storage/log/log.ts LogWriter.resyncTail',
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
    name: 'a record is acknowledged after the lock was lost',
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
    place: 'storage/create-agent.ts createAgent',
    edits: {
      'object:3':
        "(@expression:3.expression.callee(@properties.0.argument), @call:8.callee('log.open', @properties.1.value, 'write'))",
    },
    suites: ['storage/create-agent'],
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
    name: 'the loss of a lock is not reported',
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
    name: 'a reader ignores the lock directory of another machine',
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
]
