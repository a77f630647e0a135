import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { SubstratError } from '../../src/errors.js'
import { limits } from '../../src/limits.js'
import type { JsonObject, ModelEvent, ModelProvider, ModelRequest } from '../../src/provider/contract.js'
import { providerFailure } from '../../src/provider/failure.js'
import { openForRead } from '../../src/session/load.js'
import { readMessageText } from '../../src/session/read.js'
import type { Session } from '../../src/session/session.js'
import type { Run } from '../../src/session/state.js'
import { failing, withFaults } from '../support/faults.js'
import { IN_POSTGRES } from '../support/postgres-homes.js'
import { newSession, reopen } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'
import { FakeStop, hang, kindsOf, model, runTurn, says } from '../support/turns.js'

const END = { type: 'stop', reason: 'end' } as const
let session: Session

beforeEach(async () => {
  session = await newSession(tempStore())
})

afterEach(() => {
  vi.useRealTimers()
})

function replyOf(run: Run): string | null {
  return run.reply === null ? null : readMessageText(session.store, session.id, run.reply)
}

/** Runs a turn that must fail, and returns its error message. The session must be whole, suspended and usable afterwards. */
async function sentenceOf(provider: ModelProvider): Promise<string> {
  const run = await runTurn(session, provider)
  expect(run.status).toBe('failed')
  await expectWhole()
  expect(run.error?.message).toMatch(/^[^\n]{5,4001}$/)
  return run.error?.message ?? ''
}

async function expectWhole(): Promise<void> {
  expect(session.state.state).toBe('suspended')
  expect(openForRead(session.store, session.id)?.state).toEqual(session.state)
  const next = await runTurn(
    session,
    model(() => says({ type: 'text', text: 'fine' }, END)),
  )
  expect(next.status).toBe('completed')
}

test('a refusal fails the turn once, with the text before it; the next turn does not contain the refused one', async () => {
  const asked: string[][] = []
  const refusing = model(async function* (request) {
    asked.push(request.messages().map(({ content }) => content))
    yield { type: 'text', text: 'To begin ' }
    yield { type: 'text', text: 'with' }
    yield { type: 'usage', usage: { input_tokens: 7, output_tokens: 2 } }
    throw providerFailure('refused', 'model.test says content_filter')
  })
  const run = await runTurn(session, refusing)
  expect(asked).toHaveLength(1)
  expect(run).toMatchObject({
    status: 'failed',
    reply: null,
    error: { type: 'refused', message: 'model.test says content_filter' },
    usage: { input_tokens: 7, output_tokens: 2 },
  })
  expect(run.said && readMessageText(session.store, session.id, run.said)).toBe('To begin with')
  expect(kindsOf(session).slice(-4)).toEqual([
    'model.failed',
    'run.failed',
    'session.suspended',
    'status.derived',
  ])
  await runTurn(
    session,
    model((request) => {
      asked.push(request.messages().map(({ content }) => content))
      return says({ type: 'text', text: 'fine' }, END)
    }),
  )
  expect(asked[1]).toHaveLength(1)
})

test('the text before a refusal is stored at any length', async () => {
  const long = 'x'.repeat(2 * limits.inlineBytesMax)
  const run = await runTurn(
    session,
    model(async function* () {
      yield { type: 'text', text: long }
      throw providerFailure('refused', 'no more')
    }),
  )
  expect(run.said && readMessageText(session.store, session.id, run.said)).toBe(long)
})

test('the record of a failure has its stack and causes, bounded, without secrets of the provider', async () => {
  vi.stubEnv('SECRET_KEY', 'hunter2-hunter2')
  const cause = Object.assign(new Error('connect ECONNREFUSED with hunter2-hunter2'), {
    code: 'ECONNREFUSED',
  })
  const failed = Object.assign(providerFailure('invalid', 'it cannot be reached'), { cause })
  const provider = {
    ...model(() => {
      throw failed
    }),
    secrets: () => ['SECRET_KEY'],
  }
  await runTurn(session, provider)
  vi.unstubAllEnvs()
  const attempt = [...session.records({ seq: 1, offset: 0 })].find(({ kind }) => kind === 'model.failed')
  const { detail = '' } = attempt as { detail?: string }
  expect(detail).toMatch(/^Error: it cannot be reached\n {4}at /)
  expect(detail).toContain('caused by Error: connect ECONNREFUSED with [secret]')
  expect(detail.length).toBeLessThanOrEqual(limits.detailCharactersMax + 1)
  expect(session.state.run?.error).toEqual({ type: 'invalid', message: 'it cannot be reached' })
})

