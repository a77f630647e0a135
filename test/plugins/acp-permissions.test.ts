/** What an agent asks permission for, and what a person decides, in one process and in another. */
import { describe, expect, test } from 'vitest'
import type { WaitAnswer, WaitAsk } from '../../src/provider/contract.js'
import { holdTimers } from '../support/time.js'
import { waitFor } from '../support/wait.js'
import { Agent } from './acp/support.js'
import { eventsOf, type Turn } from './driven-agent.js'

const RUN = { toolCallId: 'c1', kind: 'execute', title: 'echo hi', rawInput: { command: 'echo hi' } }
const WRITE = { toolCallId: 'c2', kind: 'edit', title: '/f', rawInput: { path: '/f', diff: '+x' } }
const STRANGE = { toolCallId: 'c3', kind: 'other', title: 'shell' }

/** What is asked within this time is asked about together. */
const PARK_MS = 100

/** False while it is being written. */
function isCancelled(agent: Agent): boolean {
  try {
    return agent.stored().isCancelled === true
  } catch {
    return false
  }
}

function asking(...toolCalls: object[]): object[] {
  return [{ say: 'I need this. ' }, { 'ask for': toolCalls }, { stop: 'end_turn' }]
}

/** Everything but the last word of the turn is text. */
function asksOf(turn: Turn): WaitAsk[] {
  const [wait, ...more] = eventsOf(turn, 'wait')
  expect(more).toEqual([])
  expect(turn.events.at(-1)).toBe(wait)
  expect(turn.failure).toBeUndefined()
  return wait?.asks ?? []
}

function decided(decision: WaitAnswer['decision'], asks: WaitAsk[], text = ''): { answer: WaitAnswer } {
  // As it comes back from the disk.
  return { answer: { decision, text, asks: JSON.parse(JSON.stringify(asks)) } }
}

describe('what is allowed is answered at once, for this once', () => {
  test.each([
    ['all', ['all'], RUN],
    ['its kind', ['execute'], RUN],
    ['a tool of substrat of that kind', ['read_file', 'shell'], RUN],
    ['another tool of substrat of that kind', ['edit_file'], WRITE],
    ['its name', ['bash'], { ...RUN, name: 'bash' }],
  ])('%s', async (_, allow, toolCall) => {
    const turn = await new Agent().turn(asking(toolCall), { allow })
    expect(turn).toMatchObject({ reply: '[allow_once]', failure: undefined })
  })
})

describe('what is not allowed', () => {
  test('ends the turn in a wait, of which nothing runs any more', async () => {
    const agent = new Agent()
    const turn = await agent.turn(asking(RUN), {
      onEvent: ({ type }) => expect(agent.isRunning(), type).toBe(type !== 'wait'),
    })
    expect(asksOf(turn)).toEqual([{ call_id: 'c1', tool: 'execute', input: { command: 'echo hi' } }])
    expect(turn.text).toBe('I need this. ')
  })

  test('is not allowed by a title that is the name of an allowed tool', async () => {
    expect(asksOf(await new Agent().turn(asking(STRANGE), { allow: ['shell', 'edit'] }))).toEqual([
      { call_id: 'c3', tool: 'other', input: { title: 'shell' } },
    ])
  })

  test('is one wait for all that is asked at once, and what is allowed among it runs', async () => {
    const turn = await new Agent().turn(asking(WRITE, RUN, STRANGE), { allow: ['edit'] })
    expect(asksOf(turn).map(({ call_id }) => call_id)).toEqual(['c1', 'c3'])
  })

  test('has the name that the agent gave the tool, and the change that it would make', async () => {
    const toolCall = {
      ...WRITE,
      rawInput: {},
      content: [{ type: 'diff', path: '/f', oldText: 'a', newText: 'b' }],
    }
    const started = { sessionUpdate: 'tool_call', toolCallId: 'c2', title: 'write', kind: 'edit' }
    const turn = await new Agent().turn([{ update: started }, ...asking(toolCall)])
    expect(asksOf(turn)).toEqual([
      {
        call_id: 'c2',
        tool: 'write',
        input: { title: '/f', changes: [{ path: '/f', old: 'a', new: 'b' }] },
      },
    ])
  })

  test.each([
    ['says that the turn ended well', 'ends a cancelled turn well'],
    ['does not take notice of the cancel', 'is deaf to a cancel'],
  ])('is a wait also where the agent %s', async (_, habit) => {
    const agent = new Agent(habit)
    const hanging = [{ 'ask for': [RUN] }, { hang: 1 }]
    expect(asksOf(await agent.turn(hanging))).toHaveLength(1)
  })

  test('is not joined by what is asked after the cancel, which is not given either', async () => {
    const turn = await new Agent('is deaf to a cancel').turn([
      { 'ask for': [RUN] },
      { 'ask for': [WRITE] },
      { stop: 'end_turn' },
    ])
    expect(asksOf(turn).map(({ call_id }) => call_id)).toEqual(['c1'])
    expect(turn.text).toBe('[cancelled][cancelled]')
  })

  test('is no wait where the turn is stopped meanwhile', async () => {
    const timers = holdTimers(PARK_MS)
    const agent = new Agent('is deaf to a cancel')
    const controller = new AbortController()
    const running = agent.turn([{ 'ask for': [RUN] }, { hang: 1 }], { signal: controller.signal })
    await waitFor(() => timers.pending(PARK_MS) > 0, 'the request')
    timers.fire(PARK_MS)
    await waitFor(() => isCancelled(agent), 'the cancel')
    timers.release()
    controller.abort(new Error('stopped by the test'))
    const turn = await running
    expect(eventsOf(turn, 'wait')).toEqual([])
    expect(turn.failure?.message).toBe('stopped by the test')
  })
})

