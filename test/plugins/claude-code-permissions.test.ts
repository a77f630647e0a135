/** What claude asks before it uses a tool: the real one's requests, answered by provider-claude-code. */
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
  // Days later, in another process.
  const session = await claude.restore((await before.suspend()) as Uint8Array, settings(), newHost())
  return { session, first, wait }
}

function answer(session: AgentSession, given: WaitAnswer): Promise<Turn> {
  if (session.answer === undefined) throw new Error('it takes no answer')
  return gathered(session.answer(given, optionsOf({})))
}

describe('a tool that is not allowed', () => {
  test('ends the turn in a wait that says which tool and what input, and nothing runs', async () => {
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
    // Not killed: its transcript says that the tool was not run.
    expect(notes('interrupts')).toEqual([{ subtype: 'interrupt' }])
  })

  test('asks nobody when the turn is stopped meanwhile', async () => {
    const controller = new AbortController()
    const onEvent = ({ type }: AgentEvent): void => {
      if (type === 'tool_started') controller.abort()
    }
    const stopped = await firstTurn('use the tool', { signal: controller.signal, onEvent })
    expect(typesOf(stopped)).not.toContain('wait')
    expect(stopped.error).toBeDefined()
  })

  test('is done once it is approved, in the same session, when claude asks for the very same again', async () => {
    const { session, wait } = await parked()
    const gone = await answer(session, { decision: 'approve', text: 'but only once', asks: wait.asks })
    expect(replyIn(gone)).toContain('echo')
    expect(started().argv).toContain('--resume')
    expect(answersGiven()).toEqual([{ behavior: 'allow', updatedInput: INPUT }])
  })

  test('is asked about again when what was approved is another input', async () => {
    const { session, wait } = await parked()
    const asks = wait.asks.map((ask) => ({ ...ask, input: { ...INPUT, command: 'rm -rf /' } }))
    const again = await answer(session, { decision: 'approve', text: '', asks })
    expect(again.events.at(-1)).toMatchObject({ type: 'wait', asks: [{ input: INPUT }] })
    expect(answersGiven()).toEqual([])
  })

  test('is not done when it is denied, and claude is told so', async () => {
    const { session, wait } = await parked()
    const gone = await answer(session, { decision: 'deny', text: 'use the tool no more', asks: wait.asks })
    expect(replyIn(gone)).toContain('echo')
    expect(answersGiven()).toEqual([])
  })

  test('is denied at once when claude tries it again after it was denied', async () => {
    const { session, wait } = await parked()
    const gone = await answer(session, { decision: 'deny', text: '\nuse the tool', asks: wait.asks })
    expect(replyIn(gone)).toContain('echo')
    expect(answersGiven()).toEqual([{ behavior: 'deny', message: expect.stringContaining('denied') }])
  })
})

describe('a tool that is allowed', () => {
  test.each([['Bash'], ['all'], ['shell']])('by --allow %s is done without a question', async (name) => {
    const done = await firstTurn('use the tool', { allow: ['read_file', name] })
    expect(replyIn(done)).toContain('echo')
    expect(answersGiven()).toEqual([{ behavior: 'allow', updatedInput: INPUT }])
    const tools = done.events.filter(({ type }) => type.startsWith('tool_'))
    expect(tools).toEqual([
      { type: 'tool_started', call_id: expect.any(String), tool: 'Bash', input: INPUT },
      { type: 'tool_finished', call_id: expect.any(String), tool: 'Bash', output: 'did it', is_error: false },
    ])
  })

  test('by another name is not', async () => {
    const first = await firstTurn('use the tool', { allow: ['Write', 'edit_file', 'Bas'] })
    expect(first.events.at(-1)).toMatchObject({ type: 'wait' })
  })
})

describe('a question of claude', () => {
  test('waits for an input, whatever is allowed, and the answer is the next prompt', async () => {
    const session = await newSession()
    const first = await turn(session, 'ask me', { allow: ['all'] })
    const wait = first.events.at(-1)
    expect(wait).toMatchObject({ type: 'wait', kind: 'input', asks: [{ tool: 'AskUserQuestion' }] })
    if (wait?.type !== 'wait') throw failureIn(first)
    const gone = await answer(session, { decision: 'input', text: 'blue', asks: wait.asks })
    expect(replyIn(gone)).toContain('echo')
  })

  test('beside a tool waits with it for an approval, which answers no question: that is asked again', async () => {
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
