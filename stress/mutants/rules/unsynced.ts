/** Rule 4: never an append while an earlier batch is unsynced. */
import type { Mutant } from '../mutant.js'

export const UNSYNCED: Mutant[] = [
  {
    name: 'the tail of a killed writer is not settled',
    place: 'storage/agent-lease.ts AgentLease.repair',
    edits: { 'if:2': '' },
    suites: ['session/session'],
  },
  {
    name: 'the tail of a killed writer is settled only if it is truncated',
    place: 'storage/agent-lease.ts AgentLease.repair',
    edits: { 'binary:2': '@binary:1' },
    suites: ['session/session'],
  },
  {
    name: 'complete batches of a killed writer count as fsynced',
    place: 'session/load.ts loadFrom',
    edits: { 'conditional:1': '(@variableDeclarator:1.id).@alternate.property' },
    suites: ['session/session'],
  },
  {
    name: 'without a snapshot the last batch counts as fsynced',
    place: 'session/load.ts loadFrom',
    edits: { 'conditional:1.consequent': '(@variableDeclarator:1.id).@logical:1.left.expression.property' },
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
    place: 'storage/log/log.ts LogWriter.resyncTail',
    edits: { 'expression:6': '' },
    suites: ['storage/log/log'],
  },
  {
    name: 'the writer appends after settling failed',
    place: 'storage/log/log.ts LogWriter.resyncTail',
    edits: { 'expression:1': '' },
    suites: ['storage/log/log'],
  },
]
