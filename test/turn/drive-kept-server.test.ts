/** A kept server at the end of a turn. The engine stops or keeps it, although the provider does nothing about it. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { AgentProvider } from '../../src/provider/contract.js'
import type { AgentHost } from '../../src/provider/host-contract.js'
import { keptServerProcesses, stopKeptServer } from '../../src/provider/kept-server.js'
import { membersOf } from '../../src/provider/process-group.js'
import type { Session } from '../../src/session/session.js'
import type { RecordedServer } from '../../src/session/state.js'
import { failing, withFaults } from '../support/faults.js'
import { IN_POSTGRES } from '../support/postgres-homes.js'
import { isAlive } from '../support/processes.js'
import { newSession } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'
import { agent, FakeStop, hang, kindsOf, runTurn, type TurnFacts } from '../support/turns.js'
import { waitFor } from '../support/wait.js'

const COMMAND = { argv: ['/bin/sleep', '3600'] as [string, ...string[]], cwd: '/' }
let session: Session

beforeEach(async () => {
  session = await newSession(tempStore())
})

/** Starts a server if no kept one exists, then yields `events`. It never stops the server. An event with `argv` is its command. */
function keeping(...all: object[]): AgentProvider {
  const command = (all.find((event) => 'argv' in event) as typeof COMMAND | undefined) ?? COMMAND
  const events = all.filter((event) => event !== command)
  const create = async (_: unknown, host: AgentHost): Promise<object> => ({
    async *send(_: string, { signal }: { signal: AbortSignal }) {
      if (host.server === null) {
        const server = await host.launchServer?.(command, { signal })
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
  return keptServerProcesses(session.store.address).map(({ pid }) => pid)
}

describe('a kept server', () => {
  test('survives a completed turn, and the next turn uses it', async () => {
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

  test('is recorded in its run before the provider receives it, so that a crash leaves its name', async () => {
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
  ])('is stopped when the turn %s', async (_, events, status) => {
    expect((await turn(keeping(...events))).status).toBe(status)
    expect(living()).toEqual([])
    expect(session.state.warm).toBeUndefined()
    expect(kindsOf(session)).toContain('server.stopped')
  })

  test.each(['cancelled', 'suspended', 'shutdown', 'turn_timeout'] as const)(
    'is stopped when the turn is stopped: %s',
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

  test('from an earlier turn is stopped when a later turn fails', async () => {
    await turn(keeping(DONE))
    await turn(keeping({ fail: 1 }))
    expect(living()).toEqual([])
  })

  test('from an earlier turn that is killed alone interrupts the turn, although a child of it lives', async () => {
    const withChild = { argv: ['/bin/sh', '-c', 'sleep 3600 & wait'] as [string, ...string[]], cwd: '/' }
    await turn(keeping(withChild, DONE))
    const { group } = session.state.warm as RecordedServer
    const restore = async (_: unknown, __: unknown, { server }: AgentHost): Promise<object> => ({
      async *send() {
        await waitFor(() => membersOf(group, undefined).length === 2, 'the child')
        process.kill(group.process_group, 'SIGKILL')
        await waitFor(() => !isAlive(group.process_group), 'its end')
        await server?.kill(0)
        throw new Error('it does not answer')
      },
      suspend: async () => null,
      stop: async () => undefined,
    })
    expect(await turn(agent({ restore, create: restore as never }))).toMatchObject({
      status: 'interrupted',
      reason: 'program_killed',
      error: { message: 'the agent program lost its kept server during the turn: it does not answer' },
    })
    expect(living()).toEqual([])
  })

  test('is not offered to the provider if substrat keeps no servers', async () => {
    expect((await turn(keeping(DONE), { ports: { keepsServers: false } })).status).toBe('completed')
    expect(living()).toEqual([])
    expect(kindsOf(session)).not.toContain('server.kept')
  })

  test('that cannot be recorded as kept does not fail the turn', async () => {
    let marks = 0
    withFaults(failing('ENOSPC', ({ point }) => point === 'server.mark' && ++marks > 2))
    expect((await turn(keeping(DONE))).status).toBe('completed')
    expect(living()).toEqual([])
  })

  test.skipIf(IN_POSTGRES)('does not run if its record cannot be written', async () => {
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
