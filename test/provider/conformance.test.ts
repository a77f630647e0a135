import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { type ConformanceFixture, conformanceCases } from '../../src/provider/conformance.js'
import type {
  AgentHost,
  AgentProvider,
  AgentSession,
  CallOptions,
  ModelEvent,
  ModelProvider,
  ModelRequest,
  Provider,
  ProviderSettings,
} from '../../src/provider/contract.js'
import { exec } from '../../src/provider/exec.js'
import { providerFailure } from '../../src/provider/failure.js'
import { scripted } from '../../src/provider/scripted.js'
import { hang, model, says } from '../support/turns.js'

const TITLES = {
  describes: 'it describes itself and each of its options in a line',
  accepts: 'its check accepts settings that work',
  refuses: 'its check refuses settings that cannot work, as misconfigured',
  answers: 'it answers with text and ends after exactly one stop; asked twice, it answers twice',
  stops: 'a turn that is stopped ends within 3 s',
  fails: 'a turn that fails throws, and says why',
  ends: 'a turn ends after exactly one done, with the reply',
  restores: 'what suspend returns can be restored, and goes on',
  lets: 'stop never throws, also twice and before any turn',
  inspects: 'inspect says finished with a reply, unfinished or unknown, also of no state',
}

const works: ProviderSettings = { workspace: tmpdir(), model: null, instructions: null, options: {} }
const withOptions = (options: Record<string, string>): ProviderSettings => ({ ...works, options })

describe('exec conforms', () => {
  const fixture: ConformanceFixture = {
    settings: withOptions({ command: "printf 'you said: '; cat" }),
    prompt: 'hi',
    expected: 'you said: hi',
    slow: { settings: withOptions({ command: 'sleep 30' }), prompt: 'hi' },
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
    writeFileSync(join(directory, 'slow.json'), '{"responses":[{"delay_ms":30000}]}')
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
    slow: { settings: file('slow.json'), prompt: 'hi' },
    failing: file('fails.json'),
    refused: file('gone.json'),
  }
  for (const { title, run } of conformanceCases(scripted, fixture)) test(title, run)
})

/** A right provider of each kind, of which each broken one below is otherwise in one thing. */
const options = { mode: 'ok, slow, fail or refuse' }
const FIXTURE: ConformanceFixture = {
  settings: withOptions({ mode: 'ok' }),
  prompt: 'hi',
  expected: 'hi',
  slow: { settings: withOptions({ mode: 'slow' }), prompt: 'hi' },
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

/** Answers with these events where it should answer at all. */
function modelThatYields(...events: unknown[]): ModelProvider {
  return rightModel({
    async *complete(request: ModelRequest, { signal }: CallOptions) {
      await play(request, signal)
      yield* events
    },
  })
}

function rightAgent(parts: object = {}, inSession: object = {}): AgentProvider {
  const create = async (settings: ProviderSettings): Promise<AgentSession> =>
    ({
      async *send(prompt: string, { signal }: CallOptions) {
        await play(settings, signal)
        yield { type: 'done', reply: prompt }
      },
      suspend: async () => new TextEncoder().encode('state'),
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

async function* launches(
  settings: ProviderSettings,
  options: CallOptions,
  host: AgentHost,
  prompt: string,
): AsyncIterable<unknown> {
  await host.launch({ argv: ['/bin/sleep', '60'], cwd: settings.workspace }, options)
  await play(settings, options.signal)
  yield { type: 'done', reply: prompt }
}

type Title = keyof typeof TITLES
const BROKEN: [string, Provider, Title[]][] = [
  ['a model that is right', rightModel(), []],
  ['an agent that is right', rightAgent(), []],
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
  ['a model without a stop', modelThatYields({ type: 'text', text: 'hi' }), ['answers']],
  ['a model with two stops', modelThatYields({ type: 'text', text: 'hi' }, END, END), ['answers']],
  ['a model that goes on after its stop', modelThatYields(END, { type: 'text', text: 'hi' }), ['answers']],
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
  ['an agent without a done', agentThatYields({ type: 'text', text: 'hi' }), ['ends', 'restores']],
  [
    'an agent with two',
    agentThatYields({ type: 'done', reply: 'hi' }, { type: 'done', reply: 'hi' }),
    ['ends', 'restores'],
  ],
  [
    'an agent that goes on after it',
    agentThatYields({ type: 'done', reply: 'hi' }, { type: 'text', text: 'x' }),
    ['ends', 'restores'],
  ],
  ['an agent that replies otherwise', agentThatYields({ type: 'done', reply: 'no' }), ['ends', 'restores']],
  ['an agent with a model event', agentThatYields(END, { type: 'done', reply: 'hi' }), ['ends', 'restores']],
  [
    'an agent that cannot restore',
    rightAgent({ restore: () => Promise.reject(new Error('no such session')) }),
    ['restores'],
  ],
  [
    'an agent that cannot suspend',
    rightAgent({}, { suspend: () => Promise.reject(new Error('no')) }),
    ['restores'],
  ],
  [
    'an agent that throws at stop',
    rightAgent({}, { stop: () => Promise.reject(new Error('no')) }),
    ['ends', 'restores', 'lets'],
  ],
  [
    'an agent that cannot inspect no state',
    rightAgent({ inspect: () => Promise.reject(new Error('no state')) }),
    ['inspects'],
  ],
  [
    'an agent that finished without a reply',
    rightAgent({ inspect: async () => ({ outcome: 'finished' }) }),
    ['inspects'],
  ],
  [
    'an agent of an unknown outcome',
    rightAgent({ inspect: async () => ({ outcome: 'maybe' }) }),
    ['inspects'],
  ],
  ['an agent that leaves its program behind', agentWith(launches), ['ends', 'restores', 'stops', 'fails']],
]

describe.concurrent('the suite finds a provider with', () => {
  test.each(BROKEN)('%s', async (_, provider, expected) => {
    const failed: string[] = []
    await Promise.all(
      conformanceCases(provider, FIXTURE).map(({ title, run }) => run().catch(() => void failed.push(title))),
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

  /** Which of the cases about tools fail for a model that first answers so, and so to the results. */
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

  test('are right, and passes it', async () => {
    expect(await broken(right)).toEqual([])
  })

  test.each<[string, ModelEvent[], string]>([
    ['are not there', blue, 'it called a tool'],
    ['have no id', [call({ call_id: '' }), STOP], 'a call has an id'],
    ['have one id for two', [call(), call(), STOP], 'each call has an id of its own'],
    ['are of another tool', [call({ name: 'shell' }), STOP], 'it called the tool that it was offered'],
    ['have their input as text', [call({ input: '{}' }), STOP], 'the input of a call is an object'],
    ['end as if there were none', [call(), { type: 'stop', reason: 'end' }], 'it stops with tool_calls'],
  ])('%s', async (_, first, why) => {
    expect(await broken(first)).toContainEqual(expect.stringContaining(why))
  })

  test('have results that it does not read', async () => {
    expect(await broken(right, [{ type: 'text', text: 'red' }, blue[1] as ModelEvent])).toEqual([
      expect.stringContaining('the reply to the results has "blue"'),
    ])
  })
})
