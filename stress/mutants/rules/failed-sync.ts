/** Rule 6: a failed sync is never retried. */
import type { Mutant } from '../mutant.js'

export const FAILED_SYNC: Mutant[] = [
  {
    name: 'the writer appends after a failed fsync',
    place: 'storage/log/log.ts LogWriter.append',
    edits: { 'expression:4': '' },
    suites: ['storage/log/log'],
  },
  {
    name: 'the writer retries a failed fsync',
    place: 'storage/log/log.ts LogWriter.append',
    edits: { 'catchClause:2': 'catch @try:2.block' },
    suites: ['storage/log/log'],
  },
  {
    name: 'a batch whose fsync failed counts as written',
    place: 'storage/log/log.ts LogWriter.append',
    edits: { 'catchClause:2': 'catch {\n@body.body.0\n}' },
    suites: ['storage/log/log'],
  },
  {
    name: 'a writer with a recorded failure appends',
    place: 'storage/log/log.ts LogWriter.append',
    edits: { 'if:1.test': '@call:1.arguments.3 < 0' },
    suites: ['storage/log/log'],
  },
  {
    name: 'a failed fsync of a file is reported as a failed write',
    place: 'host/disk/operation.ts SYNCS',
    edits: { 'array:1': "['sync_directory']" },
    suites: ['host/disk/io', 'storage/log/log'],
  },
  {
    name: 'a failed fsync of a directory is reported as a failed write',
    place: 'host/disk/operation.ts SYNCS',
    edits: { 'array:1.elements.2': '' },
    suites: ['host/disk/io', 'storage/rules#6:', 'storage/create-agent'],
  },
  {
    name: 'a failed cleanup hides the failed fsync',
    place: 'host/disk/replace.ts discard',
    edits: { 'try:1': 'try @block finally @handler.body' },
    suites: ['host/disk/replace'],
  },
  {
    name: 'a storage failure while sending an answer is not reported',
    place: 'mail/answers.ts isStorageFailure',
    edits: { 'call:1': "@arguments.0 === 'UNEXPECTED'" },
    suites: ['mail/answers'],
  },
  {
    name: 'a storage failure counts as a failure of the program',
    place: 'turn/ask/storage-guard.ts StorageGuard.guard',
    edits: { 'expression:2': '' },
    suites: ['turn/drive-agent#before the record of a launch', 'turn/drive-agent'],
  },
  {
    name: 'a visit closes the session cleanly after a storage failure',
    place: 'dispatch/visit.ts toItsEnd',
    edits: { 'if:1': '@alternate' },
    suites: ['dispatch/visit'],
  },
]
