import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { bootId } from '../../../src/host/identity.js'
import type { ModelEvent, ModelMessage, ModelProvider, ModelRequest } from '../../../src/provider/contract.js'
import { providerFailure } from '../../../src/provider/failure.js'
import type { Session } from '../../../src/session/session.js'
import type { Run } from '../../../src/session/state.js'
import { conversation, responsesBefore } from '../../../src/turn/prompt/history.js'
import { appendTurn, beginning, newSession, reopen } from '../../support/sessions.js'
import { tempStore } from '../../support/temp.js'
import { kindsOf, model, runTurn, says } from '../../support/turns.js'

const END: ModelEvent = { type: 'stop', reason: 'end' }
const LONG = 'x'.repeat(3000)
let session: Session

beforeEach(async () => {
  session = await newSession(tempStore())
})

const answer = (text: string): AsyncIterable<ModelEvent> => says({ type: 'text', text }, END)

interface Asked {
  /** Requests of the conversation, in order. */
  histories: ModelMessage[][]
  /** Requests for summaries. */
  summaries: ModelRequest[]
}

/** A model whose context holds that many characters. */
function narrow(
  charactersMax: number,
  summarise: () => AsyncIterable<ModelEvent> = () => answer('the gist'),
): {
  provider: ModelProvider
  asked: Asked
} {
  const asked: Asked = { histories: [], summaries: [] }
  const provider = model((request) => {
    if (request.prompt.startsWith('Summarise')) {
      asked.summaries.push(request)
      return summarise()
    }
    const messages = request.messages()
    asked.histories.push(messages)
    if (JSON.stringify(messages).length > charactersMax) throw providerFailure('overflow', 'too long')
    return answer('done')
  })
  return { provider, asked }
}

test('a conversation that is too long is summarised once, and sent again', async () => {
  for (const n of [1, 2, 3, 4]) appendTurn(session, `question ${n}`, LONG)
  const { provider, asked } = narrow(8000)
  const run = await runTurn(session, provider, { prompt: 'and now?' })
  expect(run.status).toBe('completed')
  expect(asked.summaries).toHaveLength(1)
  expect(asked.summaries[0]).toMatchObject({ tools: [], instructions: null })
  expect(asked.summaries[0]?.prompt).toContain('question 1')
  expect(asked.histories).toHaveLength(2)
  const [first, ...rest] = asked.histories[1] as ModelMessage[]
  expect(first).toEqual({
    role: 'user',
    content: '[substrat] Summary of the conversation so far:\n\nthe gist',
  })
  expect(rest.at(-1)).toEqual({ role: 'user', content: 'and now?' })
  expect(JSON.stringify(rest)).not.toContain('question 1')
  // The latest third stays word for word.
  expect(rest).toEqual(asked.histories[0]?.slice(-rest.length))
  expect(kindsOf(session).filter((kind) => kind === 'context.compacted')).toHaveLength(1)
})

test('the log still has everything, and the next process sends the summary', async () => {
  for (const n of [1, 2, 3]) appendTurn(session, `question ${n}`, LONG)
  await runTurn(session, narrow(6000).provider, { prompt: 'and now?' })
  const given = conversation(session)
  expect(JSON.stringify([...session.records({ seq: 1, offset: 0 })])).toContain('question 1')
  await session.close(() => false)
  session = await reopen(session.store, session.id)
  expect(conversation(session)).toEqual(given)
  expect(given[0]?.content).toContain('the gist')
})

test('the messages of a fork are summarised together, without their items, and their responses count', async () => {
  const seeded: ModelMessage[] = [1, 2, 3].flatMap((n) => [
    { role: 'user', content: `question ${n}` },
    { role: 'assistant', content: LONG, tool_calls: [], items: [{ reasoning: `because ${n}` }] },
  ])
  session.append([
    {
      kind: 'session.seeded',
      from: session.id,
      content: 'as text',
      conversation: JSON.stringify(seeded),
      responses: 4,
    },
  ])
  const { provider, asked } = narrow(8000)
  expect((await runTurn(session, provider, { prompt: 'and now?' })).status).toBe('completed')
  expect(asked.histories[0]).toEqual([...seeded, { role: 'user', content: 'and now?' }])
  expect(asked.summaries[0]?.prompt).toContain('question 3')
  expect(asked.histories[1]).toEqual([
    { role: 'user', content: expect.stringContaining('the gist') },
    { role: 'user', content: 'and now?' },
  ])
  expect(responsesBefore(session)).toBe(4 + 3)
})

