/**
 * The conformance suite (`substrat/conformance`): what every provider must do, as cases for any test runner.
 *
 *     for (const { title, run } of conformanceCases(provider, fixture)) test(title, run)
 *
 * A case throws an Error that says which sentence of the contract does not hold.
 */
import { randomUUID } from 'node:crypto'
import type { ProcessGroup } from '../session/records.js'
import {
  type ConformanceCase,
  ContractBroken,
  collect,
  MODEL_EVENTS,
  must,
  never,
  one,
} from './conformance-case.js'
import { type ToolFixture, toolCases } from './conformance-tools.js'
import type {
  AgentEvent,
  AgentHost,
  AgentProvider,
  AgentSession,
  ModelEvent,
  ModelProvider,
  Provider,
  ProviderSettings,
} from './contract.js'
import { describeFailure } from './failure.js'
import { createHost, killLeftGroup } from './program.js'

export type { ConformanceCase }

export interface ConformanceFixture {
  /** Settings with which a turn succeeds. */
  settings: ProviderSettings
  /** A prompt that is answered at once, and what the reply must contain. */
  prompt: string
  expected: string
  /**
   * For a model that calls tools: a prompt that it answers with a call of the one tool `look`, whose input has `place`,
   * and what its reply must contain once the result says `blue`.
   */
  tools?: ToolFixture
  /** A prompt whose turn takes at least 5 s, to be stopped. */
  slow?: { settings: ProviderSettings; prompt: string }
  /** Settings with which every turn fails. */
  failing?: ProviderSettings
  /** Settings that `check` refuses. */
  refused?: ProviderSettings
}

const STOP_MS_MAX = 3000
const AGENT_EVENTS: AgentEvent['type'][] = ['state', 'text', 'usage', 'done']

export function conformanceCases(provider: Provider, fixture: ConformanceFixture): ConformanceCase[] {
  return [
    ...commonCases(provider, fixture),
    ...(provider.kind === 'model' ? modelCases(provider, fixture) : agentCases(provider, fixture)),
  ]
}

function commonCases(provider: Provider, { settings, refused }: ConformanceFixture): ConformanceCase[] {
  const cases = [
    one('it describes itself and each of its options in a line', async () => {
      for (const text of [provider.description, ...Object.values(provider.options)]) {
        must(
          typeof text === 'string' && text !== '' && !text.includes('\n'),
          `a description is one line: ${JSON.stringify(text)}`,
        )
      }
    }),
    one('its check accepts settings that work', async () => provider.check?.(settings)),
  ]
  if (refused === undefined) return cases
  const refuses = one('its check refuses settings that cannot work, as misconfigured', async () => {
    const type = await failureOf(async () => provider.check?.(refused))
    must(type === 'misconfigured' || type === 'authentication', `the type is ${type}`)
  })
  return [...cases, refuses]
}

function modelCases(provider: ModelProvider, fixture: ConformanceFixture): ConformanceCase[] {
  const ask = (settings: ProviderSettings, prompt: string, signal: AbortSignal): Promise<ModelEvent[]> => {
    const messages = (): { role: 'user'; content: string }[] => [{ role: 'user', content: prompt }]
    const request = { ...settings, prompt, messages, responses_before: 0, attempt: 1, tools: [] }
    return collect(provider.complete(request, { signal }), MODEL_EVENTS)
  }
  const answers = one(
    'it answers with text and ends after exactly one stop; asked twice, it answers twice',
    async () => {
      for (const _ of [1, 2]) {
        const events = await ask(fixture.settings, fixture.prompt, never())
        must(
          events.filter(({ type }) => type === 'stop').length === 1 && events.at(-1)?.type === 'stop',
          'one stop, at the end',
        )
        const text = events.map((event) => (event.type === 'text' ? event.text : '')).join('')
        must(
          text.includes(fixture.expected),
          `the reply has ${JSON.stringify(fixture.expected)}: ${JSON.stringify(text.slice(0, 200))}`,
        )
      }
    },
  )
  const { slow, failing, tools } = fixture
  return [
    answers,
    ...(tools === undefined ? [] : toolCases(provider, tools)),
    ...(slow === undefined ? [] : [stops((signal) => ask(slow.settings, slow.prompt, signal))]),
    ...(failing === undefined ? [] : [fails(() => ask(failing, fixture.prompt, never()))]),
  ]
}

