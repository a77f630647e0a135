/** Rule 1: nothing is acknowledged before it is on disk. */
import type { Mutant } from '../mutant.js'

export const ACKNOWLEDGED: Mutant[] = [
  {
    name: 'fdatasync does nothing',
    place: 'host/disk/io.ts fdatasync',
    edits: { 'call:2': 'undefined' },
    suites: ['host/disk/io'],
  },
  {
    name: 'fsync does nothing',
    place: 'host/disk/io.ts fsync',
    edits: { 'call:2': 'undefined' },
    suites: ['host/disk/io'],
  },
  {
    name: 'fsync of a directory does nothing',
    place: 'host/disk/io.ts syncDirectory',
    edits: { 'expression:2': '' },
    suites: ['host/disk/io'],
  },
  {
    name: 'append does not fsync the batch',
    step: 'log.sync',
    suites: ['storage/log/log'],
  },
  {
    name: 'listeners receive a record before it is fsynced',
    place: 'session/session.ts Session.appendEncoded',
    edits: { 'expression:1': '@{session/session.ts Session.appended|forOf:1}\n@self' },
    suites: ['session/session'],
  },
  {
    name: 'the state changes before its records are fsynced',
    place: 'session/session.ts Session.appendEncoded',
    edits: { 'expression:1': '@{session/session.ts Session.appended|expression:1}\n@self' },
    suites: ['session/session'],
  },
  {
    name: 'a record is written before the blob that it names',
    place: 'storage/agent-lease.ts AgentLease.append',
    edits: { 'forOf:1': '@expression:5\n@self', 'if:2': '', 'expression:5': '' },
    suites: ['session/session'],
  },
  {
    name: 'spawn does not write the blobs that the first batch references',
    place: 'storage/create-agent.ts createAgent',
    edits: { 'forOf:2': '' },
    suites: ['storage/create-agent'],
  },
  {
    name: 'a reader acknowledges a record before it is fsynced',
    place: 'session/load.ts readAgent',
    edits: { 'if:2': '' },
    suites: ['storage/rules#read without the lock'],
  },
  {
    name: "a reader skips the fsync before it acknowledges another writer's record",
    step: 'log.sync_read',
    suites: ['storage/rules#read without the lock'],
  },
  {
    name: 'a new or replaced file is not fsynced',
    place: 'host/disk/replace.ts writeTemporary',
    edits: { 'if:2': '' },
    suites: ['host/disk/replace'],
  },
  {
    name: 'spawn does not fsync the first batch of the log',
    place: 'storage/create-agent.ts createAgent',
    edits: { 'property:1.value': 'false' },
    suites: ['storage/create-agent'],
  },
  {
    name: 'the secret of a token is printed before its record is fsynced',
    place: 'turn/drive.ts Turn.newToken',
    edits: { 'call:3': '@arguments.1.body' },
    suites: ['turn/drive-tools#parks the run'],
  },
  {
    name: 'a listener for one kind of record receives every kind',
    place: 'session/session.ts Session.onceDurable',
    edits: { 'if:1': '' },
    suites: ['session/session'],
  },
  {
    name: 'the move of a delivered message to taken/ is not fsynced',
    step: 'mail.sync_taken',
    suites: ['storage/mailboxes'],
  },
  {
    name: 'send returns before the message is stored',
    place: 'operations/send.ts queue',
    edits: { 'variable:7': '@expression:1\n@self' },
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'spawn prints the UUID before the agent is on disk',
    place: 'operations/spawn.ts spawn',
    edits: { 'try:1': '@call:16.callee({ @variableDeclarator:6.id } as never)\n@self', 'expression:4': '' },
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'a reply is printed before its record is written',
    place: 'turn/drive.ts Turn.persist',
    edits: {
      'expression:2':
        "for (const each of @expression.arguments.2)\nif (each.kind === 'message.agent') process.stdout.write(String(each.content) + '\\n')\n@self",
    },
    suites: ['turn/drive-model#a turn prints nothing'],
  },
]