/** A turn with the prompt `prompt`, a response with two calls, and their results. */
async function turnWithCalls(prompt: string, rounds: number, size: number): Promise<void> {
  let round = 0
  await runTurn(
    session,
    model(() => {
      round += 1
      if (round > rounds) return answer('read')
      const call = (id: string): ModelEvent => ({
        type: 'tool_call',
        call: { call_id: `${id}${round}`, name: 'read_file', input: { path: `${'p'.repeat(size)}${id}` } },
      })
      return says(call('a'), call('b'), { type: 'stop', reason: 'tool_calls' })
    }),
    { prompt },
  )
}

test('calls are never separated from their results', async () => {
  for (const size of [10, 500, 2000]) {
    await turnWithCalls(`look ${size}`, 5, size)
    const { provider, asked } = narrow(JSON.stringify(conversation(session)).length - 100)
    await runTurn(session, provider, { prompt: 'and now?' })
    for (const messages of asked.histories) expectWhole(messages)
  }
  expect(kindsOf(session)).toContain('context.compacted')
})

test('a turn that is too long again after another response is compacted again', async () => {
  let calls = 0
  const provider = model((request) => {
    if (request.prompt.startsWith('Summarise')) return answer('the gist')
    const messages = request.messages()
    expectWhole(messages)
    if (JSON.stringify(messages).length > 5 * LONG.length) throw providerFailure('overflow', 'too long')
    calls += 1
    if (calls > 12) return answer('done')
    const call = { call_id: `c${calls}`, name: 'read_file', input: { path: LONG } }
    return says({ type: 'tool_call', call }, { type: 'stop', reason: 'tool_calls' })
  })
  const run = await runTurn(session, provider, { prompt: 'go' })
  expect(run.status).toBe('completed')
  expect(kindsOf(session).filter((kind) => kind === 'context.compacted').length).toBeGreaterThan(1)
  expect(conversation(session)[0]?.content).toMatch(/Your current task, word for word:\n\ngo$/)
})

test('a turn is compacted at most once without a later response with calls', async () => {
  for (const n of [1, 2, 3]) appendTurn(session, `question ${n}`, LONG)
  const run_id = randomUUID()
  session.append([...beginning(session, run_id, 'and now?'), { kind: 'model.requested', run_id }])
  // As earlier versions wrote it: before the request that it is for.
  const { seq: keeps_seq, offset: keeps_offset } = (session.state.run as Run).start
  const how = { content: 'the gist', how: 'summary', messages: 6, responses: 3 } as const
  session.append([{ kind: 'context.compacted', run_id, ...how, keeps_seq, keeps_offset }])
  const { provider, asked } = narrow(0)
  const go_on = { type: 'go_on', provider: 'model', boot_id: bootId(), auto: true, notice: null } as const
  const run = await runTurn(session, provider, { first: { ...go_on, sources: [] } })
  expect(run).toMatchObject({ status: 'failed', error: { type: 'overflow' } })
  expect([asked.histories.length, asked.summaries.length]).toEqual([1, 0])
})

test.each(['overflow', 'invalid'] as const)(
  'a service that refuses the results of each response (%s) ends the turn, so that its calls do not run for ever',
  async (type) => {
    for (const n of [1, 2, 3]) appendTurn(session, `question ${n}`, `answer ${n}`)
    let calls = 0
    const provider = model((request) => {
      if (request.prompt.startsWith('Summarise')) return answer('the gist')
      if (request.messages().some(({ role }) => role === 'tool')) throw providerFailure(type, 'no such words')
      calls += 1
      const call = { call_id: `c${calls}`, name: 'read_file', input: { path: LONG } }
      return says({ type: 'tool_call', call }, { type: 'stop', reason: 'tool_calls' })
    })
    const run = await runTurn(session, provider, { prompt: 'go' })
    expect(run).toMatchObject({ status: 'failed', error: { type } })
    expect(run.error?.message).toContain('were refused and left out 3 times in a row')
    expect(calls).toBe(4)
  },
)

