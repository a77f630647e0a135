/** Rule 7: a failed or short write leaves the session unchanged. */
import type { Mutant } from '../mutant.js'

export const FAILED_WRITE: Mutant[] = [
  {
    name: 'a short write counts as complete',
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
    name: 'a partly written batch is not cut from the log',
    place: 'storage/log/log.ts LogWriter.append',
    edits: { 'expression:2': '' },
    suites: ['storage/log/log'],
  },
  {
    name: 'the writer appends after bytes that it could not cut',
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
    name: 'opening an agent does not mark it',
    place: 'storage/file-store.ts FileStore.take',
    edits: { 'expression:2': '' },
    suites: ['session/session'],
  },
  {
    name: 'a failed write leaves its temporary file',
    place: 'host/disk/replace.ts writeTemporary',
    edits: { 'try:1': 'try @block finally @finalizer' },
    suites: ['host/disk/replace'],
  },
  {
    name: 'a failed rename leaves its temporary file',
    place: 'host/disk/replace.ts replaceOnce',
    edits: { 'try:1': 'try @block finally {\n}' },
    suites: ['host/disk/replace'],
  },
  {
    name: 'a failed spawn leaves its staging directory',
    step: 'spawn.remove',
    suites: ['storage/create-agent'],
  },
  {
    name: 'a failed spawn leaves its marker',
    place: 'storage/create-agent.ts createAgent',
    edits: { 'catchClause:1.body.body.1': '' },
    suites: ['storage/create-agent'],
  },
  {
    name: 'a failed spawn keeps its lock',
    place: 'storage/create-agent.ts createAgent',
    edits: { 'catchClause:1.body.body.2': '' },
    suites: ['storage/create-agent'],
  },
  {
    name: 'a snapshot that cannot be written fails the command',
    place: 'session/session.ts Session.close',
    edits: { 'if:4': '@consequent' },
    suites: ['session/session'],
  },
  {
    name: 'no lock can be taken on a full disk',
    place: 'storage/locks/lease.ts writeHolder',
    edits: { 'try:1': 'try @block finally @handler.body' },
    suites: ['storage/locks/lease'],
  },
  {
    name: 'writing a user file replaces a device',
    place: 'files/user-files.ts replaceAt',
    edits: { 'binary:4': "@left === 'directory'" },
    suites: ['files/user-files'],
  },
  {
    name: 'writing a user file replaces a broken symlink',
    place: 'files/user-files.ts replaceAt',
    edits: { 'logical:1': 'false' },
    suites: ['files/user-files'],
  },
  {
    name: 'a temporary file that could not be written is renamed into place',
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
