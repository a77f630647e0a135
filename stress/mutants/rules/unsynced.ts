/** Rule 4: never an append while an earlier batch is unsynced. */
import type { Mutant } from '../mutant.js'

export const UNSYNCED: Mutant[] = [
  {
    name: 'what a killed writer left is not settled',
    file: 'session/session.ts',
    from: '    if (log.size() > settledBytes) log.settle(settledBytes, state.log_bytes)\n',
    to: '',
    suites: ['session/session'],
  },
  {
    name: 'what a killed writer left is settled only where it is torn',
    file: 'session/session.ts',
    from: 'if (log.size() > settledBytes) log.settle',
    to: 'if (damage !== undefined) log.settle',
    suites: ['session/session'],
  },
  {
    name: 'whole batches of a killed writer count as synced',
    file: 'session/load.ts',
    from: 'settledBytes: snapshot === undefined ? lastBatchStart : snapshot.log_bytes',
    to: 'settledBytes: state.log_bytes',
    suites: ['session/session'],
  },
  {
    name: 'without a snapshot the last batch counts as synced',
    file: 'session/load.ts',
    from: 'settledBytes: snapshot === undefined ? lastBatchStart : snapshot.log_bytes',
    to: 'settledBytes: snapshot === undefined ? state.log_bytes : snapshot.log_bytes',
    suites: ['session/session', 'session/snapshot'],
  },
  {
    name: 'what a killed writer left is synced, but not written again',
    file: 'storage/log/log.ts',
    from: `    io.writeAll('log.rewrite', this.file, bytes, from)\n`,
    to: '',
    suites: ['storage/log/log'],
  },
  {
    name: 'what a killed writer left is written again, but not synced',
    file: 'storage/log/log.ts',
    from: `    io.fdatasync('log.resync', this.file)\n`,
    to: '',
    suites: ['storage/log/log'],
  },
  {
    name: 'a torn tail is not cut',
    file: 'storage/log/log.ts',
    from: `    if (end < this.end) io.truncate('log.cut', this.file, end)\n`,
    to: '',
    suites: ['storage/log/log'],
  },
  {
    name: 'behind a torn tail that was cut it is appended at the old end',
    file: 'storage/log/log.ts',
    from: '    this.end = end\n    this.isBroken = false',
    to: '    this.isBroken = false',
    suites: ['storage/log/log'],
  },
  {
    name: 'after settling failed it may be appended',
    file: 'storage/log/log.ts',
    from: `    this.isBroken = true\n    if (end < this.end)`,
    to: `    if (end < this.end)`,
    suites: ['storage/log/log'],
  },
]