test('the reply joins its pieces in order, and is recorded in one batch with the usage, the end and the suspension', async () => {
  const usage = { input_tokens: 1, output_tokens: 2 }
  const pieces: string[] = []
  const events = says(
    { type: 'text', text: 'one ' },
    { type: 'usage', usage },
    { type: 'text', text: 'two' },
    END,
  )
  const run = await runTurn(
    session,
    model(() => events),
    { onText: (text) => void pieces.push(text) },
  )
  expect(run).toMatchObject({ status: 'completed', usage })
  expect(replyOf(run)).toBe('one two')
  expect(pieces).toEqual(['one ', 'two'])
  const last = [...session.records({ seq: 1, offset: 0 })].slice(-5)
  const kinds = ['message.agent', 'model.responded', 'run.completed', 'session.suspended', 'status.derived']
  expect(last.map(({ kind }) => kind)).toEqual(kinds)
  expect(new Set(last.map(({ batch }) => String(batch)))).toEqual(new Set(['7,11']))
})

test('a turn prints nothing: its reply is printed by the command, after the record of the reply', async () => {
  const stdout = vi.spyOn(process.stdout, 'write')
  await runTurn(
    session,
    model(() => says({ type: 'text', text: 'fine' }, END)),
  )
  expect(stdout).not.toHaveBeenCalled()
  stdout.mockRestore()
})

test('a model that answers with nothing is asked once more, then the turn fails as empty', async () => {
  let asked = 0
  const run = await runTurn(
    session,
    model(() => {
      asked += 1
      return says({ type: 'text', text: ' \n' }, END)
    }),
  )
  expect(run).toMatchObject({ status: 'failed', error: { type: 'empty' } })
  expect(asked).toBe(2)
})

test('a model that used up its limit of tokens before it wrote anything is not asked again', async () => {
  let asked = 0
  const usage = { input_tokens: 3, output_tokens: 4096 }
  const run = await runTurn(
    session,
    model(() => {
      asked += 1
      return says({ type: 'usage', usage }, { type: 'stop', reason: 'length' })
    }),
  )
  expect(asked).toBe(1)
  const message = 'the model used up its limit of tokens (4096) before it wrote anything'
  expect(run).toMatchObject({ status: 'failed', error: { type: 'empty', message }, usage })
})

test('a turn with an unknown end keeps its reply, and marks it with the word of the service', async () => {
  const notes: string[] = []
  const stop = { type: 'stop', reason: 'end', incomplete: 'brand_new' } as const
  const run = await runTurn(
    session,
    model(() => says({ type: 'text', text: 'half' }, stop)),
    { ports: { note: (text) => void notes.push(text) } },
  )
  expect(run.status).toBe('completed')
  expect(notes).toEqual(['the reply may be incomplete: the provider ended it in an unknown way (brand_new)'])
  expect(session.recordAt(run.reply as NonNullable<typeof run.reply>)).toMatchObject({
    incomplete: 'brand_new',
  })
})

test('the request is durable before the model is asked', async () => {
  let seen: string[] = []
  await runTurn(
    session,
    model(() => {
      seen = kindsOf(session)
      return says({ type: 'text', text: 'ok' }, END)
    }),
  )
  expect(seen.slice(-2)).toEqual(['model.requested', 'status.derived'])
})

test('the model receives the conversation without failed answers, and the number of the attempt', async () => {
  const requests: ModelRequest[] = []
  const heard: object[] = []
  const provider = model((request) => {
    requests.push(request)
    heard.push(request.messages())
    if (requests.length === 2) throw new Error('not now')
    return says({ type: 'text', text: `answer ${requests.length}` }, END)
  })
  for (const prompt of ['a', 'b', 'c']) await runTurn(session, provider, { prompt })
  expect(requests.map(({ attempt, prompt }) => [prompt, attempt])).toEqual([
    ['a', 1],
    ['b', 1],
    ['c', 2],
  ])
  expect(heard[2]).toEqual([
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'answer 1', tool_calls: [] },
    { role: 'user', content: 'b' },
    { role: 'user', content: 'c' },
  ])
})

test('a response cut off at its token limit adds a note', async () => {
  const notes: string[] = []
  const cut = model(() => says({ type: 'text', text: 'half' }, { type: 'stop', reason: 'length' }))
  const run = await runTurn(session, cut, { ports: { note: (text) => notes.push(text) } })
  expect(run.status).toBe('completed')
  expect(notes).toEqual([
    'the reply is incomplete: the model reached its maximum number of tokens per response',
  ])
})

