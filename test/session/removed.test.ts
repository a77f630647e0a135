/** Locks, logs and homes that are removed, moved or replaced while they are in use. */
import { randomUUID } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { NewRecord } from '../../src/session/records.js'
import { openForAppend, type Session } from '../../src/session/session.js'
import { FileStore } from '../../src/storage/file-store.js'
import { tryKernelLock } from '../../src/storage/locks/kernel-lock.js'
import { waitForLease } from '../../src/storage/locks/lease.js'
import { type AgentPaths, HomePaths } from '../../src/storage/paths.js'
import { lockRoots } from '../../src/tree/children.js'
import { failing, withFaults } from '../support/faults.js'
import { newAgent, newSession } from '../support/sessions.js'
import { tempDirectory, tempStore } from '../support/temp.js'

const RECORD: NewRecord = { kind: 'agent.gated', message_id: randomUUID(), from: 'operator' }
const OPTIONS = { command: 'test', waitMs: 0 }

interface Open {
  store: FileStore
  session: Session
  agent: AgentPaths
}

async function open(): Promise<Open> {
  const store = tempStore()
  const session = await newSession(store)
  onTestFinished(() => session.abandon())
  return { store, session, agent: new HomePaths(store.address).agent(session.id) }
}

/** Moves the file away and puts a copy in its place. */
function replace(path: string): void {
  renameSync(path, `${path}.old`)
  cpSync(`${path}.old`, path, { recursive: true })
}

describe('a held lock file that is removed or replaced', () => {
  test.each<[string, (open: Open) => void]>([
    ['removed', ({ agent }) => rmSync(agent.lock)],
    ['replaced by a copy', ({ agent }) => replace(agent.lock)],
    ['replaced by a symlink to it', ({ agent }) => linkInPlace(agent.lock)],
    ['in an agent directory that is replaced by a copy', ({ agent }) => replace(agent.root)],
    ['in a home that is replaced by a copy', ({ store }) => replace(store.address)],
  ])('(%s) stops the writer before its next record with exit 4', async (_, take) => {
    const all = await open()
    const before = readFileSync(all.agent.log)
    take(all)
    expect(() => all.session.append([RECORD])).toThrow(
      expect.objectContaining({ code: 'LOCKED', exitStatus: 4 }),
    )
    expect(readFileSync(all.agent.log)).toEqual(before)
  })

  test('stops its holder from writing the snapshot and removing the marker, and keeps other writers out', async () => {
    const { store, session, agent } = await open()
    session.append([RECORD])
    rmSync(agent.lock)
    await expect(openForAppend(store, session.id, OPTIONS)).rejects.toMatchObject({ code: 'LOCKED' })
    const before = readFileSync(agent.snapshot)
    await session.close(() => false)
    expect(readFileSync(agent.snapshot)).toEqual(before)
    expect(store.visits.isMarked(session.id)).toBe(true)
    const next = await openForAppend(store, session.id, OPTIONS)
    next.append([{ kind: 'session.activated', boot_id: 'b' }])
    await next.close(() => false)
    expect(readFileSync(agent.log, 'utf8').trim().split('\n')).toHaveLength(3)
  })

  test('stays lost after it is put back, because the state in memory is behind the log', async () => {
    const { session, agent } = await open()
    withFaults(({ point }) => {
      if (point === 'log.sync') replace(agent.lock)
      return undefined
    })
    const refusal = expect.objectContaining({ code: 'LOCKED', exitStatus: 4 })
    expect(() => session.append([RECORD])).toThrow(refusal)
    renameSync(`${agent.lock}.old`, agent.lock)
    const written = readFileSync(agent.log)
    expect(() => session.append([RECORD])).toThrow(refusal)
    expect(readFileSync(agent.log)).toEqual(written)
  })

  test('is created again, and only a lock on the file with that name counts', () => {
    const path = `${tempDirectory()}/lock`
    let removals = 3
    // Removes the file after it is opened and before its name is checked.
    withFaults(({ point }) => {
      if (point === 'lock.check' && removals-- > 0) rmSync(path)
      return undefined
    })
    const file = tryKernelLock('ofd', path, 'exclusive')
    expect(file).toBeDefined()
    expect(removals).toBe(-1)
    expect(tryKernelLock('ofd', path, 'shared')).toBeUndefined()
  })

  test('stops the holder of a name index from reserving names and creating agents', async () => {
    const store = tempStore()
    const { index, lock } = await lockRoots(store, 'test')
    rmSync(new HomePaths(store.address).rootNames().lock)
    expect(() => index.reserve('a', 'no id')).toThrow(expect.objectContaining({ code: 'LOCKED' }))
    await lock.release()
    withFaults(({ point }) => {
      if (point === 'spawn.sync_directory') rmSync(new HomePaths(store.address).rootNames().lock)
      return undefined
    })
    await expect(newSession(store, { name: 'a' })).rejects.toMatchObject({ code: 'LOCKED' })
    expect(store.agentIds()).toEqual([])
  })
})

