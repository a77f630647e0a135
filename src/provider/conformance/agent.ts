/** The cases of the conformance suite about agent providers. */

import type { AgentEvent, AgentProvider, AgentSession, ProviderSettings, WaitAnswer } from '../contract.js'
import type { AgentHost } from '../host-contract.js'
import { type ConformanceCase, type ConformanceFixture, caseOf, demand, neverSignal } from './case.js'
import { failureCase, refusalCase, stopCase } from './ends.js'
import { type CheckedTurn, checkedTurn } from './events.js'
import { toolServer, withHost } from './host.js'
import { doneIsFinished, inspectCases, stoppedIsUnfinished } from './inspect.js'
import { keptServerCases } from './kept-server.js'
import { killProgram } from './killed.js'

export function agentCases(provider: AgentProvider, fixture: ConformanceFixture): ConformanceCase[] {
  const { slow, failing, asks, refuses: refused } = fixture
  return [
    caseOf('a turn ends after exactly one done with the reply', () =>
      withHost(null, async (host) => {
        const session = await provider.create(fixture.settings, host)
        await replies(session, fixture)
        await session.stop()
      }),
    ),
    caseOf('a turn works with a tool server', () =>
      withHost(toolServer(), async (host) => {
        const session = await provider.create(fixture.settings, host)
        await replies(session, fixture)
        await session.stop()
      }),
    ),
    caseOf('restore continues the session from the result of suspend', () =>
      withHost(null, async (host) => {
        const first = await provider.create(fixture.settings, host)
        await replies(first, fixture)
        const restored = await restoreSession(provider, first, fixture.settings, host)
        await replies(restored, fixture)
        await restored.stop()
      }),
    ),
    caseOf('a turn yields the state for restore as soon as it is known', () =>
      withHost(null, async (host) => {
        const session = await provider.create(fixture.settings, host)
        const { events } = await replies(session, fixture)
        const state = events.findLast((event) => event.type === 'state')?.state
        const needs = await session.suspend()
        demand(
          needs === null || state !== undefined,
          'a session that needs a state must yield it during its turn',
        )
        if (state === undefined) return
        const restored = await provider.restore(state, fixture.settings, host)
        await replies(restored, fixture)
        await restored.stop()
      }),
    ),
    caseOf('stop never throws, even twice or before any turn', () =>
      withHost(null, async (host) => {
        const session = await provider.create(fixture.settings, host)
        await session.stop()
        await session.stop()
      }),
    ),
    caseOf('inspect returns finished with a reply, unfinished or unknown, even without a state', async () => {
      const inspection = await provider.inspect(null, fixture.settings)
      const isKnown = ['finished', 'unfinished', 'unknown'].includes(inspection.outcome)
      demand(
        isKnown && (inspection.outcome !== 'finished' || typeof inspection.reply === 'string'),
        JSON.stringify(inspection),
      )
    }),
    doneIsFinished(provider, fixture),
    ...(fixture.inspects === undefined ? [] : inspectCases(provider, fixture.inspects)),
    ...(asks === undefined ? [] : waitCases(provider, asks)),
    ...(fixture.keepsServer === true ? keptServerCases(provider, fixture) : []),
    ...(slow === undefined
      ? []
      : [
          stopCase(
            (signal) => withHost(null, (host) => turn(provider, slow.settings, slow.prompt, host, signal)),
            slow.withinMs,
          ),
          caseOf('a turn whose program is killed fails as crashed, and the provider awaits the exit', () =>
            withHost(null, (host, _, launched) => killProgram(provider, slow, host, launched)),
          ),
          stoppedIsUnfinished(provider, slow),
        ]),
    ...(failing === undefined
      ? []
      : [
          failureCase(() =>
            withHost(null, (host) => turn(provider, failing, fixture.prompt, host, neverSignal())),
          ),
        ]),
    ...(refused === undefined
      ? []
      : [
          refusalCase(() =>
            withHost(null, (host) => turn(provider, refused.settings, refused.prompt, host, neverSignal())),
          ),
        ]),
  ]
}