describe('a person', () => {
  test('approves: the agent is told to go on, and the same request is let through', async () => {
    const agent = new Agent()
    const asks = asksOf(await agent.turn(asking(RUN, WRITE)))
    const turn = await agent.turn('', decided('approve', asks, 'but quickly'))
    expect(turn.reply).toBe('[allow_once][allow_once]')
    const [told] = agent.stored().prompts.at(-1)
    expect(told).toMatch(/granted permission for this:\n- execute \{"command":"echo hi"\}\n- edit /)
    expect(told).toContain('The user says: but quickly')
  })

  test('has approved one call, and nothing else: another one, or it again, is asked about', async () => {
    const agent = new Agent()
    const asks = asksOf(await agent.turn(asking(RUN)))
    const session = agent.stored()
    // What the agent asks for when it goes on, in the place of what it was given.
    const other = [{ ...RUN, rawInput: { command: 'rm -rf /' } }]
    for (const asked of [other, [RUN, RUN]]) {
      agent.replace({ ...session, asked })
      const again = asksOf(await agent.turn('', decided('approve', asks)))
      expect(again.map(({ input }) => input)).toEqual([asked.at(-1)?.rawInput])
    }
  })

  test('approves a call whose input also names the request, as that of codex does', async () => {
    const request = (callId: string, startedAt: number): object => ({
      ...RUN,
      toolCallId: callId,
      rawInput: {
        call_id: callId,
        turn_id: `turn of ${callId}`,
        started_at_ms: startedAt,
        command: 'echo hi',
      },
    })
    const agent = new Agent()
    const asks = asksOf(await agent.turn(asking(request('c1', 1))))
    expect(asks).toEqual([{ call_id: 'c1', tool: 'execute', input: { command: 'echo hi' } }])
    agent.replace({ ...agent.stored(), asked: [request('again', 2)] })
    expect((await agent.turn('', decided('approve', asks))).reply).toBe('[allow_once]')
  })

  test('approves what is too long to be shown by its digest: another one with the same look is asked about', async () => {
    const long = (middle: string): object => ({
      ...WRITE,
      rawInput: { text: `${'a'.repeat(9000)}${middle}${'a'.repeat(9000)}` },
    })
    const agent = new Agent()
    const asks = asksOf(await agent.turn(asking(long('b'))))
    expect(JSON.stringify(asks).length).toBeLessThan(10_000)
    const session = agent.stored()
    expect((await agent.turn('', decided('approve', asks))).reply).toBe('[allow_once]')
    agent.replace({ ...session, asked: [long('c')] })
    expect(asksOf(await agent.turn('', decided('approve', asks)))).toHaveLength(1)
  })

  test('denies: the agent is told why, and the same request is rejected', async () => {
    const agent = new Agent()
    const asks = asksOf(await agent.turn(asking(RUN)))
    const turn = await agent.turn('', decided('deny', asks, 'too loud'))
    expect(turn.reply).toBe('[reject_once]')
    expect(agent.stored().prompts.at(-1)[0]).toMatch(/has denied permission .*too loud/s)
  })

  test('decides in time for what is allowed otherwise too', async () => {
    const agent = new Agent()
    const asks = asksOf(await agent.turn(asking(RUN, WRITE)))
    const turn = await agent.turn('', { ...decided('approve', asks.slice(0, 1)), allow: ['edit'] })
    expect(turn.reply).toBe('[allow_once][allow_once]')
  })

  test('may have any other word than yes or no', async () => {
    const agent = new Agent()
    const asks = asksOf(await agent.turn(asking(RUN)))
    expect((await agent.turn('', decided('input', asks, 'use printf'))).reply).toBe('echo: use printf')
  })
})
