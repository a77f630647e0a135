/** The prompt for a program that may already have the turn in its own store. It says neither that work is done nor that it is not. */
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import type { NewRecord } from '../../../src/session/records.js'
import type { Session } from '../../../src/session/session.js'
import { recoveryPrompt } from '../../../src/turn/prompt/program-prompt.js'
import { beginning, newSession, startedRun } from '../../support/sessions.js'
import { tempStore } from '../../support/temp.js'

let session: Session
let run: string

beforeEach(async () => {
  session = await newSession(tempStore())
  run = randomUUID()
  session.append(beginning(session, run, 'build it'))
})

const ended = (run_id: string): NewRecord => ({ kind: 'run.interrupted', run_id, reason: 'process_exit' })
const launched = (run_id: string): NewRecord => ({
  kind: 'provider.started',
  run_id,
  process_group: 1,
  start_time: 1,
  kernel_boot_id: 'b',
  pid_namespace: '1',
})
const CALL = { call_id: 'n', tool: 'Bash', input: {} }

/** A person's decision, for which the program is started. */
function decide(run_id: string, decision: 'approve' | 'deny' | 'input', content: string): void {
  const asks = [{ call_id: 'n', tool: 'Bash', input: { command: 'make install' } }]
  session.append([{ kind: 'wait.answered', run_id, decision, content, asks }, launched(run_id)])
}

/** The prompt of a run that continues the latest one. */
function goOn(): string {
  const told = recoveryPrompt(session)
  const before = session.state.run?.run_id as string
  const next: string = randomUUID()
  session.append([
    { ...startedRun(next), origin: 'continuation', continues: before },
    { kind: 'message.user', message_id: randomUUID(), run_id: next, content: told, origin: 'continuation' },
  ])
  return next
}

test('after an interruption the program receives a notice and its prompt', () => {
  session.append([ended(run)])
  expect(recoveryPrompt(session)).toMatch(/^Your previous turn was interrupted.*\n.*\n\nbuild it$/)
})

test('after a second interruption it receives the same text, not a quote of a quote', () => {
  session.append([ended(run)])
  const told = recoveryPrompt(session)
  session.append([ended(goOn())])
  expect(recoveryPrompt(session)).toBe(told)
})

describe('a decision that the program may not have received', () => {
  test.each([
    ['approve', '', /granted it once, for this:\n- Bash \{"command":"make install"\}\n\nCheck whether/],
    ['deny', 'not today', /denied it for this:\n- Bash .*\n\nDo not do it.*\n\nThe person said: not today$/],
    ['input', 'the left one', /asked this, and answered:\n- Bash .*\n\nThe person said: the left one$/],
  ] as const)('is repeated with the prompt: %s', (decision, said, words) => {
    decide(run, decision, said)
    session.append([ended(run)])
    expect(recoveryPrompt(session)).toMatch(/\n\nbuild it\n\nDuring that turn a person/)
    expect(recoveryPrompt(session)).toMatch(words)
  })

  test('is in the prompt once after any number of interruptions, and a later decision is added to it', () => {
    decide(run, 'approve', '')
    session.append([ended(run)])
    const told = recoveryPrompt(session)
    session.append([ended(goOn())])
    expect(recoveryPrompt(session)).toBe(told)
    const third = goOn()
    decide(third, 'input', 'the left one')
    session.append([ended(third)])
    expect(recoveryPrompt(session).startsWith(`${told}\n\nDuring that turn`)).toBe(true)
    expect(recoveryPrompt(session)).toContain('the left one')
  })

  test('is repeated if the turn was cancelled after it and is tried again', () => {
    decide(run, 'approve', '')
    session.append([ended(run)])
    const told = recoveryPrompt(session)
    const next: string = randomUUID()
    session.append([
      { ...startedRun(next), origin: 'continuation', continues: run },
      { kind: 'run.cancelled', run_id: next, reason: 'cancelled' },
    ])
    expect(recoveryPrompt(session)).toBe(told)
  })

  test.each<[string, () => NewRecord]>([
    ['a tool of its own', () => ({ kind: 'program.tool_started', run_id: run, ...CALL })],
    ['one of ours', () => ({ kind: 'tool.started', run_id: run, ...CALL })],
  ])('is not repeated to a program that began to act, with %s', (_, record) => {
    decide(run, 'approve', '')
    session.append([record(), ended(run)])
    expect(recoveryPrompt(session)).not.toContain('person')
  })

  test('is not part of the prompt of another message', () => {
    decide(run, 'approve', '')
    session.append([ended(run), ...beginning(session, randomUUID(), 'test it').slice(-2)])
    expect(recoveryPrompt(session)).not.toContain('person')
  })
})
