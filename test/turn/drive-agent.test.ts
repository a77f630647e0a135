import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { bootId } from '../../src/host/identity.js'
import { limits } from '../../src/limits.js'
import type { AgentProvider, AgentSession } from '../../src/provider/contract.js'
import { exec } from '../../src/provider/exec.js'
import type { AgentHost } from '../../src/provider/host-contract.js'
import { openForRead } from '../../src/session/load.js'
import { readMessageText } from '../../src/session/read.js'
import type { Session } from '../../src/session/session.js'
import type { Run } from '../../src/session/state.js'
import { failing, withFaults } from '../support/faults.js'
import { isAlive } from '../support/programs.js'
import { newSession } from '../support/sessions.js'
import { tempDirectory, tempStore } from '../support/temp.js'
import { agent, FakeStop, hang, kindsOf, runTurn } from '../support/turns.js'

const DONE = { type: 'done', reply: 'fine' }
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
let session: Session

beforeEach(async () => {
  session = await newSession(tempStore())
})

afterEach(() => {
  vi.useRealTimers()
})

/** An agent session of which `parts` are otherwise than they should be. */
function conduct(send: () => AsyncIterable<unknown>, parts: object = {}): AgentSession {
  return { send, suspend: async () => null, stop: async () => undefined, ...parts } as AgentSession
}

/** A provider whose every session is that one. */
function always(send: () => AsyncIterable<unknown>, parts: object = {}): AgentProvider {
  return agent({ create: async () => conduct(send, parts) })
}

async function* yields(...events: unknown[]): AsyncIterable<unknown> {
  yield* events
}

/** What another process would read now. */
function onDisk(): string[] {
  const state = openForRead(session.store, session.id)?.state
  return kindsOf(session).slice(0, state?.last_seq)
}

function replyOf(run: Run): string | null {
  return run.reply === null ? null : readMessageText(session.store, session.id, run.reply)
}

