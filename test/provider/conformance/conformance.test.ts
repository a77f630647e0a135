import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { type ConformanceFixture, conformanceCases } from '../../../src/provider/conformance/conformance.js'
import type {
  AgentProvider,
  AgentSession,
  HeardOfTurn,
  InspectOptions,
  ModelEvent,
  ModelProvider,
  ModelRequest,
  Provider,
  ProviderSettings,
} from '../../../src/provider/contract.js'
import { exec } from '../../../src/provider/exec.js'
import { providerFailure } from '../../../src/provider/failure.js'
import type { AgentHost, CallOptions } from '../../../src/provider/host-contract.js'
import { scripted } from '../../../src/provider/scripted.js'
import { hang, model, says } from '../../support/turns.js'

const TITLES = {
  describes: 'the provider and each option have a description of one line',
  accepts: 'check accepts settings that work',
  names: 'program names a program that is there, if it names one',
  ready: 'ready accepts settings that work',
  refuses: 'check refuses settings that cannot work as misconfigured',
  answers: 'a request returns text and ends after exactly one stop, also when it is repeated',
  stops: 'a turn ends in time after its signal aborts',
  killed: 'a turn whose program is killed fails as crashed, and the provider awaits the exit',
  fails: 'a turn that fails throws an error with a message',
  ends: 'a turn ends after exactly one done with the reply',
  offered: 'a turn works with a tool server',
  restores: 'restore continues the session from the result of suspend',
  early: 'a turn yields the state for restore as soon as it is known',
  lets: 'stop never throws, even twice or before any turn',
  inspects: 'inspect returns finished with a reply, unfinished or unknown, even without a state',
  inspectsDone: 'inspect of a done turn returns finished with the reply, or unknown',
  inspectsStopped: 'inspect of a stopped turn never returns finished',
}

const works: ProviderSettings = { workspace: tmpdir(), model: null, instructions: null, options: {} }
const withOptions = (options: Record<string, string>): ProviderSettings => ({ ...works, options })

describe('exec conforms', () => {
  const fixture: ConformanceFixture = {
    settings: withOptions({ command: "printf 'you said: '; cat" }),
    prompt: 'hi',
    expected: 'you said: hi',
    slow: { settings: withOptions({ command: 'sleep 3600' }), prompt: 'hi', withinMs: 3_600_000 },
    failing: withOptions({ command: 'exit 3' }),
    refused: withOptions({}),
  }
  for (const { title, run } of conformanceCases(exec, fixture)) test(title, run)
})

describe('scripted conforms', () => {
  let directory = ''
  const file = (name: string): ProviderSettings => {
    return {
      ...works,
      get options() {
        return { scenario: join(directory, name) }
      },
    }
  }
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'substrat-test-'))
    writeFileSync(join(directory, 'slow.json'), '{"responses":[{"delay_ms":3600000}]}')
    const look = {
      tools: [
        { name: 'look', input: { place: 'here' } },
        { name: 'look', input: {} },
      ],
    }
    writeFileSync(
      join(directory, 'tools.json'),
      JSON.stringify({ responses: [look, { say: 'It is blue.' }] }),
    )
    writeFileSync(join(directory, 'fails.json'), '{"responses":[{"fail":{"type":"overloaded"}}]}')
    return () => rmSync(directory, { recursive: true })
  })
  const fixture: ConformanceFixture = {
    settings: works,
    prompt: 'hi',
    expected: 'echo: hi',
    tools: { settings: file('tools.json'), prompt: 'what colour?', expected: 'blue' },
    slow: { settings: file('slow.json'), prompt: 'hi', withinMs: 3_600_000 },
    failing: file('fails.json'),
    refused: file('gone.json'),
  }
  for (const { title, run } of conformanceCases(scripted, fixture)) test(title, run)
})

/** A correct provider of each kind. Each broken provider below differs from it in one thing. */
const options = { mode: 'ok, slow, fail or refuse' }
const SLOW = { settings: withOptions({ mode: 'slow' }), prompt: 'hi', withinMs: 3_600_000 }
const FIXTURE: ConformanceFixture = {
  settings: withOptions({ mode: 'ok' }),
  prompt: 'hi',
  expected: 'hi',
  slow: SLOW,
  failing: withOptions({ mode: 'fail' }),
  refused: withOptions({ mode: 'refuse' }),
}