describe('a provider that', () => {
  const unspeakable = Object.create(null) as object
  const booby = {
    get failure(): never {
      throw new Error('trap')
    },
  }
  const unmessaged = Object.assign(new Error('x'), { message: { not: 'a string' } })
  const THROWN: [string, unknown, string][] = [
    ['an error', new Error('the lamp is out'), 'the lamp is out'],
    ['a string', 'the lamp is out', 'the lamp is out'],
    ['nothing', undefined, 'it threw undefined'],
    ['null', null, 'it threw null'],
    ['a number', 7, 'it threw 7'],
    ['a symbol', Symbol('lamp'), 'it threw Symbol(lamp)'],
    ['an empty error', new Error(''), 'it failed without saying why'],
    ['an object without a string form', unspeakable, 'it failed without saying why'],
    ['an object whose getters throw', booby, 'it failed without saying why'],
    ['an error whose message is not a string', unmessaged, 'it threw Error: [object Object]'],
    ['terminal control characters', new Error('\u001b[2Jgone\r\n\u0007'), '[2Jgone'],
    ['a very long error', new Error('x'.repeat(100_000)), `${'x'.repeat(4000)}…`],
  ]

  test.each(THROWN)('throws %s fails the turn with a plain sentence', async (_, thrown, sentence) => {
    expect(
      await sentenceOf(
        model(() => {
          throw thrown
        }),
      ),
    ).toBe(sentence)
    const inStream = async function* (): AsyncIterable<unknown> {
      yield { type: 'text', text: 'so far' }
      throw thrown
    }
    expect(await sentenceOf(model(inStream))).toBe(sentence)
  })

  test('fails as the contract says fails the turn with its type', async () => {
    const run = await runTurn(
      session,
      model(() => {
        throw providerFailure('overloaded', 'come back later')
      }),
    )
    expect(run.error).toEqual({ type: 'overloaded', message: 'come back later' })
    const unknown = Object.assign(new Error('odd'), { failure: { type: 'tired' } })
    const other = await runTurn(
      session,
      model(() => {
        throw unknown
      }),
    )
    expect(other.error?.type).toBe('crashed')
  })

  const circular: Record<string, unknown> = { type: 'odd' }
  circular.self = circular
  const GARBAGE: [string, unknown[]][] = [
    ['nothing', []],
    ['no stop', [{ type: 'text', text: 'x' }]],
    ['null', [null, END]],
    ['a string', ['text', END]],
    ['an unknown event', [{ type: 'tool', name: 'shell' }, END]],
    ['a cyclic object', [circular, END]],
    ['a bigint', [{ type: 'odd', value: 7n }, END]],
    ['a text without text', [{ type: 'text' }, END]],
    ['a usage without counts', [{ type: 'usage', usage: { input_tokens: 'many' } }, END]],
    ['a usage of nothing', [{ type: 'usage' }, END]],
    ['a stop without a reason', [{ type: 'stop' }]],
    ['a text after the stop', [END, { type: 'text', text: 'and another thing' }]],
    ['two stops', [END, END]],
  ]

  test.each(GARBAGE)('yields %s fails the turn with a plain sentence', async (_, events) => {
    const sentence = await sentenceOf(
      model(async function* () {
        yield* events
      }),
    )
    expect(sentence).toMatch(/^the provider (broke its contract: .+|ended without an answer)$/)
    expect(session.state.run?.reply).not.toBeNull()
  })

  const iterator = (parts: object): object => ({ [Symbol.asyncIterator]: () => parts })
  const NO_STREAMS: [string, unknown][] = [
    ['nothing', undefined],
    ['a promise', Promise.resolve('x')],
    ['a text', 'hello'],
    ['an iterator without next', iterator({})],
    ['an iterator whose next is no promise', iterator({ next: () => 7 })],
    ['an iterator whose next gives nothing', iterator({ next: async () => undefined })],
    [
      'an iterator whose next and return throw at once',
      iterator({
        next: () => {
          throw new Error('no next')
        },
        return: () => {
          throw new Error('no return')
        },
      }),
    ],
  ]

  test.each(NO_STREAMS)('returns %s fails the turn with a plain sentence', async (_, returned) => {
    await sentenceOf(model(() => returned))
  })

  test('returns 50 MB fails the turn, and its text is not stored', async () => {
    const piece = 'x'.repeat(1024 * 1024)
    const sentence = await sentenceOf(
      model(async function* () {
        for (let i = 0; i < 50; i++) yield { type: 'text', text: piece }
        yield END
      }),
    )
    expect(sentence).toBe(`the reply is larger than ${limits.replyBytesMax} bytes`)
    expect(session.state.log_bytes).toBeLessThan(10_000)
  })

  test('throws after its stop event fails the turn', async () => {
    const sentence = await sentenceOf(
      model(async function* () {
        yield END
        throw new Error('too late')
      }),
    )
    expect(sentence).toBe('too late')
  })

  test('fails to clean up keeps its answer', async () => {
    const events = [{ type: 'text', text: 'x' }, END][Symbol.iterator]()
    const careless = {
      next: async () => events.next(),
      return: () => {
        throw new Error('cannot clean up')
      },
    }
    const run = await runTurn(
      session,
      model(() => iterator(careless)),
    )
    expect(run.status).toBe('completed')
  })
})

