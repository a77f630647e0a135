/**
 * Rule 3: the directory of a new name is synced before anything is acknowledged, even if another process created the
 * name.
 */
import type { Mutant } from '../mutant.js'

export const NAMES_ON_DISK: Mutant[] = [
  {
    name: 'the name of what replaces another file is not synced',
    place: 'host/disk/replace.ts replaceOnce',
    edits: { 'if:1': '' },
    suites: ['host/disk/replace'],
  },
  {
    name: 'the name of a new file is not synced',
    place: 'host/disk/replace.ts createOnce',
    edits: { 'expression:4': '' },
    suites: ['host/disk/replace'],
  },
  {
    name: 'a name that another process made is not synced before use',
    place: 'host/disk/replace.ts createOnce',
    edits: { 'expression:4': 'if (@variableDeclarator:2.id) @self' },
    suites: ['host/disk/replace'],
  },
  {
    name: "the contents of a new agent's directory are not synced",
    step: 'spawn.sync_directory',
    suites: ['storage/create-agent'],
  },
  {
    name: 'the rename of a new agent is not synced',
    step: 'spawn.sync_agents',
    suites: ['storage/create-agent'],
  },
  {
    name: 'a new agent is synced after its rename, not before',
    place: 'storage/create-agent.ts createAgent',
    edits: {
      'try:1.block.body.9':
        "@try:1.block.body.11\n@expression.callee('spawn.sync_directory', @try:1.block.body.11.expression.arguments.2)",
      'try:1.block.body.10': '',
      'try:1.block.body.11': '',
    },
    suites: ['storage/create-agent'],
  },
  {
    name: 'a directory of blobs that is made again is not synced',
    step: 'blob.sync_directory',
    suites: ['storage/log/blobs'],
  },
  {
    name: 'an inbox that is made again is not synced',
    place: 'storage/maildir.ts putMessage',
    edits: { 'if:1': '@test' },
    suites: ['storage/maildir'],
  },
  {
    name: 'the directory of what the operator took is not synced',
    place: 'storage/mailboxes.ts Mailboxes.take',
    edits: { 'if:1': '@test' },
    suites: ['storage/mailboxes'],
  },
  {
    name: 'the move of damaged mail is not synced',
    step: 'mail.sync_aside',
    suites: ['storage/mailboxes'],
  },
  {
    name: 'an agent is removed before its move aside is synced',
    step: 'remove.sync_agents',
    suites: ['storage/store'],
  },
  {
    name: 'a damaged log is replaced before the disk has its other name',
    step: 'aside.sync_directory',
    suites: ['audit/rebuild-log'],
  },
  {
    name: 'a log that replaces a damaged one has no durable name',
    place: 'storage/aside.ts replaceLog',
    edits: { 'property:1.value': 'false' },
    suites: ['storage/aside'],
  },
  {
    name: 'the entry of a name has no durable name',
    place: 'storage/names.ts NameIndex.reserve',
    edits: { 'property:3.value': 'false' },
    suites: ['storage/names'],
  },
  {
    name: 'the completeness mark of an index is not synced',
    step: 'names.sync_directory',
    suites: ['storage/names'],
  },
  {
    name: 'the directories of a new home are not synced',
    place: 'storage/home.ts makeHome',
    edits: { 'forOf:2.body.expression': 'void @arguments.1' },
    suites: ['storage/home'],
  },
  {
    name: "the operator's inbox is not synced",
    place: 'storage/home.ts makeHome',
    edits: { 'array:1.elements.0': '' },
    suites: ['storage/home'],
  },
  {
    name: 'the name of a new home is not synced',
    place: 'storage/home.ts makeRoot',
    edits: { 'expression:3': '' },
    suites: ['storage/home'],
  },
  {
    name: 'the directories above a new home are not synced',
    place: 'storage/home.ts makeAbove',
    edits: { 'expression:3': '' },
    suites: ['storage/home'],
  },
  {
    name: 'a home says that it is ready before its names are synced',
    place: 'storage/home.ts makeHome',
    edits: { 'forOf:1': '@expression:7\n@self' },
    suites: ['storage/home'],
  },
  {
    name: 'an agent that another made is opened before its name is synced',
    place: 'session/session.ts openForAppend',
    edits: { 'expression:1': '' },
    suites: ['storage/rules#syncs the name before anything'],
  },
  {
    name: 'mail to an agent that another made is stored before its name is synced',
    place: 'mail/post.ts post',
    edits: { 'expression:2': '' },
    suites: ['storage/rules#syncs the name before anything'],
  },
  {
    name: 'a child is born before the name of its parent is synced',
    place: 'tree/create-agent.ts checkParent',
    edits: { 'expression:1': '' },
    suites: ['tree/create-agent-below'],
  },
  {
    name: 'an existing agent is reported before its name is synced',
    place: 'operations/spawn.ts useExisting',
    edits: { 'expression:1': '' },
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'an unsynced name counts as synced',
    step: 'agents.sync_directory',
    suites: ['storage/rules#syncs the name before anything'],
  },
  {
    name: 'the name of a file of the user is not synced',
    place: 'files/user-files.ts writeUserFile',
    edits: { 'call:2': '@arguments.0' },
    suites: ['files/user-files'],
  },
]