function check(settings: ProviderSettings): void {
  if (settings.options.mode === 'refuse') throw providerFailure('misconfigured', 'refused')
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
}

async function play(settings: ProviderSettings, signal: AbortSignal): Promise<void> {
  if (settings.options.mode === 'slow') await aborted(signal)
  if (settings.options.mode === 'fail') throw new Error('it failed')
}

const END = { type: 'stop', reason: 'end' }

function rightModel(parts: object = {}): ModelProvider {
  return {
    kind: 'model',
    description: 'right',
    options,
    check,
    async *complete(request: ModelRequest, { signal }: CallOptions) {
      await play(request, signal)
      yield { type: 'text', text: request.prompt }
      yield END
    },
    ...parts,
  } as ModelProvider
}

/** Yields these events in every case that expects an answer. */
function modelThatYields(...events: unknown[]): ModelProvider {
  return rightModel({
    async *complete(request: ModelRequest, { signal }: CallOptions) {
      await play(request, signal)
      yield* events
    },
  })
}

const STATE = new TextEncoder().encode('state')

function rightAgent(parts: object = {}, inSession: object = {}): AgentProvider {
  const create = async (settings: ProviderSettings): Promise<AgentSession> =>
    ({
      async *send(prompt: string, { signal }: CallOptions) {
        yield { type: 'state', state: STATE }
        await play(settings, signal)
        yield { type: 'done', reply: prompt }
      },
      suspend: async () => STATE,
      stop: async () => undefined,
      ...inSession,
    }) as AgentSession
  return {
    kind: 'agent',
    description: 'right',
    options,
    check,
    create,
    restore: async (_: unknown, settings: ProviderSettings) => create(settings),
    inspect: async () => ({ outcome: 'unknown' }),
    ...parts,
  } as AgentProvider
}

function agentThatYields(...events: unknown[]): AgentProvider {
  return agentWith(async function* (settings, { signal }) {
    await play(settings, signal)
    yield* events
  })
}

function agentWith(
  send: (
    settings: ProviderSettings,
    options: CallOptions,
    host: AgentHost,
    prompt: string,
  ) => AsyncIterable<unknown>,
): AgentProvider {
  const create = async (settings: ProviderSettings, host: AgentHost): Promise<AgentSession> =>
    ({
      send: (prompt: string, options: CallOptions) => send(settings, options, host, prompt),
      suspend: async () => null,
      stop: async () => undefined,
    }) as AgentSession
  return rightAgent({
    create,
    restore: (_: unknown, settings: ProviderSettings, host: AgentHost) => create(settings, host),
  })
}

function once(): AgentProvider & ModelProvider {
  let asked = 0
  return rightModel({
    async *complete(request: ModelRequest, { signal }: CallOptions) {
      await play(request, signal)
      asked += 1
      yield { type: 'text', text: asked === 1 ? request.prompt : 'asked already' }
      yield END
    },
  }) as never
}

function waitFor(over: object = {}): object {
  return { type: 'wait', kind: 'approval', asks: [{ ...call, input: {} }], ...over }
}

function needs(isRight: (tools: unknown) => boolean): Parameters<typeof agentWith>[0] {
  return async function* (settings, { signal }, host, prompt) {
    await play(settings, signal)
    if (!isRight(host.tools)) throw new Error('not with these tools')
    yield { type: 'done', reply: prompt }
  }
}

function asksWhenStopped(): AgentProvider {
  const { create, ...provider } = agentWith(async function* (settings, { signal }, _, prompt) {
    if (settings.options.mode !== 'slow') {
      await play(settings, signal)
      yield { type: 'done', reply: prompt }
    } else {
      await aborted(signal).catch(() => undefined)
      yield waitFor()
    }
  })
  return {
    ...provider,
    create: async (settings, host) => ({ ...(await create(settings, host)), answer: () => hang() as never }),
  }
}