describe('an agent turn', () => {
  test('records the reply before the provider lets go, and closes the run after it', async () => {
    let seen: string[] = []
    const suspend = async (): Promise<Uint8Array> => {
      seen = onDisk()
      return bytes('later')
    }
    const usage = { input_tokens: 1, output_tokens: 2 }
    const run = await runTurn(
      session,
      always(() => yields({ type: 'usage', usage }, DONE), { suspend }),
    )
    expect(seen.at(-1)).toBe('message.agent')
    expect(onDisk().slice(-3)).toEqual(['provider.state', 'run.completed', 'session.suspended'])
    expect(run).toMatchObject({ status: 'completed', usage })
    expect(replyOf(run)).toBe('fine')
  })

  test('records a state the moment it is known, and each later one', async () => {
    const seen: (string | null | undefined)[] = []
    const look = (): void => void seen.push(openForRead(session.store, session.id)?.state.provider_state)
    await runTurn(
      session,
      always(async function* () {
        look()
        yield { type: 'state', state: bytes('one') }
        look()
        yield { type: 'state', state: Buffer.from('two') }
        look()
        yield DONE
      }),
    )
    expect(seen).toEqual([null, btoa('one'), btoa('two')])
    expect(session.state.provider_state).toBe(btoa('two'))
  })

  test('begins from the latest state', async () => {
    const restored: string[] = []
    const provider = agent({
      create: async () => conduct(() => yields({ type: 'state', state: bytes('native-1') }, DONE)),
      restore: async (state: Uint8Array) => {
        restored.push(Buffer.from(state).toString())
        return conduct(() => yields(DONE), { suspend: async () => bytes('native-2') })
      },
    })
    for (let i = 0; i < 3; i++) await runTurn(session, provider)
    expect(restored).toEqual(['native-1', 'native-2'])
  })

  test('shows text to those who watch, and keeps none of it as the reply', async () => {
    const pieces: string[] = []
    const events = [{ type: 'text', text: 'thinking' }, DONE]
    const run = await runTurn(
      session,
      always(() => yields(...events)),
      { onText: (text) => void pieces.push(text) },
    )
    expect(pieces).toEqual(['thinking'])
    expect(replyOf(run)).toBe('fine')
  })

  test('whose program exited early, as it says, has its turn interrupted; any other of the type has failed', async () => {
    const end = (failure: object): Promise<Run> =>
      runTurn(
        session,
        always(() => {
          throw Object.assign(new Error('it exited 0 before its answer'), { failure })
        }),
      )
    expect(await end({ type: 'crashed', ended_early: true })).toMatchObject({
      status: 'interrupted',
      reason: 'program_killed',
      error: { type: 'crashed', message: 'it exited 0 before its answer' },
    })
    for (const failure of [{ type: 'crashed' }, { type: 'invalid', ended_early: true }])
      expect(await end(failure)).toMatchObject({ status: 'failed' })
  })

  test('that fails or is limited has used what it used', async () => {
    const used = (input_tokens: number): object => ({
      type: 'usage',
      usage: { input_tokens, output_tokens: 1 },
    })
    async function* fails(failure: object): AsyncIterable<unknown> {
      yield used(10)
      throw Object.assign(new Error('no'), { failure })
    }
    const refused = await runTurn(
      session,
      always(() => fails({ type: 'refused' })),
    )
    expect(refused).toMatchObject({ status: 'failed', usage: { input_tokens: 10, output_tokens: 1 } })
    const limit = { type: 'rate_limit', retry_after_ms: 0 }
    const limited = await runTurn(
      session,
      always(() => fails(limit)),
    )
    expect(limited.usage).toEqual({ input_tokens: 10, output_tokens: 1 })
    const first = { type: 'go_on', provider: 'agent', boot_id: bootId(), auto: false, notice: null } as const
    const done = await runTurn(
      session,
      always(() => yields(used(5), DONE)),
      { first: { ...first, sources: [] } },
    )
    expect(done).toMatchObject({ status: 'completed', usage: { input_tokens: 15, output_tokens: 2 } })
  })

  test('that failed lets go without keeping a state', async () => {
    const calls: string[] = []
    const parts = {
      stop: async () => void calls.push('stop'),
      suspend: async () => void calls.push('suspend'),
    }
    await runTurn(
      session,
      always(() => yields(), parts),
    )
    await runTurn(
      session,
      always(() => yields(DONE), parts),
    )
    expect(calls).toEqual(['stop', 'suspend'])
  })
})

