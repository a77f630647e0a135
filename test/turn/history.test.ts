import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import { conversation, promptOf, recoveryPrompt } from '../../src/turn/history.js'
import { appendTurn, beginning, newSession, startedRun } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let session: Session

beforeEach(async () => {
  session = await newSession(tempStore())
})

const ended = (run_id: string): NewRecord => ({ kind: 'run.interrupted', run_id, reason: 'process_exit' })

test('a conversation is what was said, also by mail and through blobs, in order; without failures', () => {
  const large = 'x'.repeat(limits.inlineBytesMax + 1)
  appendTurn(session, 'one', large)
  const failed: string = randomUUID()
  session.append([
    ...beginning(session, failed, 'two'),
    { kind: 'run.failed', run_id: failed, error: { type: 'crashed', message: 'not for the model' } },
  ])
  const mailed: string = randomUUID()
  session.append([
    startedRun(mailed),
    {
      kind: 'mail.delivered',
      run_id: mailed,
      message_id: randomUUID(),
      from: 'operator',
      mail_kind: 'request',
      content: 'three',
      sent_at: '2026-01-01T00:00:00.000Z',
    },
  ])
  expect(conversation(session)).toEqual([
    { role: 'user', content: 'one' },
    { role: 'assistant', content: large, tool_calls: [] },
    { role: 'user', content: 'two' },
    { role: 'user', content: 'three' },
  ])
  expect(promptOf(session)).toBe('three')
})

test('where nothing was asked there is no prompt', () => {
  expect(promptOf(session)).toBe('')
  expect(conversation(session)).toEqual([])
})

describe('what a program is told after an interruption', () => {
  const run: string = randomUUID()

  beforeEach(() => {
    session.append(beginning(session, run, 'build it'))
  })

  test('is that it was interrupted, and what it was asked', () => {
    session.append([ended(run)])
    expect(recoveryPrompt(session)).toMatch(/^Your previous turn was interrupted.*\n.*\n\nbuild it$/)
  })

  test('is the same after a second interruption, not a quote of a quote', () => {
    session.append([ended(run)])
    const told = recoveryPrompt(session)
    const next: string = randomUUID()
    session.append([
      { ...startedRun(next), origin: 'continuation', continues: run },
      { kind: 'message.user', message_id: randomUUID(), run_id: next, content: told, origin: 'continuation' },
      ended(next),
    ])
    expect(recoveryPrompt(session)).toBe(told)
  })
})
