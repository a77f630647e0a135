/** Permission requests of an agent, and the user's decisions, within one process and across processes. */
import { describe, expect, test } from 'vitest'
import type { WaitAnswer, WaitAsk } from '../../src/provider/contract.js'
import { holdTimers } from '../support/time.js'
import { waitFor } from '../support/wait.js'
import { Agent } from './acp/support.js'
import { eventsOf, type Turn } from './driven-agent.js'

const RUN = { toolCallId: 'c1', kind: 'execute', title: 'echo hi', rawInput: { command: 'echo hi' } }
const WRITE = { toolCallId: 'c2', kind: 'edit', title: '/f', rawInput: { path: '/f', diff: '+x' } }
const STRANGE = { toolCallId: 'c3', kind: 'other', title: 'shell' }

/** Requests within this time are one wait. */
const PARK_MS = 100

/** False while the file is being written. */
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

/** All events except the last are text. */
function asksOf(turn: Turn): WaitAsk[] {
  const [wait, ...more] = eventsOf(turn, 'wait')
  expect(more).toEqual([])
  expect(turn.events.at(-1)).toBe(wait)
  expect(turn.failure).toBeUndefined()
  return wait?.asks ?? []
}

function decided(decision: WaitAnswer['decision'], asks: WaitAsk[], text = ''): { answer: WaitAnswer } {
  // The decision as it is read back from disk.
  return { answer: { decision, text, asks: JSON.parse(JSON.stringify(asks)) } }
}

describe('a request is granted at once, for this call only, if --allow names', () => {
  test.each([
    ['all', ['all'], RUN],
    ['its kind', ['execute'], RUN],
    ['a substrat tool of that kind', ['read_file', 'shell'], RUN],
    ['another substrat tool of that kind', ['edit_file'], WRITE],
    ['its name', ['bash'], { ...RUN, name: 'bash' }],
  ])('%s', async (_, allow, toolCall) => {
    const turn = await new Agent().turn(asking(toolCall), { allow })
    expect(turn).toMatchObject({ reply: '[allow_once]', failure: undefined })
  })
})

describe('a request that is not allowed', () => {
  test('ends the turn in a wait, and no process is left', async () => {
    const agent = new Agent()
    const turn = await agent.turn(asking(RUN), {
      onEvent: ({ type }) => expect(agent.isRunning(), type).toBe(type !== 'wait'),
    })
    expect(asksOf(turn)).toEqual([{ call_id: 'c1', tool: 'execute', input: { command: 'echo hi' } }])
    expect(turn.text).toBe('I need this. ')
  })

  test('is not granted if only its title is the name of an allowed tool', async () => {
    expect(asksOf(await new Agent().turn(asking(STRANGE), { allow: ['shell', 'edit'] }))).toEqual([
      { call_id: 'c3', tool: 'other', input: { title: 'shell' } },
    ])
  })

  test('forms one wait with the others of the same moment, and allowed calls among them run', async () => {
    const turn = await new Agent().turn(asking(WRITE, RUN, STRANGE), { allow: ['edit'] })
    expect(asksOf(turn).map(({ call_id }) => call_id)).toEqual(['c1', 'c3'])
  })

  test("has the agent's name of the tool, and the change that it would make", async () => {
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
    ['reports a normal end of the turn', 'ends a cancelled turn well'],
    ['ignores the cancel', 'is deaf to a cancel'],
  ])('is a wait even if the agent %s', async (_, habit) => {
    const agent = new Agent(habit)
    const hanging = [{ 'ask for': [RUN] }, { hang: 1 }]
    expect(asksOf(await agent.turn(hanging))).toHaveLength(1)
  })

  test('does not include requests after the cancel, which are refused', async () => {
    const turn = await new Agent('is deaf to a cancel').turn([
      { 'ask for': [RUN] },
      { 'ask for': [WRITE] },
      { stop: 'end_turn' },
    ])
    expect(asksOf(turn).map(({ call_id }) => call_id)).toEqual(['c1'])
    expect(turn.text).toBe('[cancelled][cancelled]')
  })

  test('is not a wait if the turn is stopped meanwhile', async () => {
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

describe('the user', () => {
  test('approves: the agent learns of it, and the same request is granted', async () => {
    const agent = new Agent()
    const asks = asksOf(await agent.turn(asking(RUN, WRITE)))
    const turn = await agent.turn('', decided('approve', asks, 'but quickly'))
    expect(turn.reply).toBe('[allow_once][allow_once]')
    const [told] = agent.stored().prompts.at(-1)
    expect(told).toMatch(/granted permission for this:\n- execute \{"command":"echo hi"\}\n- edit /)
    expect(told).toContain('The user says: but quickly')
  })

  test('approves one call only: another call, or a repetition, is asked about', async () => {
    const agent = new Agent()
    const asks = asksOf(await agent.turn(asking(RUN)))
    const session = agent.stored()
    // Requests of the continued turn, instead of the approved one.
    const other = [{ ...RUN, rawInput: { command: 'rm -rf /' } }]
    for (const asked of [other, [RUN, RUN]]) {
      agent.replace({ ...session, asked })
      const again = asksOf(await agent.turn('', decided('approve', asks)))
      expect(again.map(({ input }) => input)).toEqual([asked.at(-1)?.rawInput])
    }
  })

  test('approves a call whose input contains the request id, as with codex', async () => {
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

  test('approves a long input by its digest: another input that looks the same is asked about', async () => {
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

  test('denies: the agent learns the reason, and the same request is rejected', async () => {
    const agent = new Agent()
    const asks = asksOf(await agent.turn(asking(RUN)))
    const turn = await agent.turn('', decided('deny', asks, 'too loud'))
    expect(turn.reply).toBe('[reject_once]')
    expect(agent.stored().prompts.at(-1)[0]).toMatch(/has denied permission .*too loud/s)
  })

  test('approves one call while --allow now names the other', async () => {
    const agent = new Agent()
    const asks = asksOf(await agent.turn(asking(RUN, WRITE)))
    const turn = await agent.turn('', { ...decided('approve', asks.slice(0, 1)), allow: ['edit'] })
    expect(turn.reply).toBe('[allow_once][allow_once]')
  })

  test('can answer with a text', async () => {
    const agent = new Agent()
    const asks = asksOf(await agent.turn(asking(RUN)))
    expect((await agent.turn('', decided('input', asks, 'use printf'))).reply).toBe('echo: use printf')
  })
})