describe('an agent provider that', () => {
  const throwing = (): never => {
    throw new Error('the lamp is out')
  }
  const WRONG: [string, AgentProvider, RegExp][] = [
    ['throws at create', agent({ create: throwing }), /^the lamp is out$/],
    ['rejects at create', agent({ create: async () => throwing() }), /^the lamp is out$/],
    ['creates nothing', agent({ create: async () => undefined }), /./],
    ['creates no session', agent({ create: async () => ({}) }), /./],
    ['throws at send', always(throwing), /^the lamp is out$/],
    [
      'sends no stream',
      always(() => 7 as never),
      /^the provider broke its contract: a turn that is not a stream$/,
    ],
    [
      'ends early',
      always(() => yields({ type: 'text', text: 'so far' })),
      /^the provider ended without an answer$/,
    ],
    [
      'goes on after its end',
      always(() => yields(DONE, { type: 'text', text: 'and' })),
      /an event after its end$/,
    ],
    ['ends twice', always(() => yields(DONE, DONE)), /an event after its end$/],
    ['replies with no text', always(() => yields({ type: 'done' })), /broke its contract/],
    [
      'replies with 50 MB',
      always(() => yields({ type: 'done', reply: 'x'.repeat(50 << 20) })),
      /^the reply is larger than/,
    ],
    [
      'yields an unknown event',
      always(() => yields({ type: 'tool' })),
      /^the provider broke its contract: an event \{ type: 'tool' \}$/,
    ],
    ['yields a model event', always(() => yields({ type: 'stop', reason: 'end' })), /broke its contract/],
    [
      'has a state of no bytes',
      always(() => yields({ type: 'state', state: 'abc' }, DONE)),
      /a state that is not a Uint8Array$/,
    ],
    ['has no state', always(() => yields({ type: 'state' }, DONE)), /a state that is not a Uint8Array$/],
    [
      'has a state that fits no line',
      always(() => yields({ type: 'state', state: new Uint8Array(limits.providerStateBytesMax + 1) }, DONE)),
      /a state of 524289 bytes, over the limit of 524288$/,
    ],
    ['cannot stop either', always(throwing, { stop: throwing }), /^the lamp is out$/],
    ['rejects at stop', always(throwing, { stop: async () => throwing() }), /^the lamp is out$/],
  ]

  test.each(WRONG)('%s: a failed turn with a sentence', async (_, provider, sentence) => {
    const run = await runTurn(session, provider)
    expect(run.status).toBe('failed')
    expect(run.error?.message).toMatch(sentence)
    expect(session.state.state).toBe('suspended')
    expect(openForRead(session.store, session.id)?.state).toEqual(session.state)
    expect(
      (
        await runTurn(
          session,
          always(() => yields(DONE)),
        )
      ).status,
    ).toBe('completed')
  })

  test('cannot restore fails its turn and keeps its state', async () => {
    const first = agent({
      create: async () => conduct(() => yields({ type: 'state', state: bytes('s') }, DONE)),
    })
    await runTurn(session, first)
    expect((await runTurn(session, agent({ restore: throwing }))).error?.message).toBe('the lamp is out')
    expect(session.state.provider_state).toBe(btoa('s'))
  })

  test('has the largest state that fits completes', async () => {
    const state = new Uint8Array(limits.providerStateBytesMax)
    expect(
      (
        await runTurn(
          session,
          always(() => yields({ type: 'state', state }, DONE)),
        )
      ).status,
    ).toBe('completed')
  })

  const CARELESS: [string, () => unknown][] = [
    ['throws', throwing],
    ['rejects', async () => throwing()],
    ['returns no bytes', async () => ({ a: 1 })],
    ['returns too much', async () => new Uint8Array(limits.providerStateBytesMax + 1)],
    ['returns nothing', () => undefined],
  ]

  test.each(CARELESS)(
    '%s at suspend loses neither the reply nor the state that was known',
    async (_, suspend) => {
      const run = await runTurn(
        session,
        always(() => yields({ type: 'state', state: bytes('s') }, DONE), { suspend }),
      )
      expect(run.status).toBe('completed')
      expect(session.state.provider_state).toBe(btoa('s'))
    },
  )
})

describe('time goes on while an agent provider', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  })

  async function endOf(
    turn: Promise<Run>,
    stop: FakeStop,
    why: Parameters<FakeStop['stop']>[0],
  ): Promise<Run> {
    await vi.advanceTimersByTimeAsync(1000)
    stop.stop(why)
    await vi.advanceTimersByTimeAsync(10_000)
    return turn
  }

  test('hangs at suspend: the turn does not', async () => {
    const turn = runTurn(
      session,
      always(() => yields(DONE), { suspend: hang }),
    )
    await vi.advanceTimersByTimeAsync(3000)
    expect((await turn).status).toBe('completed')
  })

  test('hangs at create: the turn is stopped, and a session that comes too late is let go', async () => {
    const stop = new FakeStop()
    let comes: (late: AgentSession) => void = () => undefined
    let isStopped = false
    const late = conduct(() => yields(DONE), {
      stop: async () => {
        isStopped = true
      },
    })
    const provider = agent({
      create: () =>
        new Promise((resolve) => {
          comes = resolve
        }),
    })
    const run = await endOf(runTurn(session, provider, { stop }), stop, 'turn_timeout')
    expect(run).toMatchObject({ status: 'cancelled', reason: 'turn_timeout' })
    comes(late)
    await vi.advanceTimersByTimeAsync(0)
    expect(isStopped).toBe(true)
  })

  test('hangs in mid-turn and at stop: the run is cancelled', async () => {
    const stop = new FakeStop()
    const stuck = async function* (): AsyncIterable<unknown> {
      yield await hang()
    }
    const run = await endOf(runTurn(session, always(stuck, { stop: hang }), { stop }), stop, 'terminated')
    expect(run).toMatchObject({ status: 'cancelled', reason: 'terminated' })
  })

  test.each(['suspended', 'shutdown'] as const)(
    'is stopped by %s: what it keeps is recorded only if it is to go on',
    async (why) => {
      const stop = new FakeStop()
      const provider = agent({
        create: async () => ({
          send: async function* (_: string, { signal }: { signal: AbortSignal }) {
            yield { type: 'state', state: bytes('known') }
            await new Promise((resolve) => signal.addEventListener('abort', resolve))
            throw new Error('aborted')
          },
          suspend: async () => bytes('kept'),
          stop: async () => undefined,
        }),
      })
      const run = await endOf(runTurn(session, provider, { stop }), stop, why)
      expect(run).toMatchObject({ status: 'interrupted', reason: why })
      expect(session.state.provider_state).toBe(btoa(why === 'suspended' ? 'kept' : 'known'))
    },
  )

  test('is told to stop while it lets go after its reply: the run is completed', async () => {
    const stop = new FakeStop()
    const suspend = async (): Promise<null> => {
      stop.stop('turn_timeout')
      return null
    }
    const turn = runTurn(
      session,
      always(() => yields(DONE), { suspend }),
      { stop },
    )
    await vi.advanceTimersByTimeAsync(10_000)
    expect((await turn).status).toBe('completed')
  })
})

