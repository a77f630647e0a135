/**
 * Rule 5: damage before the end of the snapshot, or before the last batch, is corruption. Only an incomplete last batch
 * is truncated.
 */
import type { Mutant } from '../mutant.js'

export const DAMAGE: Mutant[] = [
  {
    name: "a read error in doctor's second check hides the findings of the first",
    place: 'audit/audit.ts lookAgain',
    edits: { 'logical:3': '@left' },
    suites: ['audit/failing-disk'],
  },
  {
    name: "doctor's second check skips the files that the first could not read",
    place: 'audit/audit.ts lookAgain',
    edits: { 'conditional:1': '@test.callee.object' },
    suites: ['audit/failing-disk'],
  },
  {
    name: 'a repair that fails on the disk does not fail the command',
    place: 'audit/rebuild.ts rebuildHome',
    edits: { 'spreadElement:1': '' },
    suites: ['audit/failing-disk'],
  },
  {
    name: 'doctor reports an unreadable home.json as damaged',
    place: 'operations/doctor.ts lookAt',
    edits: { 'binary:3': '@binary:4' },
    suites: ['audit/failing-disk'],
  },
  {
    name: 'a tool input reported by a program may be nested to any depth',
    place: 'turn/ask/program-events.ts plainObject',
    edits: { 'if:1': '' },
    suites: ['turn/ask/levels'],
  },
  {
    name: 'the arguments of an MCP call may be nested to any depth',
    place: 'turn/tools/mcp-server.ts callOf',
    edits: { 'if:3': '' },
    suites: ['turn/ask/levels'],
  },
  {
    name: 'corruption is removed as a truncated tail',
    place: 'session/load.ts loadFrom',
    edits: { 'if:1.test': '@right' },
    suites: ['session/session'],
  },
  {
    name: 'an empty log loads as a session',
    place: 'session/load.ts loadFrom',
    edits: { 'if:1.test': '@left' },
    suites: ['session/session'],
  },
  {
    name: 'the end of a log that was read ahead is from another offset than the snapshot says',
    place: 'host/disk/read-ahead.ts FilesRead.tailFrom',
    edits: { 'logical:1': '@right' },
    suites: ['host/disk/read-ahead'],
  },
  {
    name: 'files below a symlink are read ahead',
    place: 'host/disk/confinement.ts Confinement.areListed',
    edits: { 'return:2': 'return true' },
    suites: ['host/disk/read-ahead'],
  },
  {
    name: 'the parent of an agent with a damaged log is not read from its snapshot',
    place: 'tree/forest.ts firstParent',
    edits: { 'logical:2': '@left' },
    suites: ['session/foreign-log'],
  },
  {
    name: 'a log of an unknown format is accepted',
    place: 'session/load.ts foldLogged',
    edits: { 'if:1': '' },
    suites: ['session/session'],
  },
  {
    name: 'a record of an unknown kind is reported as corruption',
    place: 'session/load.ts checkRecord',
    edits: { 'unary:1': '@argument.arguments.0 === null' },
    suites: ['session/session'],
  },
  {
    name: 'a record of the wrong shape is accepted',
    place: 'session/load.ts checkRecord',
    edits: { 'binary:1': '@call:2' },
    suites: ['session/session'],
  },
  {
    name: 'a record of the wrong shape is written',
    place: 'session/batch.ts Encoding.add',
    edits: { 'expression:1.expression': 'void @arguments.0.left' },
    suites: ['session/session'],
  },
  {
    name: 'a record of any length is written',
    place: 'session/batch.ts Encoding.add',
    edits: { 'if:1': '' },
    suites: ['session/session'],
  },
  {
    name: 'records that contradict each other are not reported as corruption',
    place: 'session/load.ts foldLogged',
    edits: { 'if:2': '' },
    suites: ['session/session'],
  },
  {
    name: 'a reader of part of a log ignores damage',
    place: 'session/load.ts recordsFrom',
    edits: { 'logical:2': '@right' },
    suites: ['session/damaged-log', 'session/session', 'session/past-run'],
  },
  {
    name: 'a reader of part of a log ignores an incomplete batch before its end',
    place: 'session/load.ts recordsFrom',
    edits: { 'logical:2': '@left' },
    suites: ['session/damaged-log', 'session/session', 'session/past-run'],
  },
  {
    name: 'a reader of some kinds of records ignores damage',
    place: 'session/load.ts recordsOfKinds',
    edits: { 'if:1': '' },
    suites: ['session/damaged-log', 'turn/prompt/history'],
  },
  {
    name: 'the bytes of a truncated tail are not saved before the cut',
    place: 'storage/agent-lease.ts AgentLease.repair',
    edits: { 'if:1': '' },
    suites: ['session/session'],
  },
  {
    name: 'a truncated tail whose bytes cannot be saved is not cut',
    place: 'storage/logs.ts Logs.keepCutBytes',
    edits: { 'try:1': 'try @block finally @handler.body' },
    suites: ['storage/store'],
  },
  {
    name: 'timestamps in the log go back when the clock is set back',
    place: 'session/batch.ts Encoding.constructor',
    edits: { 'call:1.arguments.0': 'undefined' },
    suites: ['session/session'],
  },
  {
    name: 'a damaged home.json is accepted',
    place: 'storage/home.ts readFacts',
    edits: { 'binary:2': "@self && @templateLiteral:1.expressions.1 === ''" },
    suites: ['storage/home'],
  },
  {
    name: 'a home of an unknown format is accepted',
    place: 'storage/home.ts checkHome',
    edits: { 'if:1': '' },
    suites: ['storage/home'],
  },
  {
    name: 'a home with an unknown kind of lock is accepted',
    place: 'storage/home.ts checkHome',
    edits: { 'if:2': '' },
    suites: ['storage/home'],
  },
]
