/**
 * The durability rules (docs/architecture.md, Durability rules), each at the lowest level where code can break it. Rule
 * 2, intent before effect, belongs to the layers that have effects: test/turn. The tests of each module cover a rule in
 * detail.
 */
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { post } from '../../src/mail/post.js'
import { openDurable } from '../../src/session/load.js'
import { FileStore } from '../../src/storage/file-store.js'
import type { KernelLease } from '../../src/storage/locks/lease.js'
import { frame } from '../../src/storage/log/frame.js'
import { HomePaths } from '../../src/storage/paths.js'
import { resolveAgent } from '../../src/tree/names.js'
import { failing, withFaults } from '../support/faults.js'
import { draft } from '../support/mail.js'
import { clearFaults, operationsOf, recordOperations, unsyncedAfter } from '../support/operations.js'
import { beginning, newSession, reopen } from '../support/sessions.js'
import { Child, useChildren } from '../support/storage-process.js'
import { tempStore } from '../support/temp.js'

useChildren()

const MAIL = { a: 'message' }

function pathsOf(store: FileStore): HomePaths {
  return new HomePaths(store.address)
}

async function restingAgent(store: FileStore, name: string | null = null): Promise<string> {
  const session = await newSession(store, { name })
  await session.close(() => false)
  return session.id
}

/** An agent whose writer died after its first turn began. The snapshot is from its creation. */
async function interruptedAgent(store: FileStore): Promise<string> {
  const session = await newSession(store)
  session.append(beginning(session, randomUUID(), 'a prompt'))
  await session.abandon()
  return session.id
}

/** Paths in the home that a power cut after `act` could still lose. */
async function lostOf(store: FileStore, act: () => unknown): Promise<string[]> {
  const operations = recordOperations()
  await act()
  clearFaults()
  return unsyncedAfter(operations).map((path) => path.slice(store.address.length + 1))
}

describe('1: nothing is acknowledged before it is on disk', () => {
  test.each<[string, (store: FileStore, id: string) => unknown]>([
    [
      'a batch',
      async (store, id) => {
        const session = await reopen(store, id)
        session.append(beginning(session, randomUUID(), 'a prompt'))
        await session.abandon()
      },
    ],
    [
      'a batch with a blob',
      async (store, id) => {
        const session = await reopen(store, id)
        session.append(beginning(session, randomUUID(), 'long '.repeat(50_000)))
        await session.abandon()
      },
    ],
    ['a message', (store, id) => store.mail.put(id, randomUUID(), MAIL)],
    ['a name', (store, id) => store.names(null).reserve('build', id)],
  ])('%s', async (_, act) => {
    const store = tempStore()
    const id = await restingAgent(store)
    const lost = await lostOf(store, () => act(store, id))
    expect(lost.filter((path) => !['lock', 'unclean'].some((part) => path.includes(part)))).toEqual([])
  })

  test('an agent: only its lock, snapshot, marker and empty index of children may be lost', async () => {
    const store = tempStore()
    const lost = await lostOf(store, async () => (await newSession(store)).abandon())
    expect(lost.map((path) => path.replace(/[0-9a-f-]{36}/, 'ID')).sort()).toEqual([
      'agents/ID/children/complete',
      'agents/ID/lock',
      'agents/ID/session.json',
      'unclean/ID',
    ])
  })

  test('records read without the lock are fsynced first, unless the snapshot covers them', async () => {
    const store = tempStore()
    const id = await interruptedAgent(store)
    const synced = operationsOf(() => openDurable(store, id)).filter(({ name }) => name === 'fdatasync')
    expect(synced.map(({ path }) => path)).toEqual([store.local.logPath(id)])
    const session = await reopen(store, id)
    await session.close(() => false)
    expect(operationsOf(() => openDurable(store, id)).every(({ name }) => name !== 'fdatasync')).toBe(true)
  })
})

describe('3: a process that relies on a name fsyncs its directory first', () => {
  test('even if the process that made the name died before its fsync', async () => {
    const store = tempStore()
    const id = await restingAgent(store)
    const message = randomUUID()
    // The dead process left a name without an fsync.
    store.upkeep.writeBlob(id, frame(MAIL))
    writeFileSync(store.mail.pathOf(id, message), frame(MAIL))
    const synced = operationsOf(() => {
      store.mail.put(id, message, MAIL)
      store.upkeep.writeBlob(id, frame(MAIL))
      rmSync(pathsOf(store).boots, { recursive: true })
      FileStore.openForWrite(store.address)
    }).filter(({ name }) => name === 'sync_directory')
    const agent = pathsOf(store).agent(id)
    expect(synced.map(({ path }) => path)).toEqual(
      expect.arrayContaining([agent.inbox, agent.blobs, store.address, join(store.address, '..')]),
    )
  })
})

