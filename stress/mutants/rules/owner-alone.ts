/** Only the owner may read and write stored files; other users' files and links are not followed. */
import type { Mutant } from '../mutant.js'

export const OWNER_ALONE: Mutant[] = [
  {
    name: 'new files are readable by other users',
    place: 'host/disk/io.ts openAs',
    edits: { 'call:1.arguments.2': '0o644' },
    suites: ['host/disk/io', 'storage/home'],
  },
  {
    name: 'new directories are readable by other users',
    place: 'host/disk/io.ts mkdir',
    edits: { 'call:4.arguments.1': '0o755' },
    suites: ['host/disk/io', 'storage/home'],
  },
  {
    name: 'a read in the home follows a symlink',
    place: 'host/disk/io.ts OPEN_FLAGS',
    edits: { 'binary:2': '@left' },
    suites: ['host/disk/io'],
  },
  {
    name: 'a write in the home follows a symlink',
    place: 'host/disk/io.ts OPEN_FLAGS',
    edits: { 'binary:3': '@left' },
    suites: ['host/disk/io'],
  },
  {
    name: 'creating a file in the home follows a symlink',
    place: 'host/disk/io.ts OPEN_FLAGS',
    edits: { 'binary:4': '@left' },
    suites: ['host/disk/io'],
  },
  {
    name: 'an append in the home follows a symlink',
    place: 'host/disk/io.ts OPEN_FLAGS',
    edits: { 'object:1.properties.4.value': '@left' },
    suites: ['host/disk/io'],
  },
  {
    name: 'a FIFO in the home blocks a command',
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
    name: 'a command writes to the home of another user',
    place: 'storage/home.ts makeHome',
    edits: { 'expression:1': '' },
    suites: ['storage/home'],
  },
  {
    name: 'the socket of a turn is open to other users',
    place: 'files/socket.ts forOwnerAlone',
    edits: { 'call:1.arguments.0': '0o022' },
    suites: ['files/socket'],
  },
  {
    name: 'a symlink in place of a home directory is followed',
    place: 'host/disk/confinement.ts Confinement.checkDirectory',
    edits: { 'if:3': '' },
    suites: ['host/disk/io', 'host/disk/confinement'],
  },
  {
    name: 'a workspace file replaced by a symlink between check and use is followed',
    place: 'files/workspace.ts readWorkspaceFile',
    edits: {
      'return:1':
        "return @argument.callee(@argument.arguments.0.callee('workspace.open', @{host/disk/facts.ts realPath|function:1.id}('workspace.open', @argument.arguments.0.arguments.1), 'read'), @argument.arguments.1, @argument.arguments.2)",
    },
    suites: ['files/workspace'],
  },
  {
    name: 'AGENTS.md may be a symlink to a file outside the repository',
    place: 'files/prompt-files.ts readTextFile',
    edits: { 'call:2.arguments.1': '@function:1.params.2' },
    suites: ['turn/prompt/prompt'],
  },
  {
    name: 'a tool accepts a path outside the workspace',
    place: 'files/workspace.ts locate',
    edits: { 'if:2': '' },
    suites: ['files/workspace'],
  },
  {
    name: 'a broken symlink in the workspace counts as a missing file',
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
    name: "a tool receives the provider's secrets",
    place: 'turn/tool-runs.ts ToolRuns.launch',
    edits: { 'logical:1': '@left.expression.callee === null ? [""] : []' },
    suites: ['turn/drive-tools#keeps to itself'],
  },
]
