/** Rule 4: never an append while an earlier batch is unsynced. */
import type { Mutant } from '../mutant.js'

export const UNSYNCED: Mutant[] = [
  {
    name: 'what a killed writer left is not settled',
    place: 'session/session.ts Session.repair',
    edits: { 'if:2': '' },
    suites: ['session/session'],
  },
  {
    name: 'what a killed writer left is settled only where it is torn',
    place: 'session/session.ts Session.repair',
    edits: { 'binary:2': '@binary:1' },
    suites: ['session/session'],
  },
  {
    name: 'whole batches of a killed writer count as synced',
    place: 'session/load.ts loadFrom',
    edits: { 'conditional:1': '(@variableDeclarator:1.id).@alternate.property' },
    suites: ['session/session'],
  },
  {
    name: 'without a snapshot the last batch counts as synced',
    place: 'session/load.ts loadFrom',
    edits: { 'conditional:1.consequent': '(@variableDeclarator:1.id).@logical:1.left.expression.property' },
    suites: ['session/session', 'session/snapshot'],
  },
  {
    name: 'what a killed writer left is synced, but not written again',
    step: 'log.rewrite',
    suites: ['storage/log/log'],
  },
  {
    name: 'what a killed writer left is written again, but not synced',
    step: 'log.resync',
    suites: ['storage/log/log'],
  },
  {
    name: 'a torn tail is not cut',
    step: 'log.cut',
    suites: ['storage/log/log'],
  },
  {
    name: 'behind a torn tail that was cut it is appended at the old end',
    place: 'storage/log/log.ts LogWriter.resyncTail',
    edits: { 'expression:6': '' },
    suites: ['storage/log/log'],
  },
  {
    name: 'after settling failed it may be appended',
    place: 'storage/log/log.ts LogWriter.resyncTail',
    edits: { 'expression:1': '' },
    suites: ['storage/log/log'],
  },
]
