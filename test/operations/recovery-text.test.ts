/** The text that `recover` prints. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { recoveryText } from '../../src/operations/recovery-text.js'
import type { NewRecord } from '../../src/session/records.js'
import { completedRecord } from '../../src/turn/step/records.js'
import { foldAll } from '../support/folding.js'
import { createdRecord, replied, startedRun, userMessage } from '../support/sessions.js'

const RUN: string = randomUUID()
const begun: NewRecord[] = [
  createdRecord(randomUUID(), { name: 'a', provider: 'claude-code' }),
  { kind: 'session.activated', boot_id: 'b' },
  startedRun(RUN),
  userMessage(RUN, 'hi'),
]
const done: NewRecord[] = [...begun, replied(RUN, 'the reply'), completedRecord(RUN, null)]
const cut = (reason: NewRecord<'run.interrupted'>['reason']): NewRecord[] => [
  ...begun,
  { kind: 'run.interrupted', run_id: RUN, reason },
]
const again: NewRecord = { kind: 'run.resumed', run_id: RUN, boot_id: 'b', auto: true, attempt: 1 }
const failed: NewRecord = {
  kind: 'run.failed',
  run_id: RUN,
  error: { type: 'crashed', message: 'it exited 3' },
}

test.each<[Parameters<typeof recoveryText>[2], Parameters<typeof recoveryText>[3], NewRecord[], RegExp]>([
  ['A', 'clean', begun.slice(0, 1), /^nothing to do$/],
  ['J', 'marked', done, /^claude-code had finished; its reply was recovered$/],
  ['G', 'marked', done, /^the reply was already stored; the turn is now closed$/],
  ['C', 'continued', done, /^continued, completed$/],
  ['C', 'continued', [...begun, failed], /^continued, failed: .*it exited 3/],
  ['C', 'marked', cut('process_exit'), /^interrupted; the next command continues it$/],
  ['E', 'marked', cut('unknown_tool'), /^interrupted; not continued until a person decides: a tool call was/],
  [
    'A',
    'marked',
    [...begun, again, again, { kind: 'run.interrupted', run_id: RUN, reason: 'process_exit' }],
    /^interrupted; not continued: 2 attempts made no progress$/,
  ],
])('row %s, %s', (row, outcome, records, words) => {
  expect(recoveryText({ isShared: false }, foldAll(records), row, outcome)).toMatch(words)
})
