/** Programs on another host, as the log records them: recovery sends no signal to them and does not count them as gone. */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { limitKeptServers } from '../../src/dispatch/kept-servers.js'
import { ownIdentity, processStartTime } from '../../src/host/identity.js'
import { stopKeptServer, stopKeptServerOrThrow } from '../../src/provider/kept-server.js'
import { ProviderRegistry } from '../../src/provider/registry.js'
import { type SettleOptions, type SettleResult, settle } from '../../src/recovery/settle.js'
import type { ProcessGroup } from '../../src/schema/types.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import type { RecordedServer } from '../../src/session/state.js'
import { contextAt } from '../support/contexts.js'
import { agentWithServer } from '../support/kept-servers.js'
import { isAlive } from '../support/programs.js'
import { beginning, newSession, reopen, replied } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'
import { ELSEWHERE, setHostId } from '../support/this-host.js'
import { POLICY } from '../support/turns.js'

const THIS = 'a'.repeat(32)
const RUN = randomUUID()
let session: Session
let notes: string[]

beforeEach(async () => {
  setHostId(THIS)
  session = await newSession(tempStore())
  notes = []
})

const note = (text: string): void => void notes.push(text)

async function closedAndReopened({ store, id }: Session): Promise<Session> {
  await session.close(() => true)
  return reopen(store, id)
}

function settled(options: Partial<SettleOptions> = {}): Promise<SettleResult> {
  return settle(session, {
    providers: new ProviderRegistry(() => []),
    policy: POLICY,
    unknownTool: 'stop',
    continuesTurn: true,
    note,
    ...options,
  })
}

/** A living process of this machine that has the number and the variables of the recorded program. */
function lookalike(): ProcessGroup {
  const env = { SUBSTRAT_RUN: RUN }
  const child = spawn('sleep', ['3600'], { detached: true, stdio: 'ignore', env })
  onTestFinished(() => void child.kill('SIGKILL'))
  const process_group = child.pid as number
  return { process_group, start_time: processStartTime(process_group) ?? 0, pid_namespace: '1', ...ELSEWHERE }
}

const server = (group: ProcessGroup): NewRecord => ({
  kind: 'server.started',
  run_id: RUN,
  server: 'notes',
  group,
})

