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
    name: 'two processes hold one OFD lock',
    place: 'storage/locks/kernel-lock.ts tryOfd',
    edits: { 'binary:2': 'false' },
    suites: ['storage/locks/lease', 'storage/locks/kernel-lock', 'storage/locks/kernel-lock-killed'],
  },
  {
    name: 'two processes hold one flock lock',
    place: 'storage/locks/kernel-lock.ts tryFlock',
    edits: { 'conditional:1.consequent': "'-s'" },
    suites: [
      'storage/locks/kernel-lock#of kind flock stays held while its holder is stopped',
      'storage/locks/kernel-lock-killed',
    ],
  },
  {
    name: "a lock uses the machine's default kind, not the kind of the home",
    place: 'storage/locks/kernel-lock.ts lockOpenFile',
    edits: { 'binary:1.left': '@{storage/locks/kernel-lock.ts chooseLockKind|function:1.id}()' },
    suites: ['storage/rules#cannot take'],
  },
  {
    name: 'a probe of a lock blocks other probes',
    place: 'storage/locks/lease.ts isHeld',
    edits: { 'call:2.arguments.2': "'exclusive'" },
    suites: [
      'storage/locks/lease',
      'storage/store',
      'storage/locks/kernel-lock#can be probed',
      'storage/locks/kernel-lock-killed',
    ],
  },
  {
    name: 'a busy lock leaks its file descriptor',
    place: 'storage/locks/kernel-lock.ts lockOpenFile',
    edits: { 'if:1': '' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'release does not free the lock',
    place: 'storage/locks/lease.ts KernelLease.release',
    edits: { 'expression:2': '' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'a process writes after releasing its lock',
    place: 'storage/locks/lease.ts KernelLease.assertHeld',
    edits: { 'if:2': 'if (@test.left !== undefined) @expression:1', 'expression:1': '' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'a process writes after losing its lock',
    place: 'storage/locks/lease.ts KernelLease.assertHeld',
    edits: { 'if:1': '' },
    suites: ['storage/rules#a lost lock', 'session/session'],
  },
  {
    name: 'a process writes after its lock file was removed',
    place: 'storage/locks/lease.ts KernelLease.assertHeld',
    edits: { 'expression:1': '' },
    suites: ['session/removed'],
  },
  {
    name: 'a lock on an already removed file counts as held',
    place: 'storage/locks/kernel-lock.ts tryLockNamed',
    edits: { 'if:1': '@consequent' },
    suites: ['session/removed'],
  },
  {
    name: 'the writer appends to a removed log',
    place: 'storage/log/log.ts LogWriter.append',
    edits: { 'expression:5': '' },
    suites: ['session/removed'],
  },
  {
    name: 'a command uses a log that was removed during settling',
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
    name: 'a writer ignores the lock of another writer on the log',
    place: 'storage/locks/lease.ts leaseFrom',
    edits: {
      'if:3':
        "@variableDeclarator:1.id = new @new:1.callee(@function:1.params.1, @variableDeclarator:2.id, typeof @test.left === 'string' ? undefined : @test.left)",
      'expression:2': '',
    },
    suites: ['session/removed', 'storage/locks/two-writers'],
  },
  {
    name: 'append does not check the lock before acknowledging',
    place: 'storage/agent-lease.ts AgentLease.append',
    edits: { 'expression:6': '' },
    suites: ['session/session', 'session/removed'],
  },
  {
    name: 'a lost lock is valid again once its file is restored',
    place: 'storage/locks/lease.ts KernelLease.assertNamed',
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
    name: 'renaming a home in use loses its locks',
    place: 'storage/locks/lease.ts KernelLease.assertNamed',
    edits: { 'logical:1': '@left' },
    suites: ['session/removed'],
  },
  {
    name: 'a name is reserved without checking the lock of the index',
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
    name: 'append does not check the lock before writing',
    place: 'storage/agent-lease.ts AgentLease.append',
    edits: { 'expression:1': '' },
    suites: ['session/session'],
  },
  {
    name: 'close does not check the lock before writing',
    place: 'storage/agent-lease.ts AgentLease.rest',
    edits: { 'expression:1': '' },
    suites: ['storage/conformance'],
  },
  {
    name: 'the kernel lock suffices on a file system that is not local',
    place: 'storage/locks/lease.ts leaseFrom',
    edits: { 'if:1': 'void @consequent.expression.right.argument.callee', 'if:2': '' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'an old lock directory is broken',
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
    name: 'a busy lock directory leaves the kernel lock held',
    place: 'storage/locks/lease.ts leaseFrom',
    edits: { 'if:4': '' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'a network file system counts as local',
    place: 'storage/locks/lease.ts LOCAL_TYPES',
    edits: { 'array:1.elements.7': '0x6969, @self' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'a writer does not retry a busy lock',
    place: 'storage/locks/lease.ts waitForLease',
    edits: { 'call:5': '@arguments.1' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'an agent that cannot be opened stays locked',
    place: 'session/session.ts openHeld',
    edits: { 'expression:1': '' },
    suites: ['session/session'],
  },
]