describe('what a program has started in a session of its own', () => {
  const DETACHED =
    'setsid sh -c "echo \\$\\$ > apart; exec sleep 3600" & while [ ! -s apart ]; do sleep 0.01; done'

  /** Its program has started it, and is done; then the turn does what `end` yields. */
  async function apart(end: object[], stop = new FakeStop()): Promise<number> {
    const directory = tempDirectory()
    const provider = agent({
      create: async (_: unknown, host: AgentHost) =>
        conduct(async function* () {
          const argv: [string, ...string[]] = ['/bin/sh', '-c', DETACHED]
          const program = await host.launch({ argv, cwd: directory }, { signal: stop.signal })
          await program.exited
          for (const event of end) {
            if ('stop' in event) stop.stop('cancelled')
            else yield event
          }
        }),
    })
    await runTurn(session, provider, { stop })
    const pid = Number(readFileSync(join(directory, 'apart'), 'utf8'))
    onTestFinished(() => void (isAlive(pid) && process.kill(pid, 'SIGKILL')))
    return pid
  }

  const ASKS = { type: 'wait', kind: 'approval', asks: [{ call_id: 'c', tool: 'bash', input: {} }] }

  test.each([
    ['fails', []],
    ['is cancelled', [{ stop: 1 }]],
    ['asks for a person', [ASKS]],
  ])('ends with a turn that %s', async (_, end) => {
    expect(isAlive(await apart(end))).toBe(false)
  })

  test('stays after one that came to its end, as a server that was asked for does', async () => {
    expect(isAlive(await apart([DONE]))).toBe(true)
  })
})

describe('a private file of a program', () => {
  const secret = 'be brief'
  const temps = (): string[] => readdirSync(directoryOf()).filter((name) => name.includes('tools.json'))
  const directoryOf = (): string => session.store.agentPath(session.id)

  /** Writes one and leaves it; `during`: while the turn lasts. */
  const writing = (during: (path: string) => void, end: object[]): AgentProvider =>
    agent({
      create: async (_: unknown, host: AgentHost) =>
        conduct(async function* () {
          during(host.privateFile('tools.json', secret).path)
          yield* end
        }),
    })

  test.each([
    ['is done', [DONE]],
    ['fails', []],
  ])(
    'is for its owner alone, in the directory of the agent, and gone with a turn that %s',
    async (_, end) => {
      let path = ''
      const seen = (at: string): void => {
        path = at
        expect([readFileSync(at, 'utf8'), statSync(at).mode & 0o777]).toEqual([secret, 0o600])
        expect(dirname(at)).toBe(directoryOf())
      }
      await runTurn(session, writing(seen, end))
      expect(path).not.toBe('')
      expect(temps()).toEqual([])
    },
  )

  test('that a killed turn has left is removed by the next command', () => {
    session.store.programFiles(session.id).write('tools.json', secret)
    expect(temps()).toHaveLength(1)
    expect(session.store.sweepAgent(session.id)).toBe(1)
    expect(temps()).toEqual([])
  })

  test('walks out of no directory, whatever a provider names it', () => {
    const { path } = session.store.programFiles(session.id).write('../../escaped', secret)
    expect(dirname(path)).toBe(directoryOf())
    session.store.sweepAgent(session.id)
  })

  test('that cannot be written is a failure of storage: the turn throws', async () => {
    withFaults(failing('ENOSPC', ({ point }) => point === 'program_file.open'))
    await expect(
      runTurn(
        session,
        writing(() => undefined, [DONE]),
      ),
    ).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
    })
  })
})

