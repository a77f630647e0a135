/** Recovery kills the programs, tools and tool servers that a killed turn left, and no other process, before it continues. */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { ownIdentity, processStartTime, readClock } from '../../src/host/identity.js'
import { ProviderRegistry } from '../../src/provider/registry.js'
import { type SettleResult, settle } from '../../src/recovery/settle.js'
import type { ProcessGroup } from '../../src/schema/types.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import type { RecordedServer } from '../../src/session/state.js'
import { deriveStatus, isInterrupted, isUnfinished } from '../../src/session/status.js'
import { agentWithServer } from '../support/kept-servers.js'
import { isAlive } from '../support/programs.js'
import { beginning, newSession, reopen, replied } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'
import { POLICY } from '../support/turns.js'
import { waitFor } from '../support/wait.js'

let session: Session
let notes: string[]
const RUN = randomUUID()

beforeEach(async () => {
  session = await newSession(tempStore())
  notes = []
})

function settled(): Promise<SettleResult> {
  return settle(session, {
    providers: new ProviderRegistry(() => []),
    policy: POLICY,
    unknownTool: 'continue',
    continuesTurn: true,
    note: (text) => void notes.push(text),
  })
}

/** Starts a program in a process group of its own, as a dead turn leaves it. */
function left(runId: string = RUN, over: Record<string, string> = {}): ProcessGroup {
  const env = { SUBSTRAT_RUN: runId, ...over }
  const child = spawn('sleep', ['3600'], { detached: true, stdio: 'ignore', env })
  const pid = child.pid as number
  onTestFinished(() => void child.kill('SIGKILL'))
  const { kernel_boot_id, pid_namespace } = ownIdentity()
  return { process_group: pid, start_time: processStartTime(pid) ?? 0, kernel_boot_id, pid_namespace }
}

const begun = (): NewRecord[] => [...beginning(session, RUN, 'hi'), { kind: 'model.requested', run_id: RUN }]

const called = (...tools: string[]): NewRecord[] => [
  replied(RUN, ''),
  {
    kind: 'model.responded',
    run_id: RUN,
    stop: 'tool_calls',
    calls: tools.map((name, index) => ({ call_id: `c${index}`, name, input: {} })),
  },
]

const server = (group: ProcessGroup): NewRecord => ({
  kind: 'server.started',
  run_id: RUN,
  server: 'notes',
  group,
})

test('a command and a tool server of an open run are killed, with a note for each', async () => {
  const [shell, notesServer] = [left(), left()]
  session.append([...begun(), server(notesServer), ...called('shell')])
  session.append([{ kind: 'tool.started', run_id: RUN, call_id: 'c0', tool: 'shell', group: shell }])
  expect(await settled()).toEqual({ row: 'E', hasSurvivor: false })
  for (const { process_group } of [shell, notesServer]) expect(isAlive(process_group)).toBe(false)
  expect(notes).toHaveLength(2)
})

test('a process that the program of an open run started in another process group is killed, with a note', async () => {
  const { process_group: stray, ...rest } = left()
  // The program itself is dead, and so is its process group.
  const gone = { ...rest, process_group: 2 ** 22 + 1, start_time: 1 }
  session.append([...beginning(session, RUN, 'hi'), { kind: 'provider.started', run_id: RUN, ...gone }])
  await settled()
  expect(isAlive(stray)).toBe(false)
  expect(notes).toEqual(expect.arrayContaining([expect.stringContaining('in other process groups')]))
})

test('processes that a tool and a tool server of an open run started in other process groups are killed; those of a finished call survive', async () => {
  const ids = [randomUUID(), randomUUID(), randomUUID()] as const
  const strays = ids.map((id) => left(RUN, { SUBSTRAT_LAUNCH: id }))
  // The tool and the tool server themselves are dead, and so are their process groups.
  const [shell, ended, notesServer] = ids.map((launch_id, index) => {
    return {
      ...(strays[index] as ProcessGroup),
      process_group: 2 ** 22 + 1 + index,
      start_time: 1,
      launch_id,
    }
  }) as [ProcessGroup, ProcessGroup, ProcessGroup]
  session.append([...begun(), server(notesServer), ...called('shell', 'shell')])
  const started = { kind: 'tool.started', run_id: RUN, tool: 'shell' } as const
  session.append([{ ...started, call_id: 'c0', group: ended }])
  session.append([
    { kind: 'tool.finished', run_id: RUN, call_id: 'c0', tool: 'shell', content: 'ok', is_error: false },
  ])
  session.append([{ ...started, call_id: 'c1', group: shell }])
  await settled()
  expect(strays.map(({ process_group }) => isAlive(process_group))).toEqual([false, true, false])
  expect(notes).toEqual(expect.arrayContaining([expect.stringContaining('2 process(es)')]))
})