describe('the prompt of the turn stays word for word', () => {
  test('even if its message was left out', async () => {
    let asked = 0
    const given: ModelMessage[][] = []
    const provider = model((request) => {
      if (request.prompt.startsWith('Summarise')) return answer('only a gist')
      asked += 1
      given.push(request.messages())
      if (asked === 5) throw providerFailure('overflow', 'too long')
      if (asked > 5) return answer('done')
      const call = { call_id: `c${asked}`, name: 'read_file', input: { path: LONG } }
      return says({ type: 'tool_call', call }, { type: 'stop', reason: 'tool_calls' })
    })
    const run = await runTurn(session, provider, { prompt: 'rename every foo to bar' })
    expect(run.status).toBe('completed')
    expect(given[5]?.[0]?.content).toContain('only a gist')
    expect(given[5]?.[0]?.content).toMatch(/Your current task, word for word:\n\nrename every foo to bar$/)
    expect(JSON.stringify(given[5]?.slice(1))).not.toContain('rename every foo')
  })

  test('and is not repeated if its message stays', async () => {
    for (const n of [1, 2, 3]) appendTurn(session, `question ${n}`, LONG)
    const { provider, asked } = narrow(6000)
    await runTurn(session, provider, { prompt: 'and now?' })
    expect(JSON.stringify(asked.histories[1]).split('and now?')).toHaveLength(2)
  })
})

describe('the shortest conversation', () => {
  const TASK = 'Your current task, word for word:'

  /** A conversation with a summary that quotes an earlier task, and an exchange after it. */
  function summarisedBefore(): void {
    const run_id = appendTurn(session, 'question 1', LONG)
    const { last_seq: keeps_seq, last_offset: keeps_offset } = session.state
    const content = `the old gist\n\n${TASK}\n\nname every foo`
    const compacted = { content, how: 'summary', messages: 2, responses: 1, keeps_seq, keeps_offset } as const
    session.append([{ kind: 'context.compacted', run_id, ...compacted }])
    appendTurn(session, 'question 2', 'answer 2')
  }

  /** The conversation of the second shorter request. Before it, the model calls a tool, then refuses every conversation. */
  async function secondTrial(summarise: () => AsyncIterable<ModelEvent>): Promise<ModelMessage[]> {
    const given: ModelMessage[][] = []
    const provider = model((request) => {
      if (request.prompt.startsWith('Summarise')) return summarise()
      given.push(request.messages())
      if (given.length === 4) return answer('done')
      if (given.length > 1) throw providerFailure('invalid', 'wrong')
      const call = { call_id: 'c1', name: 'read_file', input: { path: LONG } }
      return says({ type: 'tool_call', call }, { type: 'stop', reason: 'tool_calls' })
    })
    expect(await runTurn(session, provider, { prompt: 'sort every bar' })).toMatchObject({
      status: 'completed',
    })
    const record = [...session.records({ seq: 1, offset: 0 })].findLast(
      ({ kind }) => kind === 'context.compacted',
    )
    expect(record).toMatchObject({ how: 'dropped' })
    return given[3] as ModelMessage[]
  }

  test('has the current prompt, also if the summary before it quotes another task', async () => {
    summarisedBefore()
    const [first, ...rest] = await secondTrial(() => {
      throw providerFailure('invalid', 'wrong')
    })
    expect(rest).toEqual([])
    expect(first?.content).toMatch(/the old gist\n\nAn earlier task, word for word:\n\nname every foo\n/)
    expect(first?.content).toContain('The 5 messages after this summary were left out')
    expect(first?.content.split(TASK)).toEqual([expect.any(String), '\n\nsort every bar'])
  })

  test('says what is left out after the summary that was made for it, and has the prompt once', async () => {
    for (const n of [1, 2]) appendTurn(session, `question ${n}`, 'short')
    const [first, ...rest] = await secondTrial(() => answer('the gist'))
    expect(rest).toEqual([])
    expect(first?.content).toContain('The 2 messages after this summary were left out')
    expect(first?.content.split(TASK)).toEqual([expect.any(String), '\n\nsort every bar'])
  })

  test('is not sent if it is what was just refused', async () => {
    appendTurn(session, 'question 1', LONG)
    const { provider, asked } = narrow(10)
    expect(await runTurn(session, provider, { prompt: 'x'.repeat(2000) })).toMatchObject({
      status: 'failed',
      error: { type: 'overflow', message: 'too long, and it could not be made shorter' },
    })
    expect(asked.histories.map((messages) => messages.length)).toEqual([3, 2])
  })
})

