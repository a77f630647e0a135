import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { bootId } from '../../../src/host/identity.js'
import type { ModelMessage } from '../../../src/provider/contract.js'
import { messageOptions } from '../../../src/schema/message.js'
import type { NewRecord } from '../../../src/session/records.js'
import type { Session } from '../../../src/session/session.js'
import { contextOfTurn } from '../../../src/turn/prompt/context.js'
import { conversation, responsesBefore } from '../../../src/turn/prompt/history.js'
import { completedRecord, runStarted } from '../../../src/turn/step/records.js'
import { newSession, replied, startedRun } from '../../support/sessions.js'
import { tempStore } from '../../support/temp.js'

let session: Session

beforeEach(async () => {
  session = await newSession(tempStore())
})

function choose(context: string): void {
  session.append([{ kind: 'session.configured', context }])
}

/** As dispatch begins a turn. */
function begin(content: string): string {
  const run_id: string = randomUUID()
  const request = { ...messageOptions(), ...contextOfTurn(session), run_id, boot_id: bootId(), sources: [] }
  const prompt = { origin: 'operator' as const, content }
  session.append([...runStarted(session.state, { ...request, prompt }), { kind: 'model.requested', run_id }])
  return run_id
}

function answer(run_id: string, content: string): void {
  session.append([
    replied(run_id, content),
    { kind: 'model.responded', run_id, stop: 'end' },
    completedRecord(run_id, null),
    { kind: 'session.suspended', reason: 'idle' },
  ])
}

function turn(content: string): void {
  answer(begin(content), `re ${content}`)
}

function callTool(run_id: string): void {
  session.append([
    replied(run_id, 'looking'),
    {
      kind: 'model.responded',
      run_id,
      stop: 'tool_calls',
      calls: [{ call_id: `call ${run_id}`, name: 'shell', input: { command: 'ls' } }],
    },
  ])
}

function compactTo(): void {
  const { last_seq, last_offset, run } = session.state
  session.append([
    {
      kind: 'context.compacted',
      run_id: run?.run_id as string,
      content: 'a summary',
      how: 'summary',
      keeps_seq: last_seq,
      keeps_offset: last_offset,
      messages: 2,
      responses: 1,
    },
  ])
}

function contents(): string[] {
  return conversation(session).map(({ content }) => content)
}

describe('a turn of an agent whose context is', () => {
  test('turn begins without any earlier message or summary, and the turn after it too', () => {
    turn('one')
    compactTo()
    choose('turn')
    turn('two')
    expect(contents()).toEqual(['two', 're two'])
    begin('three')
    expect(contents()).toEqual(['three'])
    expect(responsesBefore(session)).toBe(0)
  })

  test('last:2 has the two turns before it', () => {
    choose('last:2')
    for (const each of ['one', 'two', 'three']) turn(each)
    begin('four')
    expect(contents()).toEqual(['two', 're two', 'three', 're three', 'four'])
  })

  test('all has everything since the latest cut, which stays in force', () => {
    turn('one')
    choose('turn')
    turn('two')
    choose('all')
    expect(session.state.context).toBeUndefined()
    turn('three')
    begin('four')
    expect(contents()).toEqual(['two', 're two', 'three', 're three', 'four'])
  })

  test('last:2 keeps a summary until two turns have begun after it', () => {
    turn('one')
    turn('two')
    compactTo()
    choose('last:2')
    turn('three')
    turn('four')
    expect(contents()[0]).toBe('a summary')
    begin('five')
    expect(contents()).toEqual(['three', 're three', 'four', 're four', 'five'])
    expect(session.state.compaction).toBeNull()
  })

  test('last:2 counts the conversation that a fork has copied as one turn', () => {
    session.append([{ kind: 'session.seeded', from: randomUUID(), content: 'User: before' }])
    choose('last:2')
    turn('one')
    begin('two')
    expect(contents()).toEqual(['User: before', 'one', 're one', 'two'])
    expect(session.state.seed).not.toBeNull()
    answer(session.state.run?.run_id as string, 're two')
    begin('three')
    expect(contents()).toEqual(['one', 're one', 'two', 're two', 'three'])
    expect(session.state).toMatchObject({ seed: null, isSeedDue: false })
  })

  test('turn or last:1 leaves no result without its call, although the turn before has an open call', () => {
    choose('turn')
    turn('one')
    callTool(begin('two'))
    const run_id = session.state.run?.run_id as string
    session.append([{ kind: 'run.interrupted', run_id, reason: 'process_exit' }])
    begin('three')
    session.append([resultOf(session.state.run?.run_id as string, `call ${run_id}`)])
    expect(conversation(session)).toEqual([{ role: 'user', content: 'three' }])
  })
})