describe('a record that cannot be written in mid-turn', () => {
  const FULL = { code: 'STORAGE_FAILED', facts: { errno: 'ENOSPC' } }
  let directory: string

  beforeEach(() => {
    directory = tempDirectory()
  })

  const isRecord = (kind: string) => (operation: { point: string; bytes?: Uint8Array }) =>
    operation.point === 'log.append' && Buffer.from(operation.bytes ?? []).includes(`"kind":"${kind}"`)

  /** Starts `sleep`, and says its group once it runs. */
  function launching(send: (host: AgentHost) => AsyncIterable<unknown>): AgentProvider {
    return agent({ create: async (_: unknown, host: AgentHost) => conduct(() => send(host)) })
  }

  const command = (): { argv: [string, ...string[]]; cwd: string } => ({
    argv: ['/bin/sh', '-c', 'echo ran > ran; exec sleep 3600'],
    cwd: directory,
  })
  const options = { signal: new AbortController().signal }

  test('of the program that is to run: it never runs, and the turn throws', async () => {
    withFaults(failing('ENOSPC', isRecord('provider.started')))
    const provider = launching(async function* (host) {
      await host.launch(command(), options)
      yield DONE
    })
    await expect(runTurn(session, provider)).rejects.toMatchObject(FULL)
    expect(existsSync(join(directory, 'ran'))).toBe(false)
    expect(session.state.run).toMatchObject({ status: 'open', phase: 'started' })
  })

  test('is not passed over where the provider passes over it', async () => {
    withFaults(failing('ENOSPC', isRecord('provider.started'), 1))
    const provider = launching(async function* (host) {
      await host.launch(command(), options).catch(() => undefined)
      yield DONE
    })
    await expect(runTurn(session, provider)).rejects.toMatchObject(FULL)
    expect(session.state.run).toMatchObject({ status: 'open', phase: 'started' })
  })

  test.each(['provider.state', 'message.agent', 'run.completed'])(
    'of %s: the turn throws, the run stays open, the provider is stopped',
    async (kind) => {
      withFaults(failing('ENOSPC', isRecord(kind)))
      const ended: string[] = []
      const provider = always(() => yields({ type: 'state', state: bytes('s') }, DONE), {
        stop: async () => void ended.push('stop'),
        suspend: async () => {
          ended.push('suspend')
          return null
        },
      })
      await expect(runTurn(session, provider)).rejects.toMatchObject(FULL)
      expect(ended).toEqual([kind === 'run.completed' ? 'suspend' : 'stop'])
      expect(session.state.run?.status).toBe('open')
      withFaults(() => undefined)
      expect(openForRead(session.store, session.id)?.state).toEqual(session.state)
    },
  )

  test('of the reply of a program: it is gone when the turn throws', async () => {
    withFaults(failing('ENOSPC', isRecord('message.agent')))
    session = await newSession(session.store, {
      provider: 'exec',
      workspace: directory,
      options: { command: 'sleep 3600 & echo $! > pid; echo done' },
    })
    await expect(runTurn(session, exec)).rejects.toMatchObject(FULL)
    const pid = Number(readFileSync(join(directory, 'pid'), 'utf8'))
    expect(isAlive(pid)).toBe(false)
  })
})