describe('a turn that is stopped', () => {
  /** Asks, stops after a second, and advances the clock until the turn is over. */
  async function stopped(provider: ModelProvider, why: Parameters<FakeStop['stop']>[0]): Promise<Run> {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const stop = new FakeStop()
    const turn = runTurn(session, provider, { stop })
    await vi.advanceTimersByTimeAsync(1000)
    stop.stop(why)
    await vi.advanceTimersByTimeAsync(7000)
    const run = await turn
    vi.useRealTimers()
    expect(stop.isClosed).toBe(true)
    return run
  }

  const REASONS = [
    ['turn_timeout', 'cancelled'],
    ['terminated', 'cancelled'],
    ['suspended', 'interrupted'],
    ['shutdown', 'interrupted'],
  ] as const

  const STUBBORN: [string, () => unknown][] = [
    [
      'hangs before its first event',
      () =>
        (async function* () {
          yield await hang()
        })(),
    ],
    [
      'hangs after some text',
      () =>
        (async function* () {
          yield { type: 'text', text: 'so far' }
          yield await hang()
        })(),
    ],
    ['has no way to be let go', () => ({ [Symbol.asyncIterator]: () => ({ next: hang }) })],
    [
      'throws at return',
      () => ({
        [Symbol.asyncIterator]: () => ({
          next: hang,
          return: () => {
            throw new Error('cannot')
          },
        }),
      }),
    ],
    [
      'rejects long after',
      () => ({
        [Symbol.asyncIterator]: () => ({
          next: () => new Promise((_, reject) => setTimeout(reject, 5500, new Error('late'))),
          return: () => new Promise((_, reject) => setTimeout(reject, 6500, new Error('later still'))),
        }),
      }),
    ],
  ]

  for (const [reason, status] of REASONS) {
    test(`by ${reason} is ${status}, although the provider ignores the stop`, async () => {
      const run = await stopped(model(STUBBORN[0]?.[1] as () => unknown), reason)
      expect(run).toMatchObject({ status, reason })
      await expectWhole()
    })
  }

  test.each(STUBBORN)('ends although the provider %s', async (_, complete) => {
    expect(await stopped(model(complete), 'turn_timeout')).toMatchObject({ status: 'cancelled' })
    await expectWhole()
  })

  test('keeps an answer whose stream does not end', async () => {
    const provider = model(async function* () {
      yield { type: 'text', text: 'all of it' }
      yield END
      await hang()
    })
    const run = await stopped(provider, 'turn_timeout')
    expect(run.status).toBe('completed')
    expect(replyOf(run)).toBe('all of it')
  })

  test('keeps the answer of a provider that finishes within its grace', async () => {
    const provider = model(async function* (_: unknown, { signal }: { signal: AbortSignal }) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      yield { type: 'text', text: 'just in time' }
      yield END
    })
    const run = await stopped(provider, 'shutdown')
    expect(run.status).toBe('completed')
    expect(replyOf(run)).toBe('just in time')
  })

  test('gives the provider 3 s to end by itself', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const stop = new FakeStop()
    let isOver = false
    const stubborn = STUBBORN[3]?.[1] as () => unknown
    let turn: Promise<Run> = Promise.reject(new Error('not begun'))
    turn.catch(() => undefined)
    await new Promise<void>((asked) => {
      const provider = model(() => {
        asked()
        return stubborn()
      })
      turn = runTurn(session, provider, { stop }).finally(() => {
        isOver = true
      })
    })
    stop.stop('shutdown')
    await vi.advanceTimersByTimeAsync(2999)
    expect(isOver).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect((await turn).status).toBe('interrupted')
  })
})

