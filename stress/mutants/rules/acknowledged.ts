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
    name: 'a record is told to listeners before it is synced',
    place: 'session/session.ts Session.append',
    edits: { 'expression:4': '@forOf:2\n@self' },
    suites: ['session/session'],
  },
  {
    name: 'the state goes on before its records are synced',
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
    name: 'an agent is born with a record that names a blob that is not there yet',
    place: 'storage/birth.ts createAgent',
    edits: { 'forOf:2': '' },
    suites: ['storage/create-agent'],
  },
  {
    name: 'what is read without the lock is told before it is synced',
    place: 'session/load.ts openDurable',
    edits: { 'if:1': '' },
    suites: ['storage/rules#is read without the lock'],
  },
  {
    name: 'the sync of who tells what another wrote is left out',
    step: 'log.sync_read',
    suites: ['storage/rules#is read without the lock'],
  },
  {
    name: 'a file that replaces another, or is new, is not synced',
    place: 'host/disk/replace.ts writeTemporary',
    edits: { 'if:2': '' },
    suites: ['host/disk/replace'],
  },
  {
    name: 'the first records of an agent are not synced',
    place: 'storage/birth.ts createAgent',
    edits: { 'property:1.value': 'false' },
    suites: ['storage/create-agent'],
  },
  {
    name: 'the secret of a token is told before its record is synced',
    place: 'turn/drive.ts Turn.newToken',
    edits: { 'call:3': '@arguments.1.body' },
    suites: ['turn/drive-tools#parks the run'],
  },
  {
    name: 'what waits for one record is told of any',
    place: 'session/session.ts Session.onceDurable',
    edits: { 'if:1': '' },
    suites: ['session/session'],
  },
  {
    name: 'what a person has answered is removed before the disk knows that it was taken',
    step: 'mail.sync_taken',
    suites: ['storage/mailboxes'],
  },
  {
    name: 'the id of a message is told before it is stored',
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
