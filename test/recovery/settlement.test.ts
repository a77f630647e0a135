/** The records that settle a run whose program is dead: a result for each tool call that the program had made to substrat. */
import { describe, expect, test } from 'vitest'
import { settlement } from '../../src/recovery/settlement.js'
import type { NewRecord } from '../../src/session/records.js'
import { foldAll } from '../support/folding.js'
import { createdRecord, replied, startedRun } from '../support/sessions.js'
import { POLICY } from '../support/turns.js'

const AGENT = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const RUN = '1b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const FACTS = { policy: POLICY, unknownTool: 'stop', continuesTurn: false, hasSurvivor: false } as const

/** A program that has called a tool of substrat and has not received the result. */
const calling: NewRecord[] = [
  createdRecord(AGENT),
  { kind: 'session.activated', boot_id: 'b' },
  startedRun(RUN),
  {
    kind: 'provider.started',
    run_id: RUN,
    process_group: 1,
    start_time: 1,
    kernel_boot_id: 'k',
    pid_namespace: '1',
  },
  { kind: 'tool.started', run_id: RUN, call_id: 'program_4', tool: 'send_message', input: {} },
]
const replying: NewRecord = { ...replied(RUN, 'done'), terminates: true } as NewRecord

describe('a call of a dead program has a result', () => {
  test.each([
    ['if the outcome of the program is unknown', undefined, ['tool.finished', 'run.interrupted']],
    [
      'if the store of the program has the reply',
      'done',
      ['tool.finished', 'message.agent', 'run.completed'],
    ],
  ])('%s', (_, finished, kinds) => {
    const records = settlement(foldAll(calling), 'J', { ...FACTS, finished })
    expect(records.map(({ kind }) => kind)).toEqual(kinds)
    expect(records[0]).toMatchObject({ call_id: 'program_4', is_error: true })
  })

  test('if the program had replied, and an agent that called complete is completed', () => {
    const records = settlement(foldAll([...calling, replying]), 'G', { ...FACTS, finished: undefined })
    expect(records).toMatchObject([
      { kind: 'tool.finished', call_id: 'program_4', is_error: true },
      { kind: 'run.completed', terminates: true },
    ])
  })
})
