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
import { IN_POSTGRES } from '../support/postgres-homes.js'
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

/** An agent session whose methods `parts` replaces. */
function conduct(send: () => AsyncIterable<unknown>, parts: object = {}): AgentSession {
  return { send, suspend: async () => null, stop: async () => undefined, ...parts } as AgentSession
}

/** A provider that always returns that session. */
function always(send: () => AsyncIterable<unknown>, parts: object = {}): AgentProvider {
  return agent({ create: async () => conduct(send, parts) })
}

async function* yields(...events: unknown[]): AsyncIterable<unknown> {
  yield* events
}

/** The log as another process would read it now. */
function onDisk(): string[] {
  const state = openForRead(session.store, session.id)?.state
  return kindsOf(session).slice(0, state?.last_seq)
}

function replyOf(run: Run): string | null {
  return run.reply === null ? null : readMessageText(session.store, session.id, run.reply)
}

describe('an agent turn', () => {
  test('records the reply before the provider is released, and ends the run after that', async () => {
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
    expect(onDisk().slice(-4)).toEqual([
      'provider.state',
      'run.completed',
      'session.suspended',
      'status.derived',
    ])
    expect(run).toMatchObject({ status: 'completed', usage })
    expect(replyOf(run)).toBe('fine')
  })

  test('records each native state as soon as it is known', async () => {
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

  test('begins from the latest native state', async () => {
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

  test('streams text, but does not store it as the reply', async () => {
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

  test('is interrupted only if its program exited early; other failures end it as failed', async () => {
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

  test('records its usage even if it fails or is limited', async () => {
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

  test('that fails releases its session without saving a state', async () => {
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
    ['creates undefined', agent({ create: async () => undefined }), /./],
    ['creates an object that is not a session', agent({ create: async () => ({}) }), /./],
    ['throws at send', always(throwing), /^the lamp is out$/],
    [
      'sends a value that is not a stream',
      always(() => 7 as never),
      /^the provider broke its contract: a turn that is not a stream$/,
    ],
    [
      'ends early',
      always(() => yields({ type: 'text', text: 'so far' })),
      /^the provider ended without an answer$/,
    ],
    [
      'yields an event after its end',
      always(() => yields(DONE, { type: 'text', text: 'and' })),
      /an event after its end$/,
    ],
    ['ends twice', always(() => yields(DONE, DONE)), /an event after its end$/],
    ['replies without text', always(() => yields({ type: 'done' })), /broke its contract/],
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
      'yields a state that is not bytes',
      always(() => yields({ type: 'state', state: 'abc' }, DONE)),
      /a state that is not a Uint8Array$/,
    ],
    [
      'yields an empty state event',
      always(() => yields({ type: 'state' }, DONE)),
      /a state that is not a Uint8Array$/,
    ],
    [
      'yields a state too large for a line',
      always(() => yields({ type: 'state', state: new Uint8Array(limits.providerStateBytesMax + 1) }, DONE)),
      /a state of 524289 bytes, over the limit of 524288$/,
    ],
    ['throws at send and at stop', always(throwing, { stop: throwing }), /^the lamp is out$/],
    [
      'throws at send and rejects at stop',
      always(throwing, { stop: async () => throwing() }),
      /^the lamp is out$/,
    ],
  ]

  test.each(WRONG)('%s fails the turn with a plain sentence', async (_, provider, sentence) => {
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

  test('cannot restore fails the turn and keeps the earlier state', async () => {
    const first = agent({
      create: async () => conduct(() => yields({ type: 'state', state: bytes('s') }, DONE)),
    })
    await runTurn(session, first)
    expect((await runTurn(session, agent({ restore: throwing }))).error?.message).toBe('the lamp is out')
    expect(session.state.provider_state).toBe(btoa('s'))
  })

  test('yields the largest state that fits completes its turn', async () => {
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
    ['returns a value that is not bytes', async () => ({ a: 1 })],
    ['returns too much', async () => new Uint8Array(limits.providerStateBytesMax + 1)],
    ['returns undefined', () => undefined],
  ]

  test.each(CARELESS)('%s at suspend loses neither the reply nor the known state', async (_, suspend) => {
    const run = await runTurn(
      session,
      always(() => yields({ type: 'state', state: bytes('s') }, DONE), { suspend }),
    )
    expect(run.status).toBe('completed')
    expect(session.state.provider_state).toBe(btoa('s'))
  })
})

describe('a slow agent provider', () => {
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

  test('that hangs at suspend does not hang the turn', async () => {
    const turn = runTurn(
      session,
      always(() => yields(DONE), { suspend: hang }),
    )
    await vi.advanceTimersByTimeAsync(3000)
    expect((await turn).status).toBe('completed')
  })

  test('that hangs at create does not hang a stopped turn, and a session created too late is stopped', async () => {
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

  test('that hangs in mid-turn and at stop does not keep its run from being cancelled', async () => {
    const stop = new FakeStop()
    const stuck = async function* (): AsyncIterable<unknown> {
      yield await hang()
    }
    const run = await endOf(runTurn(session, always(stuck, { stop: hang }), { stop }), stop, 'terminated')
    expect(run).toMatchObject({ status: 'cancelled', reason: 'terminated' })
  })

  test.each(['suspended', 'shutdown'] as const)(
    'that is stopped by %s is asked for its state only if the turn is suspended',
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

  test('that is stopped during suspend, after its reply, completes its run', async () => {
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

describe('a process that a program started in its own session (setsid)', () => {
  const DETACHED =
    'setsid sh -c "echo \\$\\$ > apart; exec sleep 3600" & while [ ! -s apart ]; do sleep 0.01; done'

  /** The program starts the process and exits. Then the turn yields the events of `end`. */
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
    ['asks a person', [ASKS]],
  ])('is killed at the end of a turn that %s', async (_, end) => {
    expect(isAlive(await apart(end))).toBe(false)
  })

  test('survives a completed turn, because the user may have asked for a server', async () => {
    expect(isAlive(await apart([DONE]))).toBe(true)
  })
})

describe.skipIf(IN_POSTGRES)('a private file of a program', () => {
  const secret = 'be brief'
  const temps = (): string[] => readdirSync(directoryOf()).filter((name) => name.includes('tools.json'))
  const directoryOf = (): string => session.store.label({ kind: 'agent', agentId: session.id })

  /** Writes a private file and does not remove it. `during` runs while the turn lasts. */
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
    'is readable only by its owner, is in the directory of the agent, and is removed after a turn that %s',
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

  test('that a killed turn left is removed by the next command', () => {
    session.store.local.programFiles(session.id).write('tools.json', secret)
    expect(temps()).toHaveLength(1)
    expect(session.store.upkeep.sweep(session.id)).toBe(1)
    expect(temps()).toEqual([])
  })

  test('stays in its directory under any name that a provider gives it', () => {
    const { path } = session.store.local.programFiles(session.id).write('../../escaped', secret)
    expect(dirname(path)).toBe(directoryOf())
    session.store.upkeep.sweep(session.id)
  })

  test('that cannot be written is a storage failure, and the turn throws', async () => {
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

describe.skipIf(IN_POSTGRES)('in mid-turn a full disk', () => {
  const FULL = { code: 'STORAGE_FAILED', facts: { errno: 'ENOSPC' } }
  let directory: string

  beforeEach(() => {
    directory = tempDirectory()
  })

  const isRecord = (kind: string) => (operation: { point: string; bytes?: Uint8Array }) =>
    operation.point === 'log.append' && Buffer.from(operation.bytes ?? []).includes(`"kind":"${kind}"`)

  /** Starts `sleep`, and reports its process group once it runs. */
  function launching(send: (host: AgentHost) => AsyncIterable<unknown>): AgentProvider {
    return agent({ create: async (_: unknown, host: AgentHost) => conduct(() => send(host)) })
  }

  const command = (): { argv: [string, ...string[]]; cwd: string } => ({
    argv: ['/bin/sh', '-c', 'echo ran > ran; exec sleep 3600'],
    cwd: directory,
  })
  const options = { signal: new AbortController().signal }

  test('before the record of a launch keeps the program from running, and the turn throws', async () => {
    withFaults(failing('ENOSPC', isRecord('provider.started')))
    const provider = launching(async function* (host) {
      await host.launch(command(), options)
      yield DONE
    })
    await expect(runTurn(session, provider)).rejects.toMatchObject(FULL)
    expect(existsSync(join(directory, 'ran'))).toBe(false)
    expect(session.state.run).toMatchObject({ status: 'open', phase: 'started' })
  })

  test('makes the turn throw even if the provider ignores the error', async () => {
    withFaults(failing('ENOSPC', isRecord('provider.started'), 1))
    const provider = launching(async function* (host) {
      await host.launch(command(), options).catch(() => undefined)
      yield DONE
    })
    await expect(runTurn(session, provider)).rejects.toMatchObject(FULL)
    expect(session.state.run).toMatchObject({ status: 'open', phase: 'started' })
  })

  test.each(['provider.state', 'message.agent', 'run.completed'])(
    'at %s makes the turn throw, leaves the run open, and stops the provider',
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

  test('at the reply of a program kills the program before the turn throws', async () => {
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