function agentCases(provider: AgentProvider, fixture: ConformanceFixture): ConformanceCase[] {
  const { slow, failing } = fixture
  return [
    one('a turn ends after exactly one done, with the reply', () =>
      withHost(async (host) => {
        const session = await provider.create(fixture.settings, host)
        await replies(session, fixture)
        await session.stop()
      }),
    ),
    one('what suspend returns can be restored, and goes on', () =>
      withHost(async (host) => {
        const first = await provider.create(fixture.settings, host)
        await replies(first, fixture)
        const state = await first.suspend()
        const restored =
          state === null
            ? await provider.create(fixture.settings, host)
            : await provider.restore(state, fixture.settings, host)
        await replies(restored, fixture)
        await restored.stop()
      }),
    ),
    one('stop never throws, also twice and before any turn', () =>
      withHost(async (host) => {
        const session = await provider.create(fixture.settings, host)
        await session.stop()
        await session.stop()
      }),
    ),
    one('inspect says finished with a reply, unfinished or unknown, also of no state', async () => {
      const inspection = await provider.inspect(null, fixture.settings)
      const isKnown = ['finished', 'unfinished', 'unknown'].includes(inspection.outcome)
      must(
        isKnown && (inspection.outcome !== 'finished' || typeof inspection.reply === 'string'),
        JSON.stringify(inspection),
      )
    }),
    ...(slow === undefined
      ? []
      : [stops((signal) => withHost((host) => turn(provider, slow.settings, slow.prompt, host, signal)))]),
    ...(failing === undefined
      ? []
      : [fails(() => withHost((host) => turn(provider, failing, fixture.prompt, host, never())))]),
  ]
}

async function turn(
  provider: AgentProvider,
  settings: ProviderSettings,
  prompt: string,
  host: AgentHost,
  signal: AbortSignal,
): Promise<AgentEvent[]> {
  const session = await provider.create(settings, host)
  try {
    const events = await collect(session.send(prompt, { signal }), AGENT_EVENTS)
    must(events.at(-1)?.type === 'done', 'a turn that ends without an error ends with done')
    return events
  } finally {
    await session.stop()
  }
}

async function replies(session: AgentSession, { prompt, expected }: ConformanceFixture): Promise<void> {
  const events = await collect(session.send(prompt, { signal: never() }), AGENT_EVENTS)
  const done = events.filter((event) => event.type === 'done')
  must(done.length === 1 && events.at(-1)?.type === 'done', 'one done, at the end')
  must(
    done[0]?.reply.includes(expected) === true,
    `the reply has ${JSON.stringify(expected)}: ${JSON.stringify(done[0]?.reply.slice(0, 200))}`,
  )
}

/** A host like substrat's own; no program that it launched may be left when the case is over. */
async function withHost<T>(act: (host: AgentHost) => Promise<T>): Promise<T> {
  const runId = randomUUID()
  const groups: ProcessGroup[] = []
  const environment = {
    SUBSTRAT_RUN: runId,
    SUBSTRAT_AGENT: runId,
    SUBSTRAT_HOME: '/nonexistent',
    SUBSTRAT_LOG: '/nonexistent',
  }
  try {
    return await act(createHost({ environment, record: (group) => void groups.push(group) }))
  } finally {
    for (const group of groups) {
      must((await killLeftGroup(group, runId)) === 'gone', 'no program is left when its session has let go')
    }
  }
}

/** A turn that is stopped ends soon, by an error or by the end of its stream, and without an answer. */
function stops(begin: (signal: AbortSignal) => Promise<{ type: string }[]>): ConformanceCase {
  return one('a turn that is stopped ends within 3 s', async () => {
    const controller = new AbortController()
    const ended = begin(controller.signal).catch(unlessBroken)
    await new Promise((resolve) => setTimeout(resolve, 300))
    controller.abort()
    const late = new Promise<undefined>((resolve) => setTimeout(resolve, STOP_MS_MAX, undefined))
    const events = await Promise.race([ended, late])
    must(events !== undefined, 'it ended in time')
    must(
      events?.some(({ type }) => type === 'done' || type === 'stop') === false,
      'it did not pretend to have answered',
    )
  })
}

/** A stopped turn may throw what it likes; what the suite found wrong meanwhile counts. */
function unlessBroken(error: unknown): [] {
  if (error instanceof ContractBroken) throw error
  return []
}

function fails(begin: () => Promise<unknown>): ConformanceCase {
  return one('a turn that fails throws, and says why', async () => {
    const type = await failureOf(begin)
    must(type !== undefined, 'it threw')
  })
}

/** The type of what `act` throws; undefined where it throws nothing. */
async function failureOf(act: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await act()
    return undefined
  } catch (error) {
    if (error instanceof ContractBroken) throw error
    must(error instanceof Error && error.message.trim() !== '', 'what it throws is an error that says why')
    return describeFailure(error).type
  }
}