describe('an error that a provider throws outside of any call', () => {
  const originals = process.listeners('uncaughtException')
  const rejections = process.listeners('unhandledRejection')

  beforeEach(() => {
    // Vitest's own listeners would fail the test run.
    process.removeAllListeners('uncaughtException')
    process.removeAllListeners('unhandledRejection')
  })
  afterEach(() => {
    for (const listener of originals) process.on('uncaughtException', listener)
    for (const listener of rejections) process.on('unhandledRejection', listener)
  })

  const throwAstray = (): never => {
    throw new Error('astray')
  }
  const STRAYS: [string, () => void][] = [
    ['from a callback', () => void setImmediate(throwAstray)],
    ['in a promise without a handler', () => void Promise.reject(new Error('astray'))],
  ]

  test.each(STRAYS)('%s fails the turn, and the process continues', async (_, stray) => {
    const provider = model(() => {
      stray()
      return { [Symbol.asyncIterator]: () => ({ next: hang }) }
    })
    expect(await sentenceOf(provider)).toBe('astray')
    expect(process.listenerCount('uncaughtException')).toBe(0)
  })
})

test('a turn that gets no slot stores nothing', async () => {
  const takeSlot = (): Promise<never> => Promise.reject(new SubstratError('NO_SLOT', 'all are taken'))
  const before = session.state
  const turn = runTurn(
    session,
    model(() => says(END)),
    { ports: { takeSlot } },
  )
  await expect(turn).rejects.toMatchObject({ code: 'NO_SLOT' })
  expect(session.state).toEqual(before)
})

describe.skipIf(IN_POSTGRES)('a record that cannot be written', () => {
  test('is not a failure of the provider: the turn throws, and the run stays open for the next writer', async () => {
    withFaults(failing('ENOSPC', ({ point, offset }) => point === 'log.append' && (offset ?? 0) > 1500))
    const stop = new FakeStop()
    const answer = model(() => says({ type: 'text', text: 'x'.repeat(2000) }, END))
    const error = await runTurn(session, answer, { stop, prompt: 'x'.repeat(1500) }).catch((e: unknown) => e)
    expect(error).toMatchObject({ code: 'STORAGE_FAILED' })
    expect(stop.isClosed).toBe(true)
    withFaults(() => undefined)
    expect(session.state.run).toMatchObject({ status: 'open', phase: 'asked' })
    await session.abandon()
    session = await reopen(session.store, session.id)
    expect(session.state.run).toMatchObject({ status: 'open', phase: 'asked' })
  })

  test('before the request means that the model is not asked', async () => {
    let isAsked = false
    withFaults(failing('ENOSPC', ({ point }) => point === 'log.append'))
    const provider = model(() => {
      isAsked = true
      return says(END)
    })
    await expect(runTurn(session, provider)).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(isAsked).toBe(false)
    expect(session.state.run).toBeNull()
  })
})

describe('the items of a response', () => {
  const call = { call_id: 'c1', name: 'read_file', input: { path: 'missing.txt' } }

  /** A turn of two requests. Returns the items of each assistant message that the second request, and the next turn, received. */
  async function given(items: JsonObject[]): Promise<(JsonObject[] | undefined)[]> {
    const seen: (JsonObject[] | undefined)[] = []
    const provider = model((request) => {
      const responses = request.messages().filter((message) => message.role === 'assistant')
      if (responses.length === 0)
        return says(
          ...items.map((item) => ({ type: 'item', item }) as const),
          { type: 'text', text: 'I look' },
          { type: 'tool_call', call },
          { type: 'stop', reason: 'tool_calls' },
        )
      seen.push(...responses.map((message) => message.items))
      return says({ type: 'text', text: 'done' }, END)
    })
    expect((await runTurn(session, provider)).status).toBe('completed')
    await session.close(() => false)
    session = await reopen(session.store, session.id)
    await runTurn(session, provider)
    return seen
  }

  test('come back unchanged and in order, also in another process', async () => {
    const items = [{ b: 2, a: [{ blob: 'f'.repeat(64), bytes: 1 }] }, { a: '\ud83d ü \u2028' }, { b: 2 }]
    expect(await given(items)).toEqual([items, items, undefined])
  })

  test('are in a blob if they are large', async () => {
    const items = [{ text: 'x'.repeat(limits.inlineBytesMax) }, { b: 2 }]
    expect(await given(items)).toEqual([items, items, undefined])
    const [response] = [...session.records({ seq: 1, offset: 0 })].filter(
      ({ kind }) => kind === 'model.responded',
    )
    expect(response).toMatchObject({ items_blob: { blob: expect.any(String) } })
    expect(response).not.toHaveProperty('items')
  })

  test('are absent from a response that had none', async () => {
    expect(await given([])).toEqual([undefined, undefined, undefined])
  })

  test.each<[string, unknown]>([
    ['a text', 'reasoning'],
    ['a list', []],
    ['nothing', undefined],
  ])('cannot be %s', async (_, item) => {
    const provider = model(() => says({ type: 'item', item } as ModelEvent, END))
    expect(await sentenceOf(provider)).toContain('an item that is not a JSON object')
  })
})