function waitCases(
  provider: AgentProvider,
  { settings, prompt, expected }: NonNullable<ConformanceFixture['asks']>,
): ConformanceCase[] {
  /** Runs a turn to its wait, and restores a session to answer it, as another process would. */
  const parkedSession = async (
    host: AgentHost,
  ): Promise<{ session: AgentSession; asks: WaitAnswer['asks'] }> => {
    const first = await provider.create(settings, host)
    const { end } = await ask(first, prompt)
    demand(end.type === 'wait', 'a turn that uses a tool without permission must end in a wait')
    const session = await restoreSession(provider, first, settings, host)
    return { session, asks: end.type === 'wait' ? end.asks : [] }
  }
  const replyAfterAnswer = async (decision: WaitAnswer['decision'], text: string): Promise<string> =>
    withHost(null, async (host) => {
      const { session, asks } = await parkedSession(host)
      const stream = session.answer?.({ decision, text, asks }, { signal: neverSignal(), allow: [] })
      demand(stream !== undefined, 'the restored session must have answer too')
      const { end } = await checkedTurn(session, stream as AsyncIterable<AgentEvent>)
      await session.stop()
      demand(end.type === 'done', 'a turn must end in done after its answer')
      return end.type === 'done' ? end.reply : ''
    })
  return [
    caseOf('a turn that needs the user ends in a wait and leaves no program running', () =>
      withHost(null, async (host, mustHaveEnded) => {
        const session = await provider.create(settings, host)
        const { end } = await ask(session, prompt)
        demand(end.type === 'wait', 'a turn that uses a tool without permission must end in a wait')
        await session.suspend()
        await mustHaveEnded()
      }),
    ),
    caseOf('an approved call is made after suspend and restore', async () => {
      mustHave(await replyAfterAnswer('approve', ''), expected)
    }),
    caseOf('a denied call is not made, and the turn ends', async () => {
      const reply = await replyAfterAnswer('deny', 'it is not wanted')
      demand(
        !reply.includes(expected),
        `the reply must not contain ${JSON.stringify(expected)}: ${JSON.stringify(reply)}`,
      )
    }),
    caseOf('an allowed call is made without a wait', () =>
      withHost(null, async (host) => {
        const session = await provider.create(settings, host)
        const { end } = await ask(session, prompt, ['all'])
        demand(end.type === 'done', 'a turn that uses only allowed tools must end in done')
        mustHave(end.type === 'done' ? end.reply : '', expected)
        await session.stop()
      }),
    ),
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
    return (await checkedTurn(session, session.send(prompt, { signal, allow: [] }))).events
  } finally {
    await session.stop()
  }
}

function ask(session: AgentSession, prompt: string, allow: string[] = []): Promise<CheckedTurn> {
  return checkedTurn(session, session.send(prompt, { signal: neverSignal(), allow }))
}

async function replies(
  session: AgentSession,
  { prompt, expected }: ConformanceFixture,
): Promise<CheckedTurn> {
  const checked = await ask(session, prompt)
  demand(checked.end.type === 'done', 'a prompt that needs no user must end in done')
  mustHave(checked.end.type === 'done' ? checked.end.reply : '', expected)
  return checked
}

function mustHave(reply: string, expected: string): void {
  demand(
    reply.includes(expected),
    `the reply must contain ${JSON.stringify(expected)}: ${JSON.stringify(reply.slice(0, 200))}`,
  )
}

/** Suspends the session and restores it. */
async function restoreSession(
  provider: AgentProvider,
  session: AgentSession,
  settings: ProviderSettings,
  host: AgentHost,
): Promise<AgentSession> {
  const state = await session.suspend()
  return state === null ? provider.create(settings, host) : provider.restore(state, settings, host)
}
