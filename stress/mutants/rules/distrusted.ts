/** Rule 5: a snapshot is trusted only if it belongs to the log, and the log is intact up to the end of the snapshot. */
import type { Mutant } from '../mutant.js'

export const DISTRUSTED: Mutant[] = [
  {
    name: 'damage before the end of the snapshot is removed as a truncated tail',
    edits: [
      ['if (damage !== undefined && damage.offset < claimedBytes) throw corruptError(log, damage)', ';'],
    ],
    suites: ['session/snapshot'],
  },
  {
    name: 'a log shorter than its snapshot covers is accepted',
    edits: [['if (state.log_bytes > log.size()) throw aheadOfLog(state, log)', ';']],
    suites: ['session/snapshot'],
  },
  {
    name: 'a snapshot is trusted without a check of its last record',
    edits: [['last?.seq !== state.last_seq', 'last === null']],
    suites: ['session/snapshot'],
  },
  {
    name: 'the snapshot of another agent is trusted',
    edits: [['if (state.id !== agentId)', 'if (state.id === null)']],
    suites: ['session/snapshot'],
  },
  {
    name: 'the snapshot of another version of the fold is trusted',
    edits: [['snapshot === SNAPSHOT_VERSION', 'true']],
    suites: ['session/snapshot'],
  },
  {
    name: 'a snapshot without a valid position in the log is trusted',
    edits: [['!places.every(Number.isSafeInteger)', '(places).length === 0']],
    suites: ['session/snapshot'],
  },
  {
    name: 'the synced length in a distrusted snapshot is ignored',
    edits: [['claimedBytes: state.log_bytes,', 'claimedBytes: 0,']],
    suites: ['session/snapshot'],
  },
  {
    name: 'a snapshot matches a log by its last seq alone, without the time',
    edits: [['`${recordHead(last_seq)}"ts":"${updated_at}",`', 'recordHead(last_seq)']],
    suites: ['session/foreign-log'],
  },
  {
    name: 'a snapshot is trusted although the log before its end is damaged',
    edits: [
      [
        'if (intactEnd === undefined) return distrustedSnapshot(`the log is damaged before byte ${state.log_bytes}`)',
        ';',
      ],
    ],
    suites: ['session/damaged-log'],
  },
]
