/** Rule 5, for the lines and blobs of a log: their checksums, their order, and the end of a log. */
import type { Mutant } from '../mutant.js'

export const DAMAGED_LINES: Mutant[] = [
  {
    name: "the check of a log's end ignores wrong checksums",
    place: 'storage/log/lines.ts isIntactLine',
    edits: { 'return:2.argument': 'true' },
    suites: ['storage/log/tail'],
  },
  {
    name: "the check of a log's end ignores wrong seqs",
    place: 'storage/log/lines.ts isIntactLine',
    edits: { 'if:1.test': '@left' },
    suites: ['storage/log/tail'],
  },
  {
    name: "the check of a log's end accepts a log without its first records",
    place: 'storage/log/tail.ts startOfLines',
    edits: { 'logical:3': '@left.left >= 0' },
    suites: ['storage/log/tail'],
  },
  {
    name: "the check of a log's end accepts a log without its last line feed",
    place: 'storage/log/tail.ts startOfLines',
    edits: { 'if:1': '' },
    suites: ['storage/log/tail'],
  },
  {
    name: "the end of a log counts as intact although its checksum is not the snapshot's",
    place: 'storage/log/tail.ts intactEnd',
    edits: { 'if:1.test': '@left' },
    suites: ['storage/log/tail', 'session/log-end'],
  },
  {
    name: "the checksum of a log's end covers fewer bytes than the next command checks",
    place: 'storage/log/tail.ts IntactEnd.checksum',
    edits: { 'if:1': '' },
    suites: ['storage/log/tail', 'session/log-end'],
  },
  {
    name: "the checksum of a log's end includes bytes of lines that were not checked",
    place: 'storage/log/tail.ts intactEnd',
    edits: { 'call:8': '@callee.object' },
    suites: ['storage/log/tail', 'session/log-end'],
  },
  {
    name: 'damage before the last batch counts as a truncated tail',
    place: 'storage/log/scan.ts scanLog',
    edits: { 'logical:2': '@left' },
    suites: ['storage/log/log'],
  },
  {
    name: 'an intact record in the wrong place counts as a truncated tail',
    place: 'storage/log/scan.ts scanLog',
    edits: { 'logical:2': '@right' },
    suites: ['storage/log/log'],
  },
  {
    name: 'a record that follows a missing line feed is ignored',
    place: 'storage/log/scan.ts recordAtEndOf',
    edits: { 'call:2': '@callee.object' },
    suites: ['storage/log/log'],
  },
  {
    name: 'a record with a wrong seq is accepted',
    place: 'storage/log/scan.ts misplacedIn',
    edits: { 'binary:1': '@left === undefined' },
    suites: ['storage/log/log'],
  },
  {
    name: 'a record of another batch is accepted',
    place: 'storage/log/scan.ts misplacedIn',
    edits: { 'logical:4': '@right' },
    suites: ['storage/log/log'],
  },
  {
    name: 'an incomplete batch is accepted',
    place: 'storage/log/scan.ts scanLog',
    edits: { 'return:4': '@expression:4' },
    suites: ['storage/log/log'],
  },
  {
    name: 'an incomplete batch is not reported as damage',
    place: 'storage/log/scan.ts scanLog',
    edits: { 'if:5': '' },
    suites: ['storage/log/log'],
  },
  {
    name: 'a line without its line feed is accepted',
    place: 'storage/log/scan.ts scanLog',
    edits: { 'conditional:2': '@consequent' },
    suites: ['storage/log/log'],
  },
  {
    name: 'a record read by its position may lack its line feed',
    place: 'storage/log/scan.ts readRecordAt',
    edits: { 'if:2': '' },
    suites: ['storage/log/log'],
  },
  {
    name: 'a wrong checksum is ignored',
    place: 'storage/log/frame.ts damageOf',
    edits: { 'return:3.argument': 'undefined' },
    suites: ['storage/log/frame'],
  },
  {
    name: 'a line separator in a record is not escaped',
    place: 'storage/log/frame.ts frame',
    edits: { 'call:1': '@callee.object' },
    suites: ['storage/log/frame'],
  },
  {
    name: 'the log of another agent is accepted',
    place: 'storage/log/log-owner.ts checkOwner',
    edits: { 'logical:1': '@left.left === undefined' },
    suites: ['session/foreign-log'],
  },
  {
    name: 'a scan for kinds does not check the lines',
    place: 'storage/log/scan.ts scanForKinds',
    edits: { 'if:1': '' },
    suites: ['storage/log/scan'],
  },
  {
    name: 'a scan for kinds ignores a line without an end',
    place: 'storage/log/scan.ts scanForKinds',
    edits: { 'conditional:1': '@alternate' },
    suites: ['storage/log/scan'],
  },
  {
    name: 'a damaged blob is returned',
    place: 'storage/log/blobs.ts readBlob',
    edits: { 'logical:1': '@left' },
    suites: ['storage/log/blobs'],
  },
  {
    name: 'a missing log is created again',
    place: 'storage/log/log.ts LogWriter.open',
    edits: { 'call:1': "(@callee.object).@methodDefinition:1.key('log.open', @arguments.1, 'create')" },
    suites: ['session/session', 'storage/log/log'],
  },
]