describe('a conversation that cannot be made shorter', () => {
  async function failsWhole(provider: ModelProvider): Promise<void> {
    const run = await runTurn(session, provider, { prompt: 'and now?' })
    expect(run).toMatchObject({ status: 'failed', error: { type: 'overflow' } })
    expect(session.state.state).toBe('suspended')
  }

  test('because it is one message fails the run without a summary', async () => {
    const { provider, asked } = narrow(10)
    await failsWhole(provider)
    expect(asked.summaries).toEqual([])
  })

  test('because it is too long again fails the run after two shorter ones, and stays complete', async () => {
    for (const n of [1, 2, 3]) appendTurn(session, `question ${n}`, LONG)
    const { provider, asked } = narrow(10)
    await failsWhole(provider)
    expect(asked.summaries).toHaveLength(1)
    expect(asked.histories).toHaveLength(3)
    expect(kindsOf(session).filter((kind) => kind.startsWith('context.'))).toEqual([
      'context.tried',
      'context.tried',
    ])
    expect(conversation(session)).toHaveLength(7)
    expect(session.state.run?.error?.message).toBe('too long (2 shorter conversations were refused too)')
  })
})

describe.each<[string, () => AsyncIterable<ModelEvent>]>([
  ['is empty', () => answer(' \n')],
  ...(['overflow', 'invalid', 'refused'] as const).map((type): [string, () => AsyncIterable<ModelEvent>] => [
    `fails as ${type}`,
    () => {
      throw providerFailure(type, 'poison')
    },
  ]),
])('a summary that %s', (_, summarise) => {
  test('is replaced by a notice, without another request for one', async () => {
    for (const n of [1, 2, 3]) appendTurn(session, `question ${n}`, LONG)
    const { provider, asked } = narrow(6000, summarise)
    expect(await runTurn(session, provider, { prompt: 'and now?' })).toMatchObject({ status: 'completed' })
    expect(asked.summaries).toHaveLength(1)
    expect(conversation(session)[0]?.content).toMatch(/^\[substrat\] The first \d messages .* were left out/)
  })
})

