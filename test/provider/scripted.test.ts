import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { ModelEvent, ModelMessage, ModelRequest, ToolCall } from '../../src/provider/contract.js'
import { describeFailure } from '../../src/provider/failure.js'
import { scripted } from '../../src/provider/scripted.js'
import { PROVIDER_FAILURE_TYPES } from '../../src/schema/words.js'
import { tempDirectory } from '../support/temp.js'

let directory: string

beforeEach(() => {
  directory = tempDirectory()
})

function scenario(content: unknown, name = 'scenario.json'): string {
  writeFileSync(join(directory, name), typeof content === 'string' ? content : JSON.stringify(content))
  return name
}

/** The request after a number of answers. */
function request(over: Partial<ModelRequest> & { answers?: number; scenario?: string } = {}): ModelRequest {
  const history: ModelMessage[] = Array.from({ length: over.answers ?? 0 }).flatMap(() => [
    { role: 'user', content: 'earlier' },
    { role: 'assistant', content: 'answer', tool_calls: [] },
  ])
  return {
    workspace: directory,
    model: null,
    instructions: null,
    options: over.scenario === undefined ? {} : { scenario: over.scenario },
    prompt: 'hi there',
    messages: () => [...history, { role: 'user', content: 'hi there' }],
    attempt: 1,
    responses_before: 0,
    tools: [],
    ...over,
  }
}

async function answerEvents(
  asked: ModelRequest,
  signal = new AbortController().signal,
): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const event of scripted.complete(asked, { signal })) events.push(event)
  return events
}

async function answer(asked: ModelRequest, signal?: AbortSignal): Promise<string> {
  const events = await answerEvents(asked, signal)
  expect(events.map(({ type }) => type)).toEqual(['text', 'usage', 'stop'])
  const [text] = events
  return text?.type === 'text' ? text.text : ''
}

describe('without a scenario', () => {
  test('it echoes the prompt, and counts its words', async () => {
    expect(await answer(request())).toBe('echo: hi there')
    const events: ModelEvent[] = []
    for await (const event of scripted.complete(request(), { signal: new AbortController().signal }))
      events.push(event)
    expect(events[1]).toEqual({ type: 'usage', usage: { input_tokens: 2, output_tokens: 3 } })
  })

  test('it does not read the conversation', async () => {
    const messages = (): never => {
      throw new Error('the log was read')
    }
    expect(await answer(request({ messages }))).toBe('echo: hi there')
  })
})

describe('with a scenario', () => {
  test('the history decides its place: a request repeated after a crash gets the same answer', async () => {
    const file = scenario({ responses: [{ say: 'one' }, {}, { say: 'three' }] })
    expect(await answer(request({ scenario: file }))).toBe('one')
    expect(await answer(request({ scenario: file, attempt: 2 }))).toBe('one')
    expect(await answer(request({ scenario: file, answers: 1 }))).toBe('echo: hi there')
    expect(await answer(request({ scenario: file, answers: 2 }))).toBe('three')
    expect(await answer(request({ scenario: file, answers: 3 }))).toBe('echo: hi there')
  })

  test('its path is absolute or relative to the workspace, and it is read for each request', async () => {
    mkdirSync(join(directory, 'sub'))
    const file = scenario({ responses: [{ say: 'one' }] })
    expect(await answer(request({ scenario: join(directory, file), workspace: '/' }))).toBe('one')
    expect(await answer(request({ scenario: `../${file}`, workspace: join(directory, 'sub') }))).toBe('one')
    scenario({ responses: [{ say: 'changed' }] })
    expect(await answer(request({ scenario: file }))).toBe('changed')
  })

  test.each(PROVIDER_FAILURE_TYPES)('an entry fails with %s as often as attempts says', async (type) => {
    const file = scenario({ responses: [{ say: 'at last', fail: { type, attempts: 2 } }] })
    for (const attempt of [1, 2]) {
      const error = await answer(request({ scenario: file, attempt })).catch((error: unknown) => error)
      expect(describeFailure(error)).toEqual({
        type,
        message: `the scenario makes this request fail: ${type}`,
      })
    }
    expect(await answer(request({ scenario: file, attempt: 3 }))).toBe('at last')
  })

  test('an entry that fails without attempts fails once', async () => {
    const file = scenario({ responses: [{ fail: { type: 'overloaded' } }] })
    await expect(answer(request({ scenario: file }))).rejects.toThrow('overloaded')
    expect(await answer(request({ scenario: file, attempt: 2 }))).toBe('echo: hi there')
  })

  test('a delay ends early when the turn is stopped', async () => {
    const file = scenario({ responses: [{ delay_ms: 20, say: 'soon' }, { delay_ms: 3_600_000 }] })
    expect(await answer(request({ scenario: file }))).toBe('soon')
    const stop = new AbortController()
    const slow = answer(request({ scenario: file, answers: 1 }), stop.signal)
    setImmediate(() => stop.abort(new Error('stopped')))
    await expect(slow).rejects.toThrow('stopped')
    await expect(answer(request({ scenario: file, answers: 1 }), stop.signal)).rejects.toThrow('stopped')
  })
})