test('a server that a dead turn had kept is stopped, and its end is recorded', async () => {
  const server_id = randomUUID()
  const group = left(randomUUID(), { SUBSTRAT_SERVER: server_id })
  session.append([...begun(), { kind: 'server.kept', server_id, group }])
  await settled()
  expect([isAlive(group.process_group), session.state.warm]).toEqual([false, undefined])
})

test('the tool server of a waiting run is killed: it belongs to the turn before the wait', async () => {
  const group = left()
  session.append([...begun(), server(group)])
  session.append([
    { kind: 'run.waiting', run_id: RUN, wait: 'not_before', not_before: '2999-01-01T00:00:00.000Z' },
  ])
  expect(await settled()).toEqual({ row: 'H2', hasSurvivor: false })
  expect(isAlive(group.process_group)).toBe(false)
})

test.each<NewRecord>([
  { kind: 'run.completed', run_id: RUN },
  { kind: 'run.cancelled', run_id: RUN, reason: 'cancelled' },
  { kind: 'run.interrupted', run_id: RUN, reason: 'shutdown' },
])(
  'a tool server that outlived its run, ended by $kind, is killed: it is stopped only after the end is recorded',
  async (end) => {
    const group = left()
    session.append([...begun(), server(group)])
    session.append([end])
    expect(await settled()).toEqual({ row: 'A', hasSurvivor: false })
    expect(isAlive(group.process_group)).toBe(false)
  },
)

describe('recovery', () => {
  test('does not kill a process of another run that has the recorded number', async () => {
    const group = left(randomUUID())
    session.append([...begun(), server(group)])
    expect(await settled()).toEqual({ row: 'C', hasSurvivor: false })
    expect(isAlive(group.process_group)).toBe(true)
    expect(notes).toEqual([])
  })

  test('does not kill a process older than its record, although its environment names the run', async () => {
    const group = left()
    session.append([...begun(), server({ ...group, start_time: group.start_time + 1 })])
    await settled()
    expect(isAlive(group.process_group)).toBe(true)
  })

  test('does not continue the turn beside a kept server in another pid namespace, even one that the run has not used', async () => {
    session = await reopen(session.store, await agentWithServer(session.store))
    const { warm } = session.state as { warm: RecordedServer }
    const kept: NewRecord = { kind: 'server.kept', ...warm, group: { ...warm.group, pid_namespace: '1' } }
    session.append([...begun(), kept])
    expect(await settled()).toEqual({ row: 'C', hasSurvivor: true })
    expect(session.state).toMatchObject({
      run: { reason: 'program_alive' },
      warm: { server_id: warm.server_id },
    })
    process.kill(-warm.group.process_group, 'SIGKILL')
    await waitFor(() => !isAlive(warm.group.process_group), 'its end')
    await settled()
    expect(session.state.warm).toBeUndefined()
  })

  test('records the end of a server in another pid namespace once none of its processes runs, although the run had started it', async () => {
    const group = { ...left(), pid_namespace: '1' }
    session.append([...begun(), { kind: 'provider.started', run_id: RUN, ...group }])
    session.append([{ kind: 'server.kept', server_id: RUN, group }])
    expect(await settled()).toEqual({ row: 'J', hasSurvivor: false })
    expect(session.state.warm).toBeUndefined()
  })

  test('ends the run of a program in another pid namespace as interrupted, and leaves its continuation to a person', async () => {
    const group = { ...left(), pid_namespace: '1' }
    session.append([...begun(), server(group)])
    expect(await settled()).toEqual({ row: 'C', hasSurvivor: true })
    expect(session.state.run).toMatchObject({ status: 'interrupted', reason: 'program_alive' })
    expect(await settled()).toEqual({ row: 'A', hasSurvivor: false })
    expect(isInterrupted(session.state)).toBe(false)
    expect(isUnfinished(session.state)).toBe(true)
    expect(deriveStatus(session.state, false, readClock())).toBe('interrupted_startup')
    expect(isAlive(group.process_group)).toBe(true)
  })
})

test('a shell command with a recorded result is not killed', async () => {
  const group = left()
  session.append([...begun(), ...called('shell')])
  session.append([{ kind: 'tool.started', run_id: RUN, call_id: 'c0', tool: 'shell', group }])
  const finished = { call_id: 'c0', tool: 'shell', content: '', is_error: false }
  session.append([{ kind: 'tool.finished', run_id: RUN, ...finished }])
  expect(await settled()).toEqual({ row: 'F', hasSurvivor: false })
  expect(isAlive(group.process_group)).toBe(true)
})
