/** Rule 5, for the lines and blobs of a log: their checksums, their order, and the end of a log. */
import type { Mutant } from '../mutant.js'

export const DAMAGED_LINES: Mutant[] = [
  {
    name: "the check of a log's end ignores wrong checksums",
    edits: [['text.startsWith(suffixOf(bytes.subarray(start, split)), split)', 'true']],
    suites: ['storage/log/tail'],
  },
  {
    name: "the check of a log's end ignores wrong seqs",
    edits: [
      ['split <= start + head.length || !text.startsWith(head, start)', 'split <= start + head.length'],
    ],
    suites: ['storage/log/tail'],
  },
  {
    name: "the check of a log's end accepts a log without its first records",
    edits: [['seq === 0 || !isWholeLog', 'seq >= 0']],
    suites: ['storage/log/tail'],
  },
  {
    name: "the check of a log's end accepts a log without its last line feed",
    edits: [['if (bytes.length > 0 && bytes.at(-1) !== LF) return undefined', ';']],
    suites: ['storage/log/tail'],
  },
  {
    name: "the end of a log counts as intact although its checksum is not the snapshot's",
    edits: [['synced.crc !== undefined && hexOf(crc32(bytes)) === synced.crc', 'synced.crc !== undefined']],
    suites: ['storage/log/tail', 'session/log-end'],
  },
  {
    name: "the checksum of a log's end covers fewer bytes than the next command checks",
    edits: [['if (skipped < 0) return undefined', ';']],
    suites: ['storage/log/tail', 'session/log-end'],
  },
  {
    name: "the checksum of a log's end includes bytes of lines that were not checked",
    edits: [['IntactEnd.of(bytes.subarray(start), synced)', 'IntactEnd.of(bytes, synced)']],
    suites: ['storage/log/tail', 'session/log-end'],
  },
  {
    name: 'damage before the last batch counts as a truncated tail',
    edits: [['isWhole || otherBatchFrom(reader, line.offset, size, batchFirst ?? expectedSeq)', 'isWhole']],
    suites: ['storage/log/log'],
  },
  {
    name: 'an intact record in the wrong place counts as a truncated tail',
    edits: [
      [
        'isWhole || otherBatchFrom(reader, line.offset, size, batchFirst ?? expectedSeq)',
        'otherBatchFrom(reader, line.offset, size, batchFirst ?? expectedSeq)',
      ],
    ],
    suites: ['storage/log/log'],
  },
  {
    name: 'a record that follows a missing line feed is ignored',
    edits: [['line.subarray(Math.max(0, line.lastIndexOf(RECORD_START)))', 'line']],
    suites: ['storage/log/log'],
  },
  {
    name: 'a record with a wrong seq is accepted',
    edits: [['object.seq !== expectedSeq', 'object.seq === undefined']],
    suites: ['storage/log/log'],
  },
  {
    name: 'a record of another batch is accepted',
    edits: [['first !== (batchFirst ?? first) || first > expectedSeq', 'first > expectedSeq']],
    suites: ['storage/log/log'],
  },
  {
    name: 'an incomplete batch is accepted',
    edits: [["return tornEnd('its batch is not whole')", 'yield batch']],
    suites: ['storage/log/log'],
  },
  {
    name: 'an incomplete batch is not reported as damage',
    edits: [["if (batch.length > 0) return tornEnd('its batch is not whole')", ';']],
    suites: ['storage/log/log'],
  },
  {
    name: 'a line without its line feed is accepted',
    edits: [
      ["line.complete ? unframe(line.bytes) : { damage: 'its line has no end' }", 'unframe(line.bytes)'],
    ],
    suites: ['storage/log/log'],
  },
  {
    name: 'a record read by its position may lack its line feed',
    edits: [['if (bytes.at(-1) !== LF) return undefined', ';']],
    suites: ['storage/log/log'],
  },
  {
    name: 'a wrong checksum is ignored',
    edits: [["'its checksum is wrong'", 'undefined']],
    suites: ['storage/log/frame'],
  },
  {
    name: 'a line separator in a record is not escaped',
    edits: [
      [
        `JSON.stringify(object)
         .slice(0, -1)
         .replace(/[\\u2028\\u2029]/g, escapeSeparator)`,
        `JSON.stringify(object)
         .slice(0, -1)`,
      ],
    ],
    suites: ['storage/log/frame'],
  },
  {
    name: 'the log of another agent is accepted',
    edits: [['owner !== undefined && owner !== agentId', 'owner === undefined']],
    suites: ['session/foreign-log'],
  },
  {
    name: 'a scan for kinds does not check the lines',
    edits: [
      [
        `if (!isIntactLine(lines, start, lf, seq))
         return damaged(damageOf(bytes.subarray(start, lf), recordHead(seq)) as string)`,
        ';',
      ],
    ],
    suites: ['storage/log/scan'],
  },
  {
    name: 'a scan for kinds ignores a line without an end',
    edits: [["offset < to ? damaged('its line has no end') : undefined", 'undefined']],
    suites: ['storage/log/scan'],
  },
  {
    name: 'a damaged blob is returned',
    edits: [['content !== undefined && sha256Hex(content) === reference.blob', 'content !== undefined']],
    suites: ['storage/log/blobs'],
  },
  {
    name: 'a missing log is created again',
    edits: [["io.openIfThere('log.open', path, 'write')", "(io).open('log.open', path, 'create')"]],
    suites: ['session/session', 'storage/log/log'],
  },
]