describe('an entry with tools', () => {
  const look = { name: 'shell', input: { command: 'ls' } }
  const callsIn = (events: ModelEvent[]): ToolCall[] =>
    events.flatMap((event) => (event.type === 'tool_call' ? [event.call] : []))
  const ask = (over: Parameters<typeof request>[0]): Promise<ModelEvent[]> => answerEvents(request(over))

  test('calls them after its text, and stops with tool_calls', async () => {
    const file = scenario({ responses: [{ say: 'Let me see.', tools: [look, look] }] })
    expect(await ask({ scenario: file })).toEqual([
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_call', call: { call_id: 'call_0_0', ...look } },
      { type: 'tool_call', call: { call_id: 'call_0_1', ...look } },
      { type: 'usage', usage: expect.anything() },
      { type: 'stop', reason: 'tool_calls' },
    ])
  })

  test('does not echo the prompt without say', async () => {
    const events = await ask({ scenario: scenario({ responses: [{ tools: [look] }] }) })
    expect(events.map(({ type }) => type)).toEqual(['tool_call', 'usage', 'stop'])
  })

  test('has the same call ids in each attempt, and others at another place, also after a compaction', async () => {
    const file = scenario({ responses: [{ tools: [look] }, { tools: [look] }, { tools: [look] }] })
    const idAt = async (over: object): Promise<string | undefined> =>
      callsIn(await ask({ scenario: file, ...over }))[0]?.call_id
    expect(await idAt({ answers: 1 })).toBe('call_1_0')
    expect(await idAt({ answers: 1 })).toBe('call_1_0')
    expect(await idAt({ answers: 1, responses_before: 1 })).toBe('call_2_0')
  })

  test('calls nothing if the request has no tools', async () => {
    const file = scenario({ responses: [{ tools: [look] }] })
    const events = await ask({ scenario: file, answers: 1 })
    expect(callsIn(events)).toEqual([])
    expect(events.at(-1)).toEqual({ type: 'stop', reason: 'end' })
  })
})

describe('a scenario file', () => {
  const BAD: [string, unknown, RegExp][] = [
    ['that is no JSON', '{"responses":', /cannot be read: .*JSON/],
    ['that is empty', '', /cannot be read/],
    [
      'whose tool has no input',
      { responses: [{ tools: [{ name: 'shell' }] }] },
      /at responses\.0\.tools\.0\.input/,
    ],
    [
      'whose tool takes a text',
      { responses: [{ tools: [{ name: 'shell', input: 'ls' }] }] },
      /at responses\.0\.tools\.0\.input: it must be record$/,
    ],
    ['that is a list', [], /is invalid at its top level: it must be object$/],
    ['without responses', {}, /at responses: it must be array$/],
    ['with another key', { responses: [], more: 1 }, /at its top level: there is no field more$/],
    [
      'whose entry has another key',
      { responses: [{ says: 'x' }] },
      /at responses\.0: there is no field says$/,
    ],
    ['whose text is a number', { responses: [{}, { say: 7 }] }, /at responses\.1\.say: it must be string$/],
    [
      'whose delay is negative',
      { responses: [{ delay_ms: -1 }] },
      /at responses\.0\.delay_ms: it must be at least 0$/,
    ],
    [
      'whose failure is unknown',
      { responses: [{ fail: { type: 'tired' } }] },
      /at responses\.0\.fail\.type: it must be one of overloaded, .*, crashed, .*, billing$/,
    ],
    [
      'whose failure never happens',
      { responses: [{ fail: { type: 'invalid', attempts: 0 } }] },
      /fail\.attempts: it must be at least 0$/,
    ],
  ]

  test.each(BAD)('%s is misconfigured, and the error names the wrong field', async (_, content, message) => {
    const options = { scenario: scenario(content) }
    const settings = { workspace: directory, model: null, instructions: null, options }
    for (const act of [
      () => scripted.check?.(settings),
      () => answer(request({ scenario: 'scenario.json' })),
    ]) {
      const error = describeFailure(await Promise.resolve(act()).catch((error: unknown) => error))
      expect(error.type).toBe('misconfigured')
      expect(error.message).toContain(join(directory, 'scenario.json'))
      expect(error.message).toMatch(message)
    }
  })

  test.each(['gone.json', '.'])('that cannot be read is misconfigured: %s', async (name) => {
    const settings = { workspace: directory, model: null, instructions: null, options: { scenario: name } }
    const error = await Promise.resolve(scripted.check?.(settings)).catch((error: unknown) => error)
    expect(describeFailure(error)).toMatchObject({ type: 'misconfigured' })
  })

  test('with valid fields is accepted', async () => {
    const options = {
      scenario: scenario({
        responses: [{ delay_ms: 0, say: '', fail: { type: 'overflow', retry_after_ms: 5, attempts: 1 } }],
      }),
    }
    await scripted.check?.({ workspace: directory, model: null, instructions: null, options })
  })
})
