/** What becomes of a server by the end of the turn, whatever its provider does about it: here nothing. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { AgentProvider } from '../../src/provider/contract.js'
import type { AgentHost } from '../../src/provider/host-contract.js'
import { keptServerProcesses, stopKeptServer } from '../../src/provider/kept-server.js'
import type { Session } from '../../src/session/session.js'
import { failing, withFaults } from '../support/faults.js'
import { newSession } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'
import { agent, FakeStop, hang, kindsOf, runTurn, type TurnFacts } from '../support/turns.js'

const COMMAND = { argv: ['/bin/sleep', '3600'] as [string, ...string[]], cwd: '/' }
let session: Session

beforeEach(async () => {
  session = await newSession(tempStore())
})

/** Keeps a server where it finds none, and then says `events`. It lets go of nothing. */
function keeping(...events: object[]): AgentProvider {
  const create = async (_: unknown, host: AgentHost): Promise<object> => ({
    async *send(_: string, { signal }: { signal: AbortSignal }) {
      if (host.server === null) {
        const server = await host.launchServer?.(COMMAND, { signal })
        await server?.keep(Buffer.from('x'))
      }
      for (const event of events) {
        if ('hang' in event) await hang()
        if ('fail' in event) throw new Error('it failed')
        yield event
      }
    },
    suspend: async () => Buffer.from('state'),
    stop: async () => undefined,
  })
  const restore = (_: unknown, settings: unknown, host: AgentHost): Promise<object> => create(settings, host)
  return agent({ create, restore })
}

const DONE = { type: 'done', reply: 'fine' }
const WAIT = { type: 'wait', kind: 'approval', asks: [{ call_id: 'c', tool: 'bash', input: {} }] }

function turn(provider: AgentProvider, facts: TurnFacts = {}): ReturnType<typeof runTurn> {
  return runTurn(session, provider, { ...facts, ports: { keepsServers: true, ...facts.ports } })
}

function living(): number[] {
  return keptServerProcesses(session.store.root).map(({ pid }) => pid)
}

describe('a server', () => {
  test('stays after a turn that is done, and is launched by the next as well', async () => {
    expect((await turn(keeping(DONE))).status).toBe('completed')
    const first = living()
    expect(first).toHaveLength(1)
    const before = session.state.last_seq
    expect((await turn(keeping(DONE))).status).toBe('completed')
    expect(living()).toEqual(first)
    const later = kindsOf(session).slice(before)
    expect(later).toContain('provider.started')
    expect(later).not.toContain('server.kept')
    await stopKeptServer(session, () => undefined)
  })

  test('of a turn that dies is named by a run in flight, before the provider has it', async () => {
    await turn(keeping(DONE))
    const phases: unknown[] = []
    const restore = async (): Promise<object> => {
      phases.push(session.state.run?.phase, session.state.run?.process)
      return keeping(DONE).create({} as never, { server: {} } as never)
    }
    await turn(agent({ create: restore, restore }))
    expect(phases).toEqual(['launched', session.state.warm?.group])
    await stopKeptServer(session, () => undefined)
  })

  test.each<[string, object[], string]>([
    ['waits', [WAIT], 'open'],
    ['fails', [{ fail: 1 }], 'failed'],
    ['ends without an answer', [], 'failed'],
  ])('is gone when the turn %s', async (_, events, status) => {
    expect((await turn(keeping(...events))).status).toBe(status)
    expect(living()).toEqual([])
    expect(session.state.warm).toBeUndefined()
    expect(kindsOf(session)).toContain('server.stopped')
  })

  test.each(['cancelled', 'suspended', 'shutdown', 'turn_timeout'] as const)(
    'is gone when the turn is stopped: %s',
    async (reason) => {
      const stop = new FakeStop()
      const running = turn(keeping({ type: 'text', text: 'x' }, { hang: 1 }), {
        stop,
        onText: () => stop.stop(reason),
      })
      await running
      expect(living()).toEqual([])
      expect(session.state.warm).toBeUndefined()
    },
  )

  test('that was kept is gone too, when a later turn fails', async () => {
    await turn(keeping(DONE))
    await turn(keeping({ fail: 1 }))
    expect(living()).toEqual([])
  })

  test('is offered to nobody where none is kept', async () => {
    expect((await turn(keeping(DONE), { ports: { keepsServers: false } })).status).toBe('completed')
    expect(living()).toEqual([])
    expect(kindsOf(session)).not.toContain('server.kept')
  })

  test('that cannot be marked at the end costs the turn nothing', async () => {
    let marks = 0
    withFaults(failing('ENOSPC', ({ point }) => point === 'server.mark' && ++marks > 2))
    expect((await turn(keeping(DONE))).status).toBe('completed')
    expect(living()).toEqual([])
  })

  test('does not run where its record cannot be written', async () => {
    withFaults(
      failing(
        'ENOSPC',
        ({ point, bytes }) =>
          point === 'log.append' &&
          Buffer.from(bytes ?? [])
            .toString()
            .includes('server.kept'),
      ),
    )
    await expect(turn(keeping(DONE))).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(living()).toEqual([])
  })
})