test('a run that continues a turn has the conversation with which the turn began, also if the setting has changed', () => {
  choose('last:1')
  for (const each of ['one', 'two']) turn(each)
  const run_id = begin('three')
  const asked = contents()
  session.append([{ kind: 'run.interrupted', run_id, reason: 'process_exit' }])
  for (const context of ['turn', 'last:2', 'all', 'last:1']) {
    choose(context)
    const continued = {
      origin: 'continuation' as const,
      continues: session.state.run?.run_id as string,
      auto: false,
    }
    const again: string = randomUUID()
    session.append([{ ...startedRun(again), ...continued }])
    expect(contents(), context).toEqual(asked)
    session.append([{ kind: 'run.interrupted', run_id: again, reason: 'process_exit' }])
  }
})

function resultOf(run_id: string, call_id: string): NewRecord {
  return { kind: 'tool.finished', run_id, call_id, tool: 'shell', content: 'ok', is_error: false }
}

const ACTS = [
  'turn',
  'tools',
  'open call',
  'continue',
  'fail',
  'refuse',
  'compact',
  'all',
  'turns',
  'last:1',
  'last:3',
] as const

test('after any history, each call in the conversation has its result, and last:N has the prompts of N turns more', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...ACTS), { maxLength: 25 }), async (acts) => {
      session = await newSession(tempStore())
      let prompts = 0
      for (const act of acts) prompts = perform(act, prompts)
      const context = session.state.context ?? 'all'
      begin(`prompt ${prompts}`)
      const messages = conversation(session)
      expectWhole(messages)
      const said = messages.flatMap(({ role, content }) =>
        role === 'user' && content.startsWith('prompt ') ? [Number(content.slice(7))] : [],
      )
      const most = context === 'all' ? prompts + 1 : context === 'turn' ? 1 : Number(context.slice(5)) + 1
      expect(said.length).toBeLessThanOrEqual(most)
      expect(said.at(-1)).toBe(prompts)
      expect(said).toEqual(said.toSorted((a, b) => a - b))
    }),
    { numRuns: 60 },
  )
})

function perform(act: (typeof ACTS)[number], prompts: number): number {
  const { run } = session.state
  if (act === 'turns' || act === 'all' || act.startsWith('last')) choose(act === 'turns' ? 'turn' : act)
  else if (act === 'continue') {
    if (run?.status !== 'interrupted') return prompts
    const again: string = randomUUID()
    session.append([
      { ...startedRun(again), origin: 'continuation', continues: run.run_id, auto: false },
      ...run.calls
        .filter(({ status }) => status !== 'finished')
        .map(({ call_id }) => resultOf(again, call_id)),
      { kind: 'model.requested', run_id: again },
    ])
    answer(again, 'continued')
  } else if (act === 'compact') {
    if (run !== null) compactTo()
  } else {
    const run_id = begin(`prompt ${prompts}`)
    if (act === 'tools') {
      callTool(run_id)
      session.append([resultOf(run_id, `call ${run_id}`), { kind: 'model.requested', run_id }])
    }
    if (act === 'turn' || act === 'tools') answer(run_id, 'done')
    else if (act === 'open call') {
      callTool(run_id)
      session.append([{ kind: 'run.interrupted', run_id, reason: 'process_exit' }])
    } else {
      const type = act === 'fail' ? ('invalid_response' as const) : ('refused' as const)
      session.append([{ kind: 'run.failed', run_id, error: { type, message: 'no' } }])
    }
    return prompts + 1
  }
  return prompts
}

/** Each call has exactly one result, right after its message, and no result is there without its call. */
function expectWhole(messages: ModelMessage[]): void {
  let open: string[] = []
  for (const message of messages) {
    if (message.role === 'tool') {
      expect(open[0]).toBe(message.call_id)
      open = open.slice(1)
    } else {
      expect(open).toEqual([])
      if (message.role === 'assistant') open = (message.tool_calls ?? []).map(({ call_id }) => call_id)
    }
  }
  expect(open).toEqual([])
}