async function* launches(
  settings: ProviderSettings,
  options: CallOptions,
  host: AgentHost,
  prompt: string,
): AsyncIterable<unknown> {
  const { exited } = await host.launch({ argv: ['/bin/sleep', '3600'], cwd: settings.workspace }, options)
  await Promise.race([play(settings, options.signal), exited])
  yield { type: 'done', reply: prompt }
}

async function* sendsWithout(prompt: string): AsyncIterable<unknown> {
  yield { type: 'done', reply: prompt }
}

const DONE = { type: 'done', reply: 'hi' }
const call = { call_id: 'c', tool: 'shell' }
const STARTED = { type: 'tool_started', ...call, input: {} }
const FINISHED = { type: 'tool_finished', ...call, output: 'x', is_error: false }

type Title = keyof typeof TITLES
/** The cases that need a successful turn. */
const TURNS: Title[] = ['ends', 'offered', 'restores', 'early', 'inspectsDone']
/** Title, provider, failing cases, and the time limit for a turn that never ends. */
const BROKEN: [string, Provider, Title[], number?][] = [
  ['a correct model', rightModel(), []],
  ['a correct agent', rightAgent(), []],
  ['a description of two lines', rightModel({ description: 'one\ntwo' }), ['describes']],
  ['an option without help', rightAgent({ options: { mode: '' } }), ['describes']],
  [
    'a check that refuses what works',
    rightModel({ check: () => check(withOptions({ mode: 'refuse' })) }),
    ['accepts'],
  ],
  ['a check that accepts all', rightModel({ check: () => undefined }), ['refuses']],
  ['no check', rightAgent({ check: undefined }), ['refuses']],
  [
    'a check that fails for another reason',
    rightModel({
      check: ({ options }: ProviderSettings) => {
        if (options.mode === 'refuse') throw new Error('cannot read properties of undefined')
      },
    }),
    ['refuses'],
  ],
  ['a program that is there', rightAgent({ program: () => ({ shell: 'cat --flag' }) }), []],
  ['a program that is not there', rightAgent({ program: () => ({ name: 'no-such-program' }) }), ['names']],
  ['a program that is a word', rightAgent({ program: () => 'cat' }), ['names']],
  ['a program with a number as its name', rightModel({ program: () => ({ name: 7 }) }), ['names']],
  [
    'a ready that refuses what works',
    rightAgent({
      ready: async () => {
        throw providerFailure('authentication', 'no login')
      },
    }),
    ['ready'],
  ],
  ['a model without a stop', modelThatYields({ type: 'text', text: 'hi' }), ['answers']],
  ['a model with two stops', modelThatYields({ type: 'text', text: 'hi' }, END, END), ['answers']],
  ['a model that continues after its stop', modelThatYields(END, { type: 'text', text: 'hi' }), ['answers']],
  ['a model that says something else', modelThatYields({ type: 'text', text: 'no' }, END), ['answers']],
  [
    'a model with an unknown event',
    modelThatYields({ type: 'tool' }, { type: 'text', text: 'hi' }, END),
    ['answers'],
  ],
  ['a model that answers once', once(), ['answers']],
  [
    'a model that does not stop',
    rightModel({
      async *complete(request: ModelRequest) {
        if (request.options.mode === 'slow') await hang()
        await play(request, new AbortController().signal)
        yield { type: 'text', text: request.prompt }
        yield END
      },
    }),
    ['stops'],
    1000,
  ],
  [
    'a model that answers when it is stopped',
    rightModel({
      async *complete(request: ModelRequest, { signal }: CallOptions) {
        if (request.options.mode === 'slow') await aborted(signal).catch(() => undefined)
        else await play(request, signal)
        yield { type: 'text', text: request.prompt }
        yield END
      },
    }),
    ['stops'],
  ],
  [
    'a model that hides its failure',
    rightModel({
      async *complete(request: ModelRequest, { signal }: CallOptions) {
        if (request.options.mode !== 'fail') await play(request, signal)
        yield { type: 'text', text: request.prompt }
        yield END
      },
    }),
    ['fails'],
  ],
  [
    'a model that does not say why it failed',
    rightModel({
      async *complete(request: ModelRequest, { signal }: CallOptions) {
        if (request.options.mode === 'fail') throw new Error('')
        await play(request, signal)
        yield { type: 'text', text: request.prompt }
        yield END
      },
    }),
    ['fails'],
  ],
  ['an agent without a done', agentThatYields({ type: 'text', text: 'hi' }), TURNS],
  ['an agent with two', agentThatYields({ type: 'done', reply: 'hi' }, { type: 'done', reply: 'hi' }), TURNS],
  [
    'an agent that goes on after it',
    agentThatYields({ type: 'done', reply: 'hi' }, { type: 'text', text: 'x' }),
    TURNS,
  ],
  [
    'an agent that replies otherwise',
    agentThatYields({ type: 'done', reply: 'no' }),
    ['ends', 'offered', 'restores', 'early'],
  ],
  ['an agent with a model event', agentThatYields(END, { type: 'done', reply: 'hi' }), TURNS],
  [
    'an agent that cannot restore',
    rightAgent({ restore: () => Promise.reject(new Error('no such session')) }),
    ['restores', 'early'],
  ],
  [
    'an agent that cannot suspend',
    rightAgent({}, { suspend: () => Promise.reject(new Error('no')) }),
    ['restores', 'early'],
  ],
  [
    'an agent that throws at stop',
    rightAgent({}, { stop: () => Promise.reject(new Error('no')) }),
    [...TURNS, 'lets', 'inspectsStopped'],
  ],
  [
    'an agent that cannot inspect no state',
    rightAgent({
      inspect: async (state: unknown) => {
        if (state === null) throw new Error('no state')
        return { outcome: 'unknown' }
      },
    }),
    ['inspects'],
  ],
  [
    'an agent that finished without a reply',
    rightAgent({ inspect: async () => ({ outcome: 'finished' }) }),
    ['inspects', 'inspectsDone', 'inspectsStopped'],
  ],
  [
    'an agent of an unknown outcome',
    rightAgent({ inspect: async () => ({ outcome: 'maybe' }) }),
    ['inspects', 'inspectsDone', 'inspectsStopped'],
  ],
  [
    'an agent that cannot inspect what it did',
    rightAgent({
      inspect: async (state: unknown) => {
        if (state !== null) throw new Error('the store is on fire')
        return { outcome: 'unknown' }
      },
    }),
    ['inspectsDone', 'inspectsStopped'],
  ],
  [
    'an agent whose turns are never finished',
    rightAgent({ inspect: async () => ({ outcome: 'unfinished' }) }),
    ['inspectsDone'],
  ],
  [
    'an agent whose turns are always finished',
    rightAgent({ inspect: async () => ({ outcome: 'finished', reply: 'hi' }) }),
    ['inspectsStopped'],
  ],
  [
    'an agent that inspects another turn',
    rightAgent({
      inspect: async (_: unknown, { options }: ProviderSettings) =>
        options.mode === 'slow' ? { outcome: 'unfinished' } : { outcome: 'finished', reply: 'of yesterday' },
    }),
    ['inspectsDone'],
  ],
  [
    'an agent that keeps its state to itself',
    rightAgent({}, { send: sendsWithout }),
    ['early', 'stops', 'fails'],
  ],
  [
    'an agent with a late state',
    agentThatYields({ type: 'text', text: 'x' }, { type: 'state', state: STATE }, DONE),
    TURNS,
  ],
  ['an agent with a state that is not bytes', agentThatYields({ type: 'state', state: 'x' }, DONE), TURNS],
  [
    'an agent with a state that is too large',
    agentThatYields({ type: 'state', state: new Uint8Array(513 * 1024) }, DONE),
    TURNS,
  ],
  [
    'an agent with half a token',
    agentThatYields({ type: 'usage', usage: { input_tokens: 0.5, output_tokens: 1 } }, DONE),
    TURNS,
  ],
  ['an agent with an empty note', agentThatYields({ type: 'note', text: ' ' }, DONE), TURNS],
  ['an agent with text that is not a string', agentThatYields({ type: 'text', text: null }, DONE), TURNS],
  ['an agent with a reply that is not a string', agentThatYields({ type: 'done', reply: null }), TURNS],
  [
    'an agent whose tools are right',
    agentThatYields(STARTED, FINISHED, { ...STARTED, call_id: 'd' }, { ...FINISHED, call_id: 'd' }, DONE),
    [],
  ],
  ['a tool that finishes without a start', agentThatYields(FINISHED, DONE), TURNS],
  ['a tool that finishes twice', agentThatYields(STARTED, FINISHED, FINISHED, DONE), TURNS],
  ['a tool that is started twice', agentThatYields(STARTED, FINISHED, STARTED, FINISHED, DONE), TURNS],
  ['a tool that never finishes', agentThatYields(STARTED, DONE), TURNS],
  [
    'a tool that finishes under another name',
    agentThatYields(STARTED, { ...FINISHED, tool: 'x' }, DONE),
    TURNS,
  ],
  ['a tool without an id', agentThatYields({ ...STARTED, call_id: '' }, DONE), TURNS],
  ['a tool whose input is text', agentThatYields({ ...STARTED, input: 'ls' }, FINISHED, DONE), TURNS],
  ['a tool without an output', agentThatYields(STARTED, { ...FINISHED, output: undefined }, DONE), TURNS],
  ['an agent that waits without need', agentThatYields(waitFor()), TURNS],
  ['an agent that waits without asks', agentThatYields(waitFor({ asks: [] })), TURNS],
  [
    'an agent that needs a tool server',
    agentWith(needs((tools) => tools !== null)),
    ['ends', 'restores', 'early', 'inspectsDone'],
  ],
  ['an agent that cannot have a tool server', agentWith(needs((tools) => tools === null)), ['offered']],
  ['an agent that asks when it is stopped', asksWhenStopped(), ['stops']],
  [
    'an agent that leaves its program behind',
    agentWith(launches),
    [...TURNS, 'stops', 'fails', 'killed', 'inspectsStopped'],
  ],
]

