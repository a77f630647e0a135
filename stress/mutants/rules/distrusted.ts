/** Rule 5: a snapshot is trusted only if it belongs to the log, and the log is intact up to the end of the snapshot. */
import type { Mutant } from '../mutant.js'

export const DISTRUSTED: Mutant[] = [
  {
    name: 'damage before the end of the snapshot is removed as a truncated tail',
    place: 'session/load.ts load',
    edits: { 'if:1': '' },
    suites: ['session/snapshot'],
  },
  {
    name: 'a log shorter than its snapshot covers is accepted',
    place: 'session/snapshot.ts decodeSnapshot',
    edits: { 'if:5': '' },
    suites: ['session/snapshot'],
  },
  {
    name: 'a snapshot is trusted without a check of its last record',
    place: 'session/snapshot.ts decodeSnapshot',
    edits: { 'binary:6': '@left.expression.object === null' },
    suites: ['session/snapshot'],
  },
  {
    name: 'the snapshot of another agent is trusted',
    place: 'session/snapshot.ts decodeSnapshot',
    edits: { 'binary:3': '@left === null' },
    suites: ['session/snapshot'],
  },
  {
    name: 'the snapshot of another version of the fold is trusted',
    place: 'session/snapshot.ts stateIn',
    edits: { 'if:1.test': 'true' },
    suites: ['session/snapshot'],
  },
  {
    name: 'a snapshot without a valid position in the log is trusted',
    place: 'session/snapshot.ts decodeSnapshot',
    edits: { 'unary:2': '(@argument.callee.object).length === 0' },
    suites: ['session/snapshot'],
  },
  {
    name: 'the synced length in a distrusted snapshot is ignored',
    place: 'session/snapshot.ts decodeSnapshot',
    edits: { 'arrowFunction:1.body.properties.1.value': '0' },
    suites: ['session/snapshot'],
  },
  {
    name: 'a snapshot matches a log by its last seq alone, without the time',
    place: 'storage/snapshots.ts Snapshots.isEndOfLog',
    edits: { 'templateLiteral:1': '@expressions.0' },
    suites: ['session/foreign-log'],
  },
  {
    name: 'a snapshot is trusted although the log before its end is damaged',
    place: 'session/snapshot.ts decodeSnapshot',
    edits: { 'if:7': '' },
    suites: ['session/damaged-log'],
  },
]
