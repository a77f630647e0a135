/** Permission requests of the real claude, replayed, and the answers of provider-claude-code. */
import { describe, expect, test } from 'vitest'
import type { AgentEvent, AgentSession, WaitAnswer } from '../../src/provider/contract.js'
import { GRACE_MS, holdTimers } from '../support/time.js'
import {
  answersGiven,
  claude,
  failureIn,
  firstTurn,
  gathered,
  newHost,
  newSession,
  notes,
  optionsOf,
  replyIn,
  settings,
  started,
  type Turn,
  turn,
  typesOf,
} from './claude-code/support.js'

const INPUT = { command: 'touch granted.txt; echo did it', description: 'makes a file' }

async function parked(): Promise<{
  session: AgentSession
  first: Turn
  wait: AgentEvent & { type: 'wait' }
}> {
  const before = await newSession()
  const first = await turn(before, 'use the tool')
  const wait = first.events.at(-1)
  if (wait?.type !== 'wait') throw new Error(`it does not wait: ${JSON.stringify(first).slice(0, 500)}`)
  // As in another process, days later.
  const session = await claude.restore((await before.suspend()) as Uint8Array, settings(), newHost())
  return { session, first, wait }
}

function answer(session: AgentSession, given: WaitAnswer): Promise<Turn> {
  if (session.answer === undefined) throw new Error('it takes no answer')
  return gathered(session.answer(given, optionsOf({})))
}

describe('a tool that is not allowed', () => {
  test('ends the turn in a wait with its name and input, and no process is left', async () => {
    holdTimers(GRACE_MS)
    const { first, wait } = await parked()
    expect(wait).toEqual({
      type: 'wait',
      kind: 'approval',
      asks: [{ call_id: expect.stringMatching(/^toolu_/), tool: 'Bash', input: INPUT }],
    })
    expect(typesOf(first).filter((type) => type === 'tool_started' || type === 'tool_finished')).toEqual([
      'tool_started',
      'tool_finished',
    ])
    expect(first.events.findLast(({ type }) => type === 'tool_finished')).toMatchObject({ is_error: true })
    expect(answersGiven()).toEqual([])
    // Claude was not killed: its transcript records that the tool did not run.
    expect(notes('interrupts')).toEqual([{ subtype: 'interrupt' }])
  })

  test('causes no wait if the turn is stopped meanwhile', async () => {
    const controller = new AbortController()
    const onEvent = ({ type }: AgentEvent): void => {
      if (type === 'tool_started') controller.abort()
    }
    const stopped = await firstTurn('use the tool', { signal: controller.signal, onEvent })
    expect(typesOf(stopped)).not.toContain('wait')
    expect(stopped.error).toBeDefined()
  })

  test('runs once after approval, when claude repeats the same request in the same session', async () => {
    const { session, wait } = await parked()
    const gone = await answer(session, { decision: 'approve', text: 'but only once', asks: wait.asks })
    expect(replyIn(gone)).toContain('echo')
    expect(started().argv).toContain('--resume')
    expect(answersGiven()).toEqual([{ behavior: 'allow', updatedInput: INPUT }])
  })

  test('is asked about again if another input was approved', async () => {
    const { session, wait } = await parked()
    const asks = wait.asks.map((ask) => ({ ...ask, input: { ...INPUT, command: 'rm -rf /' } }))
    const again = await answer(session, { decision: 'approve', text: '', asks })
    expect(again.events.at(-1)).toMatchObject({ type: 'wait', asks: [{ input: INPUT }] })
    expect(answersGiven()).toEqual([])
  })

  test('does not run after denial, and claude learns of it', async () => {
    const { session, wait } = await parked()
    const gone = await answer(session, { decision: 'deny', text: 'use the tool no more', asks: wait.asks })
    expect(replyIn(gone)).toContain('echo')
    expect(answersGiven()).toEqual([])
  })

  test('is denied at once if claude tries it again after denial', async () => {
    const { session, wait } = await parked()
    const gone = await answer(session, { decision: 'deny', text: '\nuse the tool', asks: wait.asks })
    expect(replyIn(gone)).toContain('echo')
    expect(answersGiven()).toEqual([{ behavior: 'deny', message: expect.stringContaining('denied') }])
  })
})

describe('a tool that is allowed', () => {
  test.each([['Bash'], ['all'], ['shell']])('by --allow %s runs without a wait', async (name) => {
    const done = await firstTurn('use the tool', { allow: ['read_file', name] })
    expect(replyIn(done)).toContain('echo')
    expect(answersGiven()).toEqual([{ behavior: 'allow', updatedInput: INPUT }])
    const tools = done.events.filter(({ type }) => type.startsWith('tool_'))
    expect(tools).toEqual([
      { type: 'tool_started', call_id: expect.any(String), tool: 'Bash', input: INPUT },
      { type: 'tool_finished', call_id: expect.any(String), tool: 'Bash', output: 'did it', is_error: false },
    ])
  })

  test('by another name does not run', async () => {
    const first = await firstTurn('use the tool', { allow: ['Write', 'edit_file', 'Bas'] })
    expect(first.events.at(-1)).toMatchObject({ type: 'wait' })
  })
})

describe('a question of claude', () => {
  test('waits for an input, regardless of --allow, and the answer is the next prompt', async () => {
    const session = await newSession()
    const first = await turn(session, 'ask me', { allow: ['all'] })
    const wait = first.events.at(-1)
    expect(wait).toMatchObject({ type: 'wait', kind: 'input', asks: [{ tool: 'AskUserQuestion' }] })
    if (wait?.type !== 'wait') throw failureIn(first)
    const gone = await answer(session, { decision: 'input', text: 'blue', asks: wait.asks })
    expect(replyIn(gone)).toContain('echo')
  })

  test('with a tool waits for approval of the tool, and is asked again afterwards', async () => {
    const session = await newSession()
    const wait = (await turn(session, 'use the tool, and ask me')).events.at(-1)
    if (wait?.type !== 'wait') throw new Error(`it does not wait: ${JSON.stringify(wait)}`)
    expect(wait.kind).toBe('approval')
    expect(wait.asks.map(({ tool }) => tool)).toEqual(['AskUserQuestion', 'Bash'])
    const approved: WaitAnswer = { decision: 'approve', text: '', asks: wait.asks }
    const again = await answer(session, approved)
    expect(answersGiven()).toEqual([{ behavior: 'allow', updatedInput: INPUT }])
    expect(again.events.at(-1)).toMatchObject({ kind: 'input', asks: [{ tool: 'AskUserQuestion' }] })
  })
})