describe('3: a process that relies on an agent whose spawn died before its name was on disk', () => {
  test('fsyncs the name before anything is appended or stored', async () => {
    const store = tempStore()
    withFaults(failing('EIO', ({ point }) => point === 'spawn.sync_agents'))
    await newSession(store).catch(() => undefined)
    clearFaults()
    const [id] = store.agentIds() as [string]
    const isOfAgents = ({ name, path }: { name: string; path: string }): boolean =>
      name === 'sync_directory' && path === pathsOf(store).agents
    const posted = operationsOf(() => post(store, draft(id, 'hi')))
    expect(posted.findIndex(isOfAgents)).toBeGreaterThanOrEqual(0)
    expect(posted.findIndex(isOfAgents)).toBeLessThan(
      posted.findIndex(({ point }) => point === 'mail.put.link'),
    )
    const opened = recordOperations()
    const session = await reopen(store, id)
    clearFaults()
    expect(opened.some(isOfAgents)).toBe(true)
    for (const message of store.mail.ids(id)) store.mail.remove(id, message)
    await session.close(() => false)
    // A missing marker means that another process has fsynced the name.
    const again = recordOperations()
    await (await reopen(store, id)).abandon()
    expect(again.some(isOfAgents)).toBe(false)
  })
})

describe('4: no append follows an unsynced batch', () => {
  test('the next writer first rewrites and fsyncs the batch of a killed writer', async () => {
    const store = tempStore()
    const id = await interruptedAgent(store)
    const log = pathsOf(store).agent(id).log
    const before = readFileSync(log)
    const operations = recordOperations()
    const session = await reopen(store, id)
    session.append([{ kind: 'session.suspended', reason: 'recovery' }])
    clearFaults()
    const ofLog = operations.filter(({ path, name }) => path === log && name !== 'read' && name !== 'open')
    expect(ofLog.map(({ point }) => point)).toEqual(['log.rewrite', 'log.resync', 'log.append', 'log.sync'])
    expect(ofLog[0]?.offset).toBeLessThan(before.length)
    expect(Buffer.from(ofLog[0]?.bytes ?? [])).toEqual(before.subarray(ofLog[0]?.offset))
    await session.abandon()
  })
})

describe('5: damage in the last batch after the snapshot is cut; other damage is corruption', () => {
  test('a truncated tail is cut under the lock before the first append, and its bytes are saved', async () => {
    const store = tempStore()
    const id = await restingAgent(store)
    const { log, cut } = pathsOf(store).agent(id)
    const whole = readFileSync(log)
    const half = frame({ seq: 99, batch: [99, 99], kind: 'run.started' }).subarray(0, 30)
    writeFileSync(log, Buffer.concat([whole, half]))
    const session = await reopen(store, id)
    expect(readFileSync(log)).toEqual(whole)
    await session.abandon()
    expect(readdirSync(cut).map((name) => readFileSync(join(cut, name)))).toEqual([half])
  })

  test.each([
    ['damage before the end of the snapshot', restingAgent, { isSnapshotKept: true }],
    ['damage before the last batch, without a snapshot', interruptedAgent, { isSnapshotKept: false }],
  ])('%s is named, and nothing is written', async (_, agentIn, { isSnapshotKept }) => {
    const store = tempStore()
    const id = await agentIn(store)
    const { log, snapshot } = pathsOf(store).agent(id)
    if (!isSnapshotKept) rmSync(snapshot)
    const bytes = readFileSync(log)
    bytes[20] = (bytes[20] as number) ^ 1
    writeFileSync(log, bytes)
    await expect(reopen(store, id)).rejects.toMatchObject({
      code: 'CORRUPT',
      exitStatus: 10,
      facts: { path: log, offset: 0, seq: 1 },
    })
    expect(readFileSync(log)).toEqual(bytes)
  })
})

describe('6: a failed fsync is never retried', () => {
  test('nothing is acknowledged, the session stays marked, and the next writer rewrites', async () => {
    const store = tempStore()
    const id = await restingAgent(store)
    const { log } = pathsOf(store).agent(id)
    const session = await reopen(store, id)
    withFaults(failing('EIO', ({ point }) => point === 'log.sync', 1))
    const prompt = beginning(session, randomUUID(), 'a prompt')
    expect(() => session.append(prompt)).toThrow(
      expect.objectContaining({ code: 'SYNC_FAILED', exitStatus: 15 }),
    )
    const operations = recordOperations()
    expect(() => session.append(prompt)).toThrow(expect.objectContaining({ code: 'SYNC_FAILED' }))
    await session.abandon()
    expect(operations.filter(({ path }) => path === log)).toEqual([])
    expect(store.visits.markedIds()).toEqual([id])
    await (await reopen(store, id)).abandon()
    expect(operations.filter(({ path }) => path === log).map(({ point }) => point)).toEqual(
      expect.arrayContaining(['log.rewrite', 'log.resync']),
    )
  })
})

