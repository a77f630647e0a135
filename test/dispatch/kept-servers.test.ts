/** The number of servers of a home. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { limitKeptServers, stopAllKeptServers } from '../../src/dispatch/kept-servers.js'
import { flushOutbox } from '../../src/dispatch/outbox.js'
import { keptServerProcesses } from '../../src/provider/kept-server.js'
import { openForRead } from '../../src/session/load.js'
import type { RecordedServer } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { completedRecord } from '../../src/turn/step/records.js'
import { contextAt } from '../support/contexts.js'
import { agentWithServer } from '../support/kept-servers.js'
import { beginning, newAgent, reopen } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'
import { waitFor } from '../support/wait.js'

const keptServerOf = (store: FileStore, id: string): unknown => openForRead(store, id)?.state.warm

describe('the least recently used', () => {
  test('is not, while its agent is held: then it is the next', async () => {
    const store = tempStore()
    const [first, second, third] = [
      await agentWithServer(store),
      await agentWithServer(store),
      await agentWithServer(store),
    ]
    const held = await reopen(store, first)
    await limitKeptServers(contextAt(store).ctx, 2)
    const living = (): string[] => keptServerProcesses(store.address).map(({ agentId }) => agentId)
    expect(living().sort()).toEqual([first, third].sort())
    expect(keptServerOf(store, second)).toBeUndefined()
    await held.close(() => false)
    await limitKeptServers(contextAt(store).ctx, 1)
    expect(living()).toEqual([third])
    await stopAllKeptServers(contextAt(store).ctx)
  })
})

describe('a mark without a server', () => {
  test('is taken away, and counts for nothing', async () => {
    const store = tempStore()
    const id = await agentWithServer(store)
    const others = [await newAgent(store), await newAgent(store)]
    for (const other of others) store.local.keptServers.touch(other)
    await limitKeptServers(contextAt(store).ctx, 1)
    expect(store.local.keptServers.uses().map(({ agentId }) => agentId)).toEqual([id])
    expect(keptServerProcesses(store.address)).toHaveLength(1)
    await stopAllKeptServers(contextAt(store).ctx)
  })

  test('stays while its agent is held, which may be about to start one', async () => {
    const store = tempStore()
    const id = await newAgent(store)
    store.local.keptServers.touch(id)
    const held = await reopen(store, id)
    await limitKeptServers(contextAt(store).ctx, 0)
    expect(store.local.keptServers.uses()).toHaveLength(1)
    await held.close(() => false)
    await limitKeptServers(contextAt(store).ctx, 0)
    expect(store.local.keptServers.uses()).toEqual([])
  })

  test('that died by itself is recorded so', async () => {
    const store = tempStore()
    const id = await agentWithServer(store)
    const [pid = 0] = keptServerProcesses(store.address).map((server) => server.pid)
    process.kill(-pid, 'SIGKILL')
    await waitFor(() => keptServerProcesses(store.address).length === 0, 'its end')
    await limitKeptServers(contextAt(store).ctx, 0)
    expect(store.local.keptServers.uses()).toEqual([])
    expect(keptServerOf(store, id)).toBeUndefined()
  })
})

describe('a server in another pid namespace, of an agent that is done,', () => {
  test.each([
    ['stays recorded where the agent lives on for its child: nothing is begun beside it', true],
    ['is forgotten with it', false],
  ])('%s', async (_, hasChild) => {
    const store = tempStore()
    const id = await agentWithServer(store)
    if (hasChild) await newAgent(store, { name: 'child', parent: id })
    const session = await reopen(store, id)
    const { warm } = session.state as { warm: RecordedServer }
    session.append([{ kind: 'server.kept', ...warm, group: { ...warm.group, pid_namespace: '1' } }])
    const run_id = randomUUID()
    session.append([...beginning(session, run_id, 'hi'), completedRecord(run_id, null, true)])
    await flushOutbox(contextAt(store).ctx, session, true)
    await session.close(() => false)
    expect(session.state.state).toBe(hasChild ? 'active' : 'terminated')
    expect([keptServerOf(store, id) !== undefined, store.local.keptServers.uses().length === 1]).toEqual([
      hasChild,
      hasChild,
    ])
  })
})

test('one in another pid namespace counts for nothing here, and stays recorded until it is gone', async () => {
  const store = tempStore()
  const id = await agentWithServer(store)
  const session = await reopen(store, id)
  const { warm } = session.state as { warm: RecordedServer }
  session.append([{ kind: 'server.kept', ...warm, group: { ...warm.group, pid_namespace: '1' } }])
  await session.close(() => false)
  await limitKeptServers(contextAt(store).ctx, 0)
  expect([keptServerOf(store, id) !== undefined, store.local.keptServers.uses().length]).toEqual([true, 1])
  process.kill(-warm.group.process_group, 'SIGKILL')
  await waitFor(() => keptServerProcesses(store.address).length === 0, 'its end')
  await limitKeptServers(contextAt(store).ctx, 0)
  expect([keptServerOf(store, id) !== undefined, store.local.keptServers.uses().length]).toEqual([false, 0])
})
