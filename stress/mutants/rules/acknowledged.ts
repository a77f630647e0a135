/** Rule 1: nothing is acknowledged before it is on disk. */
import type { Mutant } from '../mutant.js'

export const ACKNOWLEDGED: Mutant[] = [
  {
    name: 'fdatasync reaches no disk',
    place: 'host/disk/io.ts fdatasync',
    edits: { 'call:2': 'undefined' },
    suites: ['host/disk/io'],
  },
  {
    name: 'fsync reaches no disk',
    place: 'host/disk/io.ts fsync',
    edits: { 'call:2': 'undefined' },
    suites: ['host/disk/io'],
  },
  {
    name: 'the sync of a directory reaches no disk',
    place: 'host/disk/io.ts syncDirectory',
    edits: { 'expression:2': '' },
    suites: ['host/disk/io'],
  },
  {
    name: 'an appended batch is not synced',
    step: 'log.sync',
    suites: ['storage/log/log'],
  },
  {
    name: 'listeners receive a record before it is synced',
    place: 'session/session.ts Session.append',
    edits: { 'expression:4': '@forOf:2\n@self' },
    suites: ['session/session'],
  },
  {
    name: 'the state changes before its records are synced',
    place: 'session/session.ts Session.append',
    edits: { 'expression:4': '@expression:6\n@self' },
    suites: ['session/session'],
  },
  {
    name: 'a record is written before the blob that it names',
    place: 'session/session.ts Session.append',
    edits: { 'forOf:1': '@expression:4\n@self', 'if:2': '', 'expression:4': '' },
    suites: ['session/session'],
  },
  {
    name: 'an agent is created with a record that names a missing blob',
    place: 'storage/create-agent.ts createAgent',
    edits: { 'forOf:2': '' },
    suites: ['storage/create-agent'],
  },
  {
    name: 'a reader acknowledges a record before it is synced',
    place: 'session/load.ts openDurable',
    edits: { 'if:1': '' },
    suites: ['storage/rules#is read without the lock'],
  },
  {
    name: "a reader skips the fsync before it acknowledges another writer's record",
    step: 'log.sync_read',
    suites: ['storage/rules#is read without the lock'],
  },
  {
    name: 'a new or replaced file is not synced',
    place: 'host/disk/replace.ts writeTemporary',
    edits: { 'if:2': '' },
    suites: ['host/disk/replace'],
  },
  {
    name: 'the first records of an agent are not synced',
    place: 'storage/create-agent.ts createAgent',
    edits: { 'property:1.value': 'false' },
    suites: ['storage/create-agent'],
  },
  {
    name: 'the secret of a token is printed before its record is synced',
    place: 'turn/drive.ts Turn.newToken',
    edits: { 'call:3': '@arguments.1.body' },
    suites: ['turn/drive-tools#parks the run'],
  },
  {
    name: 'a listener for one kind of record receives all kinds',
    place: 'session/session.ts Session.onceDurable',
    edits: { 'if:1': '' },
    suites: ['session/session'],
  },
  {
    name: "an operator's message is removed before its delivery is synced",
    step: 'mail.sync_taken',
    suites: ['storage/mailboxes'],
  },
  {
    name: 'the id of a message is returned before the message is stored',
    place: 'operations/send.ts queue',
    edits: { 'variable:7': '@expression:1\n@self' },
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'a uuid is printed before its agent is on disk',
    place: 'operations/spawn.ts spawn',
    edits: { 'try:1': '@call:12.callee({ @variableDeclarator:4.id } as never)\n@self', 'expression:4': '' },
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'a reply is printed before its record is written',
    place: 'turn/drive.ts Turn.persist',
    edits: {
      'expression:3':
        "for (const each of @expression.arguments.0)\nif (each.kind === 'message.agent') process.stdout.write(String(each.content) + '\\n')\n@self",
    },
    suites: ['turn/drive-model#a turn prints nothing'],
  },
]