describe('a conversation that is refused as invalid', () => {
  /** A server that refuses a word, wherever it is. */
  function refusing(
    word: string,
    type: 'invalid' | 'overflow' = 'invalid',
  ): { provider: ModelProvider; asked: string[] } {
    const asked: string[] = []
    const provider = model((request) => {
      const sent = JSON.stringify(request.messages())
      asked.push(sent)
      if (sent.includes(word)) throw providerFailure(type, 'Something about it is wrong.')
      return answer('fine')
    })
    return { provider, asked }
  }

  test('is compacted once, for a refusal in any words, if it was answered before', async () => {
    await runTurn(session, refusing('none').provider, { prompt: 'poison' })
    await runTurn(session, refusing('none').provider, { prompt: 'a later question' })
    const { provider, asked } = refusing('poison')
    const run = await runTurn(session, provider, { prompt: 'and now?' })
    expect(run).toMatchObject({ status: 'completed' })
    // The whole conversation, the summary, and the shorter one.
    expect(asked).toHaveLength(3)
    expect(conversation(session)[0]?.content).toMatch(/^\[substrat\]/)
    expect(JSON.stringify(conversation(session))).not.toContain('poison')
    expect(kindsOf(session).filter((kind) => kind.startsWith('context.'))).toEqual([
      'context.tried',
      'context.compacted',
    ])
  })

  test('is compacted also if it was answered only in a turn whose beginning is left out', async () => {
    let requests = 0
    const first = model((request) => {
      if (request.prompt.startsWith('Summarise')) return answer('the gist')
      requests += 1
      if (requests === 5) throw providerFailure('overflow', 'too long')
      if (requests > 6) return answer('poison')
      const call = { call_id: `c${requests}`, name: 'read_file', input: { path: LONG } }
      return says({ type: 'tool_call', call }, { type: 'stop', reason: 'tool_calls' })
    })
    expect(await runTurn(session, first, { prompt: 'look' })).toMatchObject({ status: 'completed' })
    expect(session.state.context_seq).toBeGreaterThan(session.state.run?.start.seq as number)
    const { provider } = refusing('poison')
    expect(await runTurn(session, provider, { prompt: 'and now?' })).toMatchObject({ status: 'completed' })
  })

  test('fails if it was never answered, or only by another model', async () => {
    appendTurn(session, 'poison', 'x')
    session.append([{ kind: 'session.configured', model: 'another' }])
    const { provider, asked } = refusing('poison')
    expect(await runTurn(session, provider, { prompt: 'and now?' })).toMatchObject({ status: 'failed' })
    expect(asked).toHaveLength(1)
  })

  test('is not said to be too long if the request for its summary fails', async () => {
    for (const prompt of ['poison', 'fine']) await runTurn(session, refusing('none').provider, { prompt })
    const provider = model((request) => {
      if (request.prompt.startsWith('Summarise')) throw providerFailure('authentication', 'no key')
      throw providerFailure('invalid', 'Something about it is wrong.')
    })
    const { error } = await runTurn(session, provider, { prompt: 'and now?' })
    expect(error).toMatchObject({
      type: 'authentication',
      message: expect.stringContaining('which was refused;'),
    })
  })

  test('keeps only the prompt if the latest exchanges are refused too', async () => {
    await runTurn(session, refusing('none').provider, { prompt: 'fine so far' })
    await runTurn(session, refusing('none').provider, { prompt: 'poison' })
    const { provider, asked } = refusing('poison')
    expect(await runTurn(session, provider, { prompt: 'and now?' })).toMatchObject({ status: 'completed' })
    expect(JSON.parse(asked.at(-1) as string)).toHaveLength(2)
    expect(conversation(session).at(-2)).toMatchObject({ role: 'user', content: 'and now?' })
  })

  test('stays whole if the shorter ones are refused too', async () => {
    for (const n of [1, 2]) await runTurn(session, refusing('none').provider, { prompt: `question ${n}` })
    const before = conversation(session).length
    const { provider, asked } = refusing('poison')
    const run = await runTurn(session, provider, { prompt: 'poison itself' })
    expect(run).toMatchObject({ status: 'failed', error: { type: 'invalid' } })
    expect(asked.length).toBeLessThanOrEqual(4)
    expect(conversation(session)).toHaveLength(before + 1)
    expect(kindsOf(session)).not.toContain('context.compacted')
    expect(await runTurn(session, refusing('poison').provider, { prompt: 'clean' })).toMatchObject({
      status: 'completed',
    })
  })
})

describe('a request for a summary', () => {
  beforeEach(() => {
    for (const n of [1, 2, 3]) appendTurn(session, `question ${n}`, LONG)
  })

  test('is retried like any request, without another request of the conversation', async () => {
    let failures = 0
    const { provider, asked } = narrow(6000, () => {
      failures += 1
      if (failures <= 3) throw providerFailure('rate_limit', 'slow down')
      return answer('the gist')
    })
    expect((await runTurn(session, provider, { prompt: 'and now?' })).status).toBe('completed')
    expect(asked.summaries).toHaveLength(4)
    // One that was too long, and the shorter one.
    expect(asked.histories).toHaveLength(2)
    expect(kindsOf(session).filter((kind) => kind === 'model.failed')).toHaveLength(4)
  })

  test('that fails after its last retry ends the turn under its own cause', async () => {
    const { provider, asked } = narrow(6000, () => {
      throw providerFailure('overloaded', 'busy')
    })
    const run = await runTurn(session, provider, { prompt: 'and now?' })
    expect(run).toMatchObject({ status: 'failed', error: { type: 'overloaded' } })
    expect(run.error?.message).toMatch(
      /^busy \(request for a summary of the conversation, which is too long; without a summary: substrat compact \S+ --drop\)$/,
    )
    expect(asked.summaries).toHaveLength(4)
    expect(conversation(session)).toHaveLength(7)
  })

  test('that is limited for a long time parks the turn until then', async () => {
    const limited = (): never => {
      const failure = { type: 'rate_limit', retry_after_ms: 3_600_000 }
      throw Object.assign(new Error('slow down'), { failure })
    }
    const run = await runTurn(session, narrow(6000, limited).provider, { prompt: 'and now?' })
    expect(run).toMatchObject({ status: 'open', wait: { kind: 'not_before' } })
  })
})

