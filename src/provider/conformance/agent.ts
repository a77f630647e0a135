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
    caseOf('a turn ends after exactly one done, with the reply', () =>
      withHost(null, async (host) => {
        const session = await provider.create(fixture.settings, host)
        await replies(session, fixture)
        await session.stop()
      }),
    ),
    caseOf('a turn may be offered a tool server', () =>
      withHost(toolServer(), async (host) => {
        const session = await provider.create(fixture.settings, host)
        await replies(session, fixture)
        await session.stop()
      }),
    ),
    caseOf('what suspend returns can be restored, and goes on', () =>
      withHost(null, async (host) => {
        const first = await provider.create(fixture.settings, host)
        await replies(first, fixture)
        const restored = await restoreSession(provider, first, fixture.settings, host)
        await replies(restored, fixture)
        await restored.stop()
      }),
    ),
    caseOf('what restore needs goes out as soon as it is known, for a turn that dies', () =>
      withHost(null, async (host) => {
        const session = await provider.create(fixture.settings, host)
        const { events } = await replies(session, fixture)
        const state = events.findLast((event) => event.type === 'state')?.state
        const needs = await session.suspend()
        demand(
          needs === null || state !== undefined,
          'a session that needs a state yielded it during its turn',
        )
        if (state === undefined) return
        const restored = await provider.restore(state, fixture.settings, host)
        await replies(restored, fixture)
        await restored.stop()
      }),
    ),
    caseOf('stop never throws, also twice and before any turn', () =>
      withHost(null, async (host) => {
        const session = await provider.create(fixture.settings, host)
        await session.stop()
        await session.stop()
      }),
    ),
    caseOf('inspect says finished with a reply, unfinished or unknown, also of no state', async () => {
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
          caseOf(
            'a program that is killed fails the turn as crashed, and was not killed by the provider',
            () => withHost(null, (host, _, launched) => killProgram(provider, slow, host, launched)),
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
  /** A turn that waits for a person, and the session in which it is answered: another, in another process mostly. */
  const parkedSession = async (
    host: AgentHost,
  ): Promise<{ session: AgentSession; asks: WaitAnswer['asks'] }> => {
    const first = await provider.create(settings, host)
    const { end } = await ask(first, prompt)
    demand(end.type === 'wait', 'what is not allowed is waited for')
    const session = await restoreSession(provider, first, settings, host)
    return { session, asks: end.type === 'wait' ? end.asks : [] }
  }
  const replyAfterAnswer = async (decision: WaitAnswer['decision'], text: string): Promise<string> =>
    withHost(null, async (host) => {
      const { session, asks } = await parkedSession(host)
      const stream = session.answer?.({ decision, text, asks }, { signal: neverSignal(), allow: [] })
      demand(stream !== undefined, 'the restored session has an answer too')
      const { end } = await checkedTurn(session, stream as AsyncIterable<AgentEvent>)
      await session.stop()
      demand(end.type === 'done', 'a turn that was answered is done')
      return end.type === 'done' ? end.reply : ''
    })
  return [
    caseOf('a turn that asks for a person ends in a wait, and nothing of it runs', () =>
      withHost(null, async (host, mustHaveEnded) => {
        const session = await provider.create(settings, host)
        const { end } = await ask(session, prompt)
        demand(end.type === 'wait', 'what is not allowed is waited for')
        await session.suspend()
        await mustHaveEnded()
      }),
    ),
    caseOf('what is approved goes on, in a session that was suspended and restored', async () => {
      mustHave(await replyAfterAnswer('approve', ''), expected)
    }),
    caseOf('what is denied ends too, and is not done', async () => {
      const reply = await replyAfterAnswer('deny', 'it is not wanted')
      demand(
        !reply.includes(expected),
        `the reply has not ${JSON.stringify(expected)}: ${JSON.stringify(reply)}`,
      )
    }),
    caseOf('what is allowed is not asked for', () =>
      withHost(null, async (host) => {
        const session = await provider.create(settings, host)
        const { end } = await ask(session, prompt, ['all'])
        demand(end.type === 'done', 'what is allowed is not waited for')
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
  demand(checked.end.type === 'done', 'a prompt that needs nobody is done')
  mustHave(checked.end.type === 'done' ? checked.end.reply : '', expected)
  return checked
}

function mustHave(reply: string, expected: string): void {
  demand(
    reply.includes(expected),
    `the reply has ${JSON.stringify(expected)}: ${JSON.stringify(reply.slice(0, 200))}`,
  )
}

/** The same conversation, let go of and taken up again. */
async function restoreSession(
  provider: AgentProvider,
  session: AgentSession,
  settings: ProviderSettings,
  host: AgentHost,
): Promise<AgentSession> {
  const state = await session.suspend()
  return state === null ? provider.create(settings, host) : provider.restore(state, settings, host)
}
