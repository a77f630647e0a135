/** The rows of the recovery table, and how they are distinguished. */
import type { Mutant } from '../mutant.js'

const action = (row: string, from: string, to: string, nth: number): Mutant => ({
  name: `row ${row} takes the action ${to} instead of ${from}`,
  place: 'recovery/table.ts RECOVERY_TABLE',
  edits: { [`object:1.properties.${nth}.value.properties.1.value`]: `'${to}'` },
  suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
})

export const ROWS: Mutant[] = [
  action('A', 'none', 'close', 0),
  action('B', 'go_on', 'close', 1),
  action('C', 'go_on', 'close', 2),
  action('D', 'go_on', 'close', 3),
  action('E', 'settle_tools', 'go_on', 4),
  action('F', 'go_on', 'close', 5),
  action('G', 'close', 'go_on', 6),
  action('H', 'keep', 'expire', 7),
  action('H2', 'keep', 'expire', 8),
  action('I', 'expire', 'keep', 9),
  action('J', 'inspect', 'go_on', 10),
  {
    name: 'row K: delivered mail stays in the inbox after a crash',
    place: 'recovery/settle.ts settle',
    edits: { 'expression:2': '' },
    suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'an ended run counts as open',
    place: 'recovery/table.ts rowOf',
    edits: { 'binary:1': '@left.expression.object === null' },
    suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'a program in flight is not asked how it ended',
    place: 'recovery/table.ts ROW_OF_PHASE',
    edits: { 'property:3.value': "'B'" },
    suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'a tool in flight counts as pending',
    place: 'recovery/table.ts rowOfCalls',
    edits: { 'if:1': '' },
    suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'a run past its deadline keeps waiting',
    place: 'session/status.ts waitIsGood',
    edits: { 'if:2': '' },
    suites: ['session/status'],
  },
  {
    name: 'a run with a consumed token keeps waiting',
    place: 'session/status.ts waitIsGood',
    edits: { 'binary:3': '@left.expression.object !== undefined' },
    suites: ['session/status', 'recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'a run with an expired token keeps waiting',
    place: 'session/status.ts waitIsGood',
    edits: { 'logical:2': '@left' },
    suites: ['session/status', 'recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'a run that waits for a time continues before it',
    place: 'session/status.ts isDue',
    edits: { 'call:1': 'true' },
    suites: ['session/status', 'dispatch/recovering'],
  },
  {
    name: 'a run whose process is dead has the status running',
    place: 'session/status.ts deriveStatus',
    edits: { 'if:2': '' },
    suites: ['session/status'],
  },
  {
    name: 'an interrupted run has the status idle',
    place: 'session/status.ts deriveStatus',
    edits: { 'if:1': '' },
    suites: ['session/status'],
  },
  {
    name: 'a turn that the operator suspended continues by itself',
    place: 'session/status.ts GOES_ON',
    edits: { 'array:1.elements.3': "@self, 'suspended'" },
    suites: ['session/status'],
  },
  {
    name: 'a turn with a tool of unknown outcome continues by itself',
    place: 'session/status.ts GOES_ON',
    edits: { 'array:1.elements.3': "@self, 'unknown_tool'" },
    suites: ['session/status'],
  },
]
