/** Only the owner may read and write stored files; other users' files and links are not followed. */
import type { Mutant } from '../mutant.js'

export const OWNER_ALONE: Mutant[] = [
  {
    name: 'files are open to others',
    place: 'host/disk/io.ts open',
    edits: { 'call:1.arguments.2': '0o644' },
    suites: ['host/disk/io', 'storage/home'],
  },
  {
    name: 'directories are open to others',
    place: 'host/disk/io.ts mkdir',
    edits: { 'call:4.arguments.1': '0o755' },
    suites: ['host/disk/io', 'storage/home'],
  },
  {
    name: 'a read follows a link in the home',
    place: 'host/disk/io.ts OPEN_FLAGS',
    edits: { 'binary:2': '@left' },
    suites: ['host/disk/io'],
  },
  {
    name: 'a write follows a link in the home',
    place: 'host/disk/io.ts OPEN_FLAGS',
    edits: { 'binary:3': '@left' },
    suites: ['host/disk/io'],
  },
  {
    name: 'creating a file follows a link in the home',
    place: 'host/disk/io.ts OPEN_FLAGS',
    edits: { 'binary:4': '@left' },
    suites: ['host/disk/io'],
  },
  {
    name: 'an append follows a link in the home',
    place: 'host/disk/io.ts OPEN_FLAGS',
    edits: { 'object:1.properties.4.value': '@left' },
    suites: ['host/disk/io'],
  },
  {
    name: 'a FIFO in the home hangs a command',
    place: 'host/disk/io.ts OPEN_FLAGS',
    edits: { 'binary:1': '@left' },
    suites: ['host/disk/io'],
  },
  {
    name: 'a new file replaces an existing one',
    place: 'host/disk/io.ts OPEN_FLAGS',
    edits: { 'binary:7': '@left' },
    suites: ['host/disk/io', 'host/disk/replace'],
  },
  {
    name: 'the home of another user is written in',
    place: 'storage/home.ts makeHome',
    edits: { 'expression:1': '' },
    suites: ['storage/home'],
  },
  {
    name: 'the socket of a turn is open to others',
    place: 'files/socket.ts forOwnerAlone',
    edits: { 'call:1.arguments.0': '0o022' },
    suites: ['files/socket'],
  },
  {
    name: 'a linked directory of the home is followed',
    place: 'host/disk/confinement.ts Confinement.checkDirectory',
    edits: { 'if:3': '' },
    suites: ['host/disk/io', 'host/disk/confinement'],
  },
  {
    name: 'a link that took the place of a file of the workspace is followed',
    place: 'files/workspace.ts readWorkspaceFile',
    edits: {
      'return:1':
        "@argument.arguments.0.callee.object.@{host/disk/io.ts close|function:1.id}(@argument.arguments.0.callee('workspace.open', @{host/disk/facts.ts realPath|function:1.id}('workspace.open', @argument.arguments.0.arguments.1), 'read'))\nreturn @argument.arguments.0.callee.object.@{host/disk/io.ts readFollowing|function:1.id}('workspace.read', @argument.arguments.0.arguments.1)",
    },
    suites: ['files/workspace'],
  },
  {
    name: 'AGENTS.md of a workspace leads to a secret',
    place: 'files/prompt-files.ts readTextFile',
    edits: { 'call:1.arguments.1': '@function:1.params.2' },
    suites: ['turn/prompt/prompt'],
  },
  {
    name: 'a path leads out of the workspace',
    place: 'files/workspace.ts locate',
    edits: { 'if:2': '' },
    suites: ['files/workspace'],
  },
  {
    name: 'a link that leads nowhere is a plain name',
    place: 'files/workspace.ts realOfMissing',
    edits: { 'if:2': '' },
    suites: ['files/workspace'],
  },
  {
    name: "a program receives the operator's token",
    place: 'provider/program.ts NEVER_PASSED_ON',
    edits: { 'array:1.elements.0': '' },
    suites: ['turn/drive-tools#keeps to itself'],
  },
  {
    name: 'a tool is given the key of the provider',
    place: 'turn/tool-runs.ts ToolRuns.launch',
    edits: { 'logical:1': '@left.expression.callee === null ? [""] : []' },
    suites: ['turn/drive-tools#keeps to itself'],
  },
]