describe('a model that cannot summarise', () => {
  const dropping = (charactersMax: number): ReturnType<typeof narrow> => {
    const made = narrow(charactersMax)
    return { ...made, provider: { ...made.provider, summarises: false } }
  }

  test('receives a notice in place of the beginning, and no request for a summary', async () => {
    for (const n of [1, 2, 3, 4]) appendTurn(session, `question ${n}`, LONG)
    const { provider, asked } = dropping(8000)
    expect((await runTurn(session, provider, { prompt: 'and now?' })).status).toBe('completed')
    expect(asked.summaries).toEqual([])
    const [first, ...rest] = asked.histories[1] as ModelMessage[]
    expect(first?.content).toBe(
      `[substrat] The first ${9 - rest.length} messages of this conversation were left out, because it became too long or was refused.`,
    )
  })

  test('receives the number of all messages left out, earlier compactions included', async () => {
    for (const n of [1, 2, 3, 4]) appendTurn(session, `question ${n}`, LONG)
    await runTurn(session, dropping(8000).provider, { prompt: 'and now?' })
    for (const n of [5, 6, 7]) appendTurn(session, `question ${n}`, LONG)
    const all = [...session.records({ seq: 1, offset: 0 })].filter(({ kind }) =>
      /^message\.(user|agent)$/.test(kind),
    )
    const { provider, asked } = dropping(8000)
    await runTurn(session, provider, { prompt: 'and then?' })
    const [first, ...rest] = asked.histories[1] as ModelMessage[]
    expect(first?.content).toContain(`The first ${all.length + 1 - rest.length} messages`)
  })

  test('still receives the number of its earlier responses, so that a scenario continues at its place', async () => {
    for (const n of [1, 2, 3, 4]) appendTurn(session, `question ${n}`, LONG)
    const places: number[] = []
    let isFirst = true
    const provider: ModelProvider = {
      ...model((request) => {
        const given = request.messages().filter(({ role }) => role === 'assistant').length
        places.push(request.responses_before + given)
        if (!isFirst) return answer('done')
        isFirst = false
        throw providerFailure('overflow', 'too long')
      }),
      summarises: false,
    }
    await runTurn(session, provider)
    expect(places).toEqual([4, 4])
  })
})

function expectWhole(messages: ModelMessage[]): void {
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'assistant') continue
    const results = messages.slice(index + 1, index + 1 + message.tool_calls.length)
    expect(results.map((result) => (result.role === 'tool' ? result.call_id : result.role))).toEqual(
      message.tool_calls.map(({ call_id }) => call_id),
    )
  }
}

test('the items of a message that is left out are dropped with it', async () => {
  const items = (round: number): ModelEvent => ({ type: 'item', item: { reasoning: `thought ${round}` } })
  for (const round of [1, 2, 3])
    await runTurn(
      session,
      model(() => says(items(round), { type: 'text', text: LONG }, { type: 'stop', reason: 'end' })),
    )
  const { provider, asked } = narrow(6000)
  await runTurn(session, provider, { prompt: 'and now?' })
  const [whole, compacted] = [asked.histories[0], asked.histories.at(-1)].map((history) =>
    JSON.stringify(history),
  )
  expect(whole).toContain('thought 1')
  expect(compacted).toContain('the gist')
  expect(compacted).not.toContain('thought 1')
  expect(compacted).toContain('thought 3')
})