describe('on another host', () => {
  test('a tool stays unsignalled, its result says so, and the turn waits for a person', async () => {
    const group = lookalike()
    session.append([...beginning(session, RUN, 'hi'), { kind: 'model.requested', run_id: RUN }])
    const calls = [{ call_id: 'c', name: 'shell', input: {} }]
    session.append([replied(RUN, ''), { kind: 'model.responded', run_id: RUN, stop: 'tool_calls', calls }])
    session.append([{ kind: 'tool.started', run_id: RUN, call_id: 'c', tool: 'shell', group }])
    expect(await settled()).toEqual({ row: 'E', hasSurvivor: true })
    expect(isAlive(group.process_group)).toBe(true)
    const records = [...session.records({ seq: 1, offset: 0 })]
    expect(records.find(({ kind }) => kind === 'tool.finished')).toMatchObject({
      content: expect.stringContaining('ran on another host'),
    })
    expect(records.find(({ kind }) => kind === 'run.interrupted')).toMatchObject({
      reason: 'other_host',
      left: [group],
      host_id: THIS,
    })
    const { last_seq } = session.state
    expect(await settled()).toEqual({ row: 'A', hasSurvivor: false })
    expect(session.state.last_seq).toBe(last_seq)
  })

  describe('on a leash', () => {
    const LEASE = randomUUID()
    const started = (...groups: ProcessGroup[]): void => {
      session.append([...beginning(session, RUN, 'hi'), ...groups.map(server)])
    }
    /** As in a home whose leases end by themselves: the time until the leashes of earlier leases have ended their programs. */
    const leave = (ms: () => number | undefined): void =>
      void Object.defineProperty(session, 'leashesLeftMs', { get: ms, configurable: true })

    test('a program counts as dead once its lease has been over for the margin', async () => {
      const group = { ...lookalike(), lease: LEASE }
      started(group)
      // Until the note says that it waits.
      leave(() => (notes.length === 0 ? 10 : 0))
      expect(await settled({ takesOver: true })).toEqual({ row: 'B', hasSurvivor: false })
      expect(session.leashesLeftMs).toBe(0)
      expect(notes).toEqual([expect.stringMatching(/^waiting 1 s until the leash on the host b+ has ended/)])
      expect(session.state.run?.status).toBe('open')
      expect(isAlive(group.process_group)).toBe(true)
    })

    test('a wait that ends a few milliseconds too early goes on', async () => {
      started({ ...lookalike(), lease: LEASE })
      const left = [5, 3]
      leave(() => (notes.length === 0 ? 10 : (left.shift() ?? 0)))
      expect(await settled({ takesOver: true })).toEqual({ row: 'B', hasSurvivor: false })
      expect(notes).toHaveLength(1)
    })

    test('a program in another container counts as dead by the same rule', async () => {
      const { kernel_boot_id } = ownIdentity()
      started({ ...lookalike(), kernel_boot_id, host_id: THIS, lease: LEASE })
      leave(() => 0)
      expect(await settled({ takesOver: true })).toEqual({ row: 'B', hasSurvivor: false })
    })

    test.each<[string, Partial<ProcessGroup>, number | undefined, Partial<SettleOptions>]>([
      ['whose record names no lease', { lease: undefined }, 0, {}],
      ['in a home whose leases do not end by themselves', {}, undefined, {}],
      ['with takeover switched off', {}, 0, { takesOver: false }],
      [
        'whose lease has just ended, for a command that continues no turn',
        {},
        3_600_000,
        { continuesTurn: false },
      ],
    ])('a program %s stops the turn', async (_, fields, leftMs, options) => {
      const { lease = LEASE, ...group } = { ...lookalike(), ...fields }
      started('lease' in fields ? group : { ...group, lease })
      leave(() => leftMs)
      expect(await settled({ takesOver: true, ...options })).toEqual({ row: 'B', hasSurvivor: true })
      expect(session.state.run).toMatchObject({ reason: 'other_host', left: { groups: [{ ...ELSEWHERE }] } })
    })

    test('a program without a lease stops the turn at once, although another one is on a leash', async () => {
      started(lookalike(), { ...lookalike(), lease: LEASE })
      leave(() => 3_600_000)
      expect(await settled({ takesOver: true })).toEqual({ row: 'B', hasSurvivor: true })
    })

    test('a turn that a command left interrupted continues later, and its record names the leash', async () => {
      started({ ...lookalike(), lease: LEASE })
      leave(() => 3_600_000)
      await settled({ takesOver: true, continuesTurn: false })
      expect(session.state.run?.reason).toBe('other_host')
      session = await closedAndReopened(session)
      leave(() => 0)
      await settled({ takesOver: true })
      expect(session.state.run).toMatchObject({ status: 'interrupted', reason: 'process_exit' })
      const records = [...session.records({ seq: 1, offset: 0 })]
      expect(records.at(-1)).toMatchObject({ kind: 'run.programs_gone', by: 'host', leash: true })
    })
  })

  test('the tool server of an ended turn does not block the agent, and stays unsignalled', async () => {
    const group = lookalike()
    session.append([...beginning(session, RUN, 'hi'), server(group)])
    session.append([{ kind: 'run.cancelled', run_id: RUN, reason: 'cancelled' }])
    expect(await settled()).toEqual({ row: 'A', hasSurvivor: false })
    expect([isAlive(group.process_group), notes]).toEqual([true, []])
  })

  test('the tool server of a waiting turn does not block it', async () => {
    const group = lookalike()
    session.append([...beginning(session, RUN, 'hi'), server(group)])
    const not_before = '2999-01-01T00:00:00.000Z'
    session.append([{ kind: 'run.waiting', run_id: RUN, wait: 'not_before', not_before }])
    expect(await settled()).toEqual({ row: 'H2', hasSurvivor: false })
    expect([isAlive(group.process_group), notes]).toEqual([true, []])
  })

  test('a kept server blocks turns until a person declares its host gone', async () => {
    session = await reopen(session.store, await agentWithServer(session.store))
    const { store, id } = session
    const { warm } = session.state as { warm: RecordedServer }
    session.append([{ kind: 'server.kept', ...warm, group: { ...warm.group, ...ELSEWHERE } }])
    expect(await stopKeptServer(session, note)).toBe(false)
    expect(notes).toEqual([expect.stringMatching(/it is on the host bbbb/)])
    await expect(stopKeptServerOrThrow(session, note)).rejects.toMatchObject({
      code: 'SESSION_STATE',
      hint: expect.stringContaining('substrat recover --host-gone bbbb'),
    })
    await session.close(() => false)
    await limitKeptServers(contextAt(store).ctx, 0)
    expect(isAlive(warm.group.process_group)).toBe(true)
    store.hosts.declare({ ...ELSEWHERE, host_name: null })
    session = await reopen(store, id)
    expect(session.state.warm).toBeDefined()
    expect(await stopKeptServer(session, note)).toBe(true)
    expect([session.state.warm, isAlive(warm.group.process_group)]).toEqual([undefined, true])
    process.kill(-warm.group.process_group, 'SIGKILL')
  })

  test('the turn of several hosts continues only when each of them is gone', async () => {
    const [first, second] = [lookalike(), { ...lookalike(), kernel_boot_id: 'third-boot' }]
    session.append([...beginning(session, RUN, 'hi'), server(first), server(second)])
    await settled()
    session.store.hosts.declare({ ...ELSEWHERE, host_name: null })
    await settled()
    expect(session.state.run?.reason).toBe('other_host')
    session.store.hosts.declare({ ...ELSEWHERE, kernel_boot_id: 'third-boot', host_name: null })
    await settled()
    expect(session.state.run).toMatchObject({ status: 'interrupted', reason: 'process_exit' })
    expect(session.state.run?.left).toBeUndefined()
  })

  test('a program that its host finds in another container is left to a person', async () => {
    const group = lookalike()
    session.append([...beginning(session, RUN, 'hi'), server(group)])
    await settled()
    const { kernel_boot_id } = ownIdentity()
    Object.assign(session.state.run?.left?.groups[0] ?? {}, { kernel_boot_id })
    await settled()
    expect(session.state.run?.reason).toBe('other_host')
    expect(isAlive(group.process_group)).toBe(true)
  })
})