describe('7: a full disk leaves the session as it was before the batch', () => {
  test.each([
    ['no byte', 0],
    ['half of the batch', 100],
  ])('after a write of %s, and the session continues once there is space', async (_, writtenBytesMax) => {
    const store = tempStore()
    const id = await restingAgent(store)
    const { log } = pathsOf(store).agent(id)
    const before = readFileSync(log)
    const session = await reopen(store, id)
    const state = session.state
    let writes = 0
    withFaults(({ point }) => {
      if (point !== 'log.append') return undefined
      return { writtenBytesMax: writes++ === 0 ? writtenBytesMax : 0 }
    })
    const prompt = beginning(session, randomUUID(), 'a prompt')
    expect(() => session.append(prompt)).toThrow(
      expect.objectContaining({ code: 'STORAGE_FAILED', exitStatus: 11 }),
    )
    clearFaults()
    expect(readFileSync(log)).toEqual(before)
    expect(session.state).toEqual(state)
    session.append(prompt)
    expect(readFileSync(log).subarray(0, before.length)).toEqual(before)
    await session.abandon()
  })

  test('nothing starts if the marker cannot be made', async () => {
    const store = tempStore()
    const id = await restingAgent(store)
    const operations = recordOperations()
    await (await reopen(store, id)).close(() => false)
    clearFaults()
    expect(operations.some(({ point }) => point === 'marker.create')).toBe(true)
    withFaults(failing('ENOSPC', ({ point }) => point === 'marker.create'))
    await expect(reopen(store, id)).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(store.isHeld(id)).toBe(false)
  })
})

describe('8: there is one writer per agent', () => {
  test('across processes, until the writer dies', async () => {
    const store = tempStore()
    const agentId = await restingAgent(store)
    const order = { do: 'lock agent', root: store.address, agentId } as const
    const [holder, other] = await Promise.all([Child.start(), Child.start()])
    expect(await holder.ask(order)).toBe(true)
    expect(await other.ask(order)).toBe(false)
    await expect(reopen(store, agentId)).rejects.toMatchObject({
      code: 'LOCKED',
      facts: expect.objectContaining({ pid: holder.pid }),
    })
    await holder.kill()
    await (await reopen(store, agentId)).abandon()
    expect(await other.ask(order)).toBe(true)
    await other.kill()
  })

  test.each([
    ['ofd', { command: [process.execPath, '--no-addons'] }],
    ['flock', { env: { ...process.env, PATH: '/nonexistent' } }],
  ] as const)('a process that cannot take the %s locks of a home refuses', async (lock, options) => {
    const store = tempStore()
    const agentId = await restingAgent(store)
    writeFileSync(pathsOf(store).homeFile, frame({ ...store.facts, lock }))
    const child = await Child.start(options)
    await expect(child.ask({ do: 'lock agent', root: store.address, agentId })).rejects.toMatchObject({
      code: 'LOCK_UNSUPPORTED',
      message: expect.stringContaining(`this home uses ${lock} locks`),
    })
    await child.kill()
  })
})

test('8: a lost lock stops all writing, also a clean close', async () => {
  const store = tempStore()
  const id = await restingAgent(store)
  store.visits.mark(id)
  const locks = vi.spyOn(store, 'hold')
  const session = await reopen(store, id)
  const lock = (await locks.mock.results[0]?.value) as KernelLease
  session.append([{ kind: 'session.activated', boot_id: 'b' }])
  lock.markCompromised()
  const operations = recordOperations()
  expect(() => session.append([{ kind: 'session.suspended', reason: 'idle' }])).toThrow(
    expect.objectContaining({ code: 'LOCKED' }),
  )
  await session.close(() => false)
  expect(operations).toEqual([])
})

describe('9: an unlinked file may come back', () => {
  test('with its old id, until the inbox is fsynced', async () => {
    const store = tempStore()
    const id = await restingAgent(store)
    const message = randomUUID()
    store.mail.put(id, message, MAIL)
    const removal = operationsOf(() => store.mail.remove(id, message))
    expect(removal.map(({ name }) => name)).toEqual(['unlink'])
    writeFileSync(store.mail.pathOf(id, message), frame(MAIL))
    expect(store.mail.ids(id)).toEqual([message])
    expect(store.mail.put(id, message, MAIL)).toBe(false)
    store.mail.remove(id, message)
    expect(operationsOf(() => store.mail.syncRemovals(id))).toMatchObject([
      { name: 'sync_directory', path: pathsOf(store).agent(id).inbox },
    ])
  })
})

describe('10: losing markers, snapshots and indexes costs only time', () => {
  test('the agent is found by its name, with its whole state', async () => {
    const store = tempStore()
    const session = await newSession(store, { name: 'build' })
    session.append(beginning(session, randomUUID(), 'a prompt'))
    const { state } = session
    await session.close(() => true)
    const paths = pathsOf(store)
    for (const path of [paths.unclean, paths.roots, paths.boots, paths.agent(session.id).snapshot])
      rmSync(path, { recursive: true })
    expect(resolveAgent(FileStore.openForRead(store.address), 'build')).toBe(session.id)
    const after = FileStore.openForWrite(store.address)
    expect(after.visits.isComplete).toBe(false)
    const again = await reopen(after, session.id)
    expect(again.state).toEqual(state)
    await again.abandon()
  })
})