describe.concurrent('the suite finds a provider with', () => {
  test.each(BROKEN)('%s', async (_, provider, expected, withinMs = 3_600_000) => {
    const failed: string[] = []
    const fixture = { ...FIXTURE, slow: { ...SLOW, withinMs } }
    await Promise.all(
      conformanceCases(provider, fixture).map(({ title, run }) => run().catch(() => void failed.push(title))),
    )
    expect(failed.sort()).toEqual(expected.map((title) => TITLES[title]).sort())
  })
})

test('the titles are those of the suite', () => {
  const titles = [rightModel(), rightAgent()]
    .flatMap((provider) => conformanceCases(provider, FIXTURE))
    .map(({ title }) => title)
  expect(new Set(titles)).toEqual(new Set(Object.values(TITLES)))
})

describe('the suite finds an agent that asks and', () => {
  type Answer = (given: { decision: string }) => AsyncIterable<unknown>
  interface Asker {
    send?: (options: { allow: string[] }, host: AgentHost) => AsyncIterable<unknown>
    answer?: Answer | undefined
  }

  async function* asks({ allow }: { allow: string[] }): AsyncIterable<unknown> {
    yield { type: 'state', state: STATE }
    yield allow.includes('all') ? { type: 'done', reply: 'it is made' } : waitFor()
  }

  async function* answers({ decision }: { decision: string }): AsyncIterable<unknown> {
    yield { type: 'done', reply: decision === 'approve' ? 'it is made' : 'as you say' }
  }

  /** The failing cases about waits, with their reasons. */
  async function broken({ send = asks, ...parts }: Asker = {}): Promise<string[]> {
    const answer = 'answer' in parts ? parts.answer : answers
    const create = async (_: unknown, host: AgentHost): Promise<AgentSession> =>
      ({
        send: (prompt: string, options: { allow: string[] }) =>
          prompt === 'hi' ? sendsWithout(prompt) : send(options, host),
        answer,
        suspend: async () => null,
        stop: async () => undefined,
      }) as unknown as AgentSession
    const provider = rightAgent({
      create,
      restore: (_: unknown, settings: ProviderSettings, host: AgentHost) => create(settings, host),
    })
    const fixture = { ...FIXTURE, slow: undefined, failing: undefined, refused: undefined }
    const found: string[] = []
    for (const { title, run } of conformanceCases(provider, {
      ...(fixture as ConformanceFixture),
      asks: { settings: works, prompt: 'make it', expected: 'it is made' },
    })) {
      await run().catch(({ message }: Error) =>
        found.push(`${title}: ${message.replace(/^.*the contract: /, '')}`),
      )
    }
    return found
  }
  const ENDS = 'a turn that needs the user ends in a wait and leaves no program running'
  const APPROVED = 'an approved call is made after suspend and restore'
  const DENIED = 'a denied call is not made, and the turn ends'
  const ALLOWED = 'an allowed call is made without a wait'

  test('is correct, and passes', async () => {
    expect(await broken()).toEqual([])
  })

  test('does not wait', async () => {
    const send = (): AsyncIterable<unknown> => sendsWithout('it is made')
    const why = 'a turn that uses a tool without permission must end in a wait'
    expect(await broken({ send })).toEqual([`${ENDS}: ${why}`, `${APPROVED}: ${why}`, `${DENIED}: ${why}`])
  })

  test('has no answer', async () => {
    const why = 'a session that yields a wait must have answer'
    expect(await broken({ answer: undefined })).toEqual([
      `${ENDS}: ${why}`,
      `${APPROVED}: ${why}`,
      `${DENIED}: ${why}`,
    ])
  })

  test('asks again and again', async () => {
    const answer = async function* (): AsyncIterable<unknown> {
      yield waitFor()
    }
    const why = 'a turn must end in done after its answer'
    expect(await broken({ answer })).toEqual([`${APPROVED}: ${why}`, `${DENIED}: ${why}`])
  })

  test('makes a denied call', async () => {
    const answer: Answer = () => answers({ decision: 'approve' })
    expect(await broken({ answer })).toEqual([
      expect.stringContaining(`${DENIED}: the reply must not contain "it is made"`),
    ])
  })

  test('does not make an approved call', async () => {
    const answer: Answer = () => answers({ decision: 'deny' })
    expect(await broken({ answer })).toEqual([
      expect.stringContaining(`${APPROVED}: the reply must contain "it is made"`),
    ])
  })

  test('asks for an allowed tool', async () => {
    const send = (): AsyncIterable<unknown> => asks({ allow: [] })
    expect(await broken({ send })).toEqual([
      `${ALLOWED}: a turn that uses only allowed tools must end in done`,
    ])
  })

  test('leaves its program running while it waits', async () => {
    const send: Asker['send'] = async function* (options, host) {
      const { signal } = new AbortController()
      await host.launch({ argv: ['/bin/sleep', '3600'], cwd: '/' }, { signal })
      yield* asks(options)
    }
    const why = 'no program may run after suspend or stop'
    expect(await broken({ send })).toEqual(
      [ENDS, APPROVED, DENIED, ALLOWED].map((title) => `${title}: ${why}`),
    )
  })
})

