/** Rule 6: a failed sync is never retried. */
import type { Mutant } from '../mutant.js'

export const FAILED_SYNC: Mutant[] = [
  {
    name: 'appends are allowed after a failed sync',
    place: 'storage/log/log.ts LogWriter.append',
    edits: { 'expression:4': '' },
    suites: ['storage/log/log'],
  },
  {
    name: 'a failed sync is tried again',
    place: 'storage/log/log.ts LogWriter.append',
    edits: { 'catchClause:2': 'catch @try:2.block' },
    suites: ['storage/log/log'],
  },
  {
    name: 'a batch with a failed sync counts as written',
    place: 'storage/log/log.ts LogWriter.append',
    edits: { 'catchClause:2': 'catch {\n@body.body.0\n}' },
    suites: ['storage/log/log'],
  },
  {
    name: 'a writer that is broken appends',
    place: 'storage/log/log.ts LogWriter.append',
    edits: { 'if:1.test': '@call:1.arguments.3 < 0' },
    suites: ['storage/log/log'],
  },
  {
    name: 'a failed sync of a file is a failed write',
    place: 'host/disk/operation.ts SYNCS',
    edits: { 'array:1': "['sync_directory']" },
    suites: ['host/disk/io', 'storage/log/log'],
  },
  {
    name: 'a failed sync of a directory is a failed write',
    place: 'host/disk/operation.ts SYNCS',
    edits: { 'array:1.elements.2': '' },
    suites: ['host/disk/io', 'storage/rules#6:', 'storage/create-agent'],
  },
  {
    name: 'the failure to tidy up hides the failed sync',
    place: 'host/disk/replace.ts discard',
    edits: { 'try:1': 'try @block finally @handler.body' },
    suites: ['host/disk/replace'],
  },
  {
    name: 'an answer that the disk did not take counts as not sent for now',
    place: 'mail/answers.ts isStorageFailure',
    edits: { 'call:1': "@arguments.0 === 'UNEXPECTED'" },
    suites: ['mail/answers'],
  },
  {
    name: 'the failure to record is a failure of the program',
    place: 'turn/ask/storage-guard.ts StorageGuard.guard',
    edits: { 'expression:2': '' },
    suites: ['turn/drive-agent#before the record of a launch', 'turn/drive-agent'],
  },
  {
    name: 'after a failure of storage a visit ends as if it were clean',
    place: 'dispatch/visit.ts toItsEnd',
    edits: { 'if:1': '@alternate' },
    suites: ['dispatch/visit'],
  },
]
