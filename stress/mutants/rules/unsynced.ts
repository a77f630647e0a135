/** Rule 4: never an append while an earlier batch is unsynced. */
import type { Mutant } from '../mutant.js'

export const UNSYNCED: Mutant[] = [
  {
    name: 'the tail of a killed writer is not settled',
    edits: [['if (size > synced) writer.resyncTail(synced, end)', ';']],
    suites: ['session/session'],
  },
  {
    name: 'the tail of a killed writer is settled only if it is truncated',
    edits: [
      ['if (size > synced) writer.resyncTail(synced, end)', 'if (end < size) writer.resyncTail(synced, end)'],
    ],
    suites: ['session/session'],
  },
  {
    name: 'complete batches of a killed writer count as fsynced',
    edits: [['snapshot === undefined ? lastBatchStart : snapshot.log_bytes', '(state).log_bytes']],
    suites: ['session/session'],
  },
  {
    name: 'without a snapshot the last batch counts as fsynced',
    edits: [
      [
        'snapshot === undefined ? lastBatchStart : snapshot.log_bytes',
        'snapshot === undefined ? (state).log_bytes : snapshot.log_bytes',
      ],
    ],
    suites: ['session/session', 'session/snapshot'],
  },
  {
    name: 'the tail of a killed writer is fsynced but not rewritten',
    step: 'log.rewrite',
    suites: ['storage/log/log'],
  },
  {
    name: 'the tail of a killed writer is rewritten but not fsynced',
    step: 'log.resync',
    suites: ['storage/log/log'],
  },
  {
    name: 'a truncated tail is not removed',
    step: 'log.cut',
    suites: ['storage/log/log'],
  },
  {
    name: 'after the cut of a truncated tail, appends go to the old end',
    edits: [['this.end = end', ';']],
    suites: ['storage/log/log'],
  },
  {
    name: 'the writer appends after settling failed',
    edits: [
      [
        `this.isBroken = true
         if (end < this.end) io.truncate('log.cut', this.file, end)`,
        "if (end < this.end) io.truncate('log.cut', this.file, end)",
      ],
    ],
    suites: ['storage/log/log'],
  },
]