describe('the suite finds an agent whose inspect', () => {
  type IsFinished = (heard: HeardOfTurn, prompt: string) => boolean
  const FAILED = { ...FINISHED, is_error: true }
  const hears: IsFinished = ({ finished }) => finished.includes(FAILED.call_id)
  const answers: IsFinished = ({ answered }) => answered >= 2

  /** The reasons of failing cases about recorded calls. The state has the prompt of the turn. */
  async function broken(isFinished: IsFinished, tools: object[] = [STARTED, FAILED]): Promise<string[]> {
    const sends = agentWith(async function* (_settings, _options, _host, prompt) {
      yield { type: 'state', state: new TextEncoder().encode(prompt) }
      if (prompt === 'fails') yield* tools
      yield { type: 'done', reply: 'so be it' }
    })
    const inspect: AgentProvider['inspect'] = async (state, _, options) => {
      const isSo = isFinished((options as InspectOptions).heard, new TextDecoder().decode(state ?? undefined))
      return isSo ? { outcome: 'finished', reply: 'so be it' } : { outcome: 'unfinished' }
    }
    const inspects = { settings: works, fails: 'fails', calls: { prompt: 'calls', count: 2 } }
    const fixture = { settings: works, prompt: 'hi', expected: 'so be it', inspects }
    const found: string[] = []
    for (const { title, run } of conformanceCases({ ...sends, inspect }, fixture))
      if (title.includes('substrat has'))
        await run().catch(({ message }: Error) => found.push(message.replace(/^.*the contract: /, '')))
    return found
  }

  test.each<[string, IsFinished, string[]]>([
    ['is right', (heard, prompt) => (prompt === 'fails' ? hears : answers)(heard, prompt), []],
    [
      'does not mind what failed unheard',
      (heard, prompt) => prompt === 'fails' || answers(heard, prompt),
      ['an unrecorded failure must make the turn unfinished'],
    ],
    [
      'does not count the calls',
      (heard, prompt) => prompt === 'calls' || hears(heard, prompt),
      ['an unanswered call must make the turn unfinished'],
    ],
    [
      'trusts nothing',
      () => false,
      [
        'a recorded failure must not make the turn unfinished',
        'answered calls must not make the turn unfinished',
      ],
    ],
  ])('%s', async (_, isFinished, why) => {
    expect(await broken(isFinished)).toEqual(why)
  })

  test('is tested with a turn without a failed tool', async () => {
    expect(await broken(answers, [])).toEqual(['the turn of the fixture must have a failed tool'])
  })
})

