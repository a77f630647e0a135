/**
 * Rule 3: the directory of a new name is synced before anything is acknowledged, even if another process created the
 * name.
 */
import type { Mutant } from '../mutant.js'

export const NAMES_ON_DISK: Mutant[] = [
  {
    name: 'the name of a replaced file is not fsynced',
    place: 'host/disk/replace.ts replaceOnce',
    edits: { 'if:1': '' },
    suites: ['host/disk/replace'],
  },
  {
    name: 'the name of a new file is not fsynced',
    place: 'host/disk/replace.ts createOnce',
    edits: { 'expression:4': '' },
    suites: ['host/disk/replace'],
  },
  {
    name: 'a name that another process created is not fsynced before use',
    place: 'host/disk/replace.ts createOnce',
    edits: { 'expression:4': 'if (@variableDeclarator:2.id) @self' },
    suites: ['host/disk/replace'],
  },
  {
    name: 'the directory of a new agent is not fsynced',
    step: 'spawn.sync_directory',
    suites: ['storage/create-agent'],
  },
  {
    name: 'the rename of a new agent is not fsynced',
    step: 'spawn.sync_agents',
    suites: ['storage/create-agent'],
  },
  {
    name: 'a new agent is fsynced after its rename, not before',
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
    name: 'the name of a recreated blob directory is not fsynced',
    step: 'blob.sync_directory',
    suites: ['storage/log/blobs'],
  },
  {
    name: 'the name of a recreated inbox is not fsynced',
    place: 'storage/maildir.ts putMessage',
    edits: { 'if:1': '@test' },
    suites: ['storage/maildir'],
  },
  {
    name: 'the name of the new directory taken/ is not fsynced',
    place: 'storage/mailboxes.ts Mailboxes.take',
    edits: { 'if:1': '@test' },
    suites: ['storage/mailboxes'],
  },
  {
    name: 'the rename of a damaged message is not fsynced',
    step: 'mail.sync_aside',
    suites: ['storage/mailboxes'],
  },
  {
    name: 'an agent is deleted before its rename aside is fsynced',
    step: 'remove.sync_agents',
    suites: ['storage/store'],
  },
  {
    name: 'a damaged log is replaced before its second name is fsynced',
    step: 'aside.sync_directory',
    suites: ['audit/rebuild-log'],
  },
  {
    name: 'the name of a replacement log is not fsynced',
    place: 'storage/aside.ts replaceLog',
    edits: { 'property:1.value': 'false' },
    suites: ['storage/aside'],
  },
  {
    name: 'an entry of the name index is not durable',
    place: 'storage/names.ts NameIndex.reserve',
    edits: { 'property:3.value': 'false' },
    suites: ['storage/names'],
  },
  {
    name: 'the completeness mark of an index is not fsynced',
    step: 'names.sync_directory',
    suites: ['storage/names'],
  },
  {
    name: 'the raised format of a home is not fsynced',
    place: 'storage/home.ts raiseFormat',
    edits: { 'call:1.arguments.3': ['true', 'false'] },
    suites: ['storage/home'],
  },
  {
    name: 'a home keeps its older format',
    place: 'storage/home.ts raiseFormat',
    edits: { 'call:1': 'undefined' },
    suites: ['storage/home', 'commands/upgrade'],
  },
  {
    name: 'a log is upgraded before the raised format of its home is fsynced',
    place: 'storage/agent-lease.ts AgentLease.append',
    edits: { 'if:1': '' },
    suites: ['storage/home'],
  },
  {
    name: 'a home that cannot be raised is closed to every command',
    place: 'storage/home.ts upgraded',
    edits: { 'catchClause:1.body.body.0': '' },
    suites: ['storage/home'],
  },
  {
    name: 'the directories of a new home are not fsynced',
    place: 'storage/home.ts makeHome',
    edits: { 'forOf:2.body.expression': 'void @arguments.1' },
    suites: ['storage/home'],
  },
  {
    name: 'a home is created among other files',
    place: 'storage/home.ts refuseOccupied',
    edits: { 'throw:1': '' },
    suites: ['storage/home'],
  },
  {
    name: 'a command that reads takes other files for a home without agents',
    place: 'storage/home.ts refuseWithoutFacts',
    edits: { 'expression:1': '' },
    suites: ['commands/bad-input#other files'],
  },
  {
    name: "the operator's inbox is not fsynced",
    place: 'storage/home.ts makeHome',
    edits: { 'array:1.elements.0': '' },
    suites: ['storage/home'],
  },
  {
    name: 'the name of a new home is not fsynced',
    place: 'storage/home.ts makeRoot',
    edits: { 'expression:3': '' },
    suites: ['storage/home'],
  },
  {
    name: 'the directories above a new home are not fsynced',
    place: 'storage/home.ts makeAbove',
    edits: { 'expression:3': '' },
    suites: ['storage/home'],
  },
  {
    name: 'a home is marked ready before its names are fsynced',
    place: 'storage/home.ts makeHome',
    edits: { 'forOf:1': '@expression:7\n@self' },
    suites: ['storage/home'],
  },
  {
    name: 'an agent is opened before its name is fsynced',
    place: 'storage/file-store.ts FileStore.take',
    edits: { 'expression:1': '' },
    suites: ['storage/rules#syncs the name before anything'],
  },
  {
    name: 'a message is stored before the name of its recipient is fsynced',
    place: 'storage/mailboxes.ts Mailboxes.put',
    edits: { 'expression:1': '' },
    suites: ['storage/rules#syncs the name before anything'],
  },
  {
    name: 'a child is created before the name of its parent is fsynced',
    place: 'storage/file-store.ts FileStore.names',
    edits: { 'expression:2': '' },
    suites: ['tree/create-agent-below'],
  },
  {
    name: 'an existing agent is reported before its name is fsynced',
    place: 'operations/spawn.ts useExisting',
    edits: { 'expression:1': '' },
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'a marked agent counts as having a durable name',
    step: 'agents.sync_directory',
    suites: ['storage/rules#syncs the name before anything'],
  },
  {
    name: 'the name of a user file is not fsynced',
    place: 'files/user-files.ts writeUserFile',
    edits: { 'call:2': '@arguments.0' },
    suites: ['files/user-files'],
  },
]
