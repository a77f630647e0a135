/** Rule 7: a failed or short write leaves the session unchanged. */
import type { Mutant } from '../mutant.js'

export const FAILED_WRITE: Mutant[] = [
  {
    name: 'a short write counts as a whole one',
    place: 'host/disk/io.ts writeAll',
    edits: { 'assignment:1': '@left = @binary:1.right' },
    suites: ['host/disk/io', 'storage/log/log'],
  },
  {
    name: 'a write of zero bytes counts as done',
    place: 'host/disk/io.ts writeAll',
    edits: { 'throw:1': 'return' },
    suites: ['host/disk/io', 'storage/log/log'],
  },
  {
    name: 'what was written of a batch is not taken back',
    place: 'storage/log/log.ts LogWriter.append',
    edits: { 'expression:2': '' },
    suites: ['storage/log/log'],
  },
  {
    name: 'a batch can follow bytes that could not be removed',
    place: 'storage/log/log.ts LogWriter.takeBack',
    edits: { 'expression:2': '' },
    suites: ['storage/log/log'],
  },
  {
    name: 'a failed batch counts as written',
    place: 'storage/log/log.ts LogWriter.append',
    edits: { 'throw:2': 'return' },
    suites: ['storage/log/log'],
  },
  {
    name: 'an agent is opened without its marker',
    place: 'session/session.ts openForAppend',
    edits: { 'expression:2': '' },
    suites: ['session/session'],
  },
  {
    name: 'what cannot be written is left beside the file',
    place: 'host/disk/replace.ts writeTemporary',
    edits: { 'try:1': 'try @block finally @finalizer' },
    suites: ['host/disk/replace'],
  },
  {
    name: 'what cannot be renamed is left beside the file',
    place: 'host/disk/replace.ts replaceOnce',
    edits: { 'try:1': 'try @block finally {\n}' },
    suites: ['host/disk/replace'],
  },
  {
    name: 'a spawn that fails leaves its cradle',
    step: 'spawn.remove',
    suites: ['storage/create-agent'],
  },
  {
    name: 'a spawn that fails leaves its marker',
    place: 'storage/create-agent.ts createAgent',
    edits: { 'catchClause:1.body.body.1': '' },
    suites: ['storage/create-agent'],
  },
  {
    name: 'a spawn that fails keeps its lock',
    place: 'storage/create-agent.ts createAgent',
    edits: { 'catchClause:1.body.body.2': '' },
    suites: ['storage/create-agent'],
  },
  {
    name: 'a snapshot that cannot be written is a failure of the command',
    place: 'session/session.ts Session.close',
    edits: { 'if:3': '@consequent' },
    suites: ['session/session'],
  },
  {
    name: 'a full disk keeps locks from being taken',
    place: 'storage/locks/lease.ts writeHolder',
    edits: { 'try:1': 'try @block finally @handler.body' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'a file of the user that has taken the place of a device is one',
    place: 'files/user-files.ts replaceAt',
    edits: { 'binary:4': "@left === 'directory'" },
    suites: ['files/user-files'],
  },
  {
    name: 'a file of the user takes the place of a link that leads to none',
    place: 'files/user-files.ts replaceAt',
    edits: { 'logical:1': 'false' },
    suites: ['files/user-files'],
  },
  {
    name: 'a temporary file that could not be written takes its name',
    place: 'host/disk/replace.ts writeTemporary',
    edits: { 'expression:4': '', 'throw:1': '@return:1' },
    suites: ['host/disk/replace'],
  },
  {
    name: "a storage failure in a tool becomes the tool's result",
    place: 'turn/tools/toolbox.ts Toolbox.run',
    edits: { 'if:2': '' },
    suites: ['turn/tools/toolbox', 'turn/drive-tools'],
  },
  {
    name: 'an unreadable conversation counts as a failure of the provider',
    place: 'turn/ask/ask-model.ts askModel',
    edits: { 'if:1': '' },
    suites: ['turn/unreadable'],
  },
]