describe('the suite finds a model whose tool calls', () => {
  const call = (over: object = {}): ModelEvent =>
    ({
      type: 'tool_call',
      call: { call_id: 'c', name: 'look', input: { place: 'x' }, ...over },
    }) as ModelEvent
  const STOP: ModelEvent = { type: 'stop', reason: 'tool_calls' }
  const right: ModelEvent[] = [call(), STOP]
  const blue: ModelEvent[] = [
    { type: 'text', text: 'blue' },
    { type: 'stop', reason: 'end' },
  ]

  /** The failing cases about tools, for a model with these answers to the prompt and to the results. */
  async function broken(first: ModelEvent[], second = blue): Promise<string[]> {
    const { complete, ...facts } = model(() => says())
    const provider: ModelProvider = {
      ...facts,
      complete: (request) => says(...(request.messages().length === 1 ? first : second)),
    }
    const found: string[] = []
    const tools = { settings: works, prompt: 'what colour?', expected: 'blue' }
    for (const { title, run } of conformanceCases(provider, {
      settings: works,
      prompt: '',
      expected: '',
      tools,
    })) {
      if (!/call/.test(title)) continue
      await run().catch((error: Error) => found.push(`${title}: ${error.message}`))
    }
    return found
  }

  test('are correct, and passes', async () => {
    expect(await broken(right)).toEqual([])
  })

  test.each<[string, ModelEvent[], string]>([
    ['are not there', blue, 'the response must call a tool'],
    ['have no id', [call({ call_id: '' }), STOP], 'a call must have an id'],
    ['have one id for two', [call(), call(), STOP], 'each call must have its own id'],
    ['are of another tool', [call({ name: 'shell' }), STOP], 'a call must name the offered tool'],
    ['have their input as text', [call({ input: '{}' }), STOP], 'the input of a call must be an object'],
    [
      'end as if there were none',
      [call(), { type: 'stop', reason: 'end' }],
      'the response must stop with tool_calls',
    ],
  ])('%s', async (_, first, why) => {
    expect(await broken(first)).toContainEqual(expect.stringContaining(why))
  })

  test('have results that it ignores', async () => {
    expect(await broken(right, [{ type: 'text', text: 'red' }, blue[1] as ModelEvent])).toEqual([
      expect.stringContaining('the reply to the results must contain "blue"'),
    ])
  })
})