describe('a home that is renamed while it is in use', () => {
  test('stays writable for its holder, whose lock keeps other writers out under the new name', async () => {
    const { store, session, agent } = await open()
    const moved = `${store.address}-moved`
    renameSync(store.address, moved)
    session.append([RECORD])
    const there = FileStore.openForWrite(moved)
    await expect(openForAppend(there, session.id, OPTIONS)).rejects.toMatchObject({ code: 'LOCKED' })
    await session.abandon()
    const next = await openForAppend(there, session.id, OPTIONS)
    expect(next.state.last_seq).toBe(2)
    await next.close(() => false)
    expect(agent.root.startsWith(moved)).toBe(false)
  })
})

describe('a log in use', () => {
  test.each<[string, (path: string) => void]>([
    ['is removed', (path) => rmSync(path)],
    ['is replaced by a copy', (path) => replace(path)],
  ])('that %s accepts no more records, which would be lost with the descriptor', async (_, take) => {
    const { session, agent } = await open()
    take(agent.log)
    expect(() => session.append([RECORD])).toThrow(
      expect.objectContaining({ code: 'CORRUPT', message: expect.stringContaining('while it was in use') }),
    )
  })

  test('stays writable if only its snapshot, inbox and marker are removed', async () => {
    const store = tempStore()
    const id = await newAgent(store)
    const paths = new HomePaths(store.address)
    const session = await openForAppend(store, id, OPTIONS)
    rmSync(paths.agent(id).snapshot)
    rmSync(paths.agent(id).inbox, { recursive: true })
    rmSync(paths.marker(id))
    session.append([RECORD])
    await session.close(() => false)
    const again = await openForAppend(store, id, OPTIONS)
    expect(again.state.last_seq).toBe(2)
    await again.close(() => false)
  })
})

test.each(['EROFS', 'EACCES'])(
  'a log that cannot be opened once (%s) is not reported as damaged, and the next command opens it',
  async (errno) => {
    const store = tempStore()
    const id = await newAgent(store)
    const { log } = new HomePaths(store.address).agent(id)
    withFaults(failing(errno, ({ point, path }) => point === 'log.open' && path === log, 1))
    await expect(openForAppend(store, id, OPTIONS)).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    await (await openForAppend(store, id, OPTIONS)).close(() => false)
  },
)

test('a slot whose file is removed is lost to its holder, and a new file gives a new slot', async () => {
  const store = tempStore()
  const path = new HomePaths(store.address).slot('default', 0)
  const system = { kind: store.facts.lock, isLocal: true }
  mkdirSync(dirname(path), { recursive: true })
  const first = await waitForLease(system, path, 'test', 0)
  rmSync(path)
  writeFileSync(path, '')
  const second = await waitForLease(system, path, 'test', 0)
  expect(() => first?.assertHeld()).toThrow(expect.objectContaining({ code: 'LOCKED' }))
  second?.assertHeld()
  await first?.release()
  await second?.release()
})

function linkInPlace(path: string): void {
  renameSync(path, `${path}.old`)
  symlinkSync(`${path}.old`, path)
}
