/** Locks on a file system that is not local: each is a directory, which outlives a killed holder. */
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { auditHome } from '../../src/audit/audit.js'
import { unlock } from '../../src/operations/unlock.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { HomePaths } from '../../src/storage/paths.js'
import { newAgent, reopen } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const NFS = 0x6969

vi.mock('../../src/host/disk/facts.js', async (original) => ({
  ...(await original<typeof import('../../src/host/disk/facts.js')>()),
  fileSystemType: () => NFS,
}))

let store: FileStore
let id: string
let directory: string

beforeEach(async () => {
  store = tempStore()
  id = await newAgent(store, { name: 'a' })
  directory = `${new HomePaths(store.address).agent(id).lock}.d`
})

/** The lock directory of a holder that was killed this long ago. */
function leave(ageMs: number): void {
  mkdirSync(directory, { mode: 0o700 })
  const then = new Date(Date.now() - ageMs)
  utimesSync(directory, then, then)
}

function unlocked(isForced = false, agentId: string | null = id): string[] {
  return unlock(store, { caller: null, agentId, isForced }).unlocked
}

describe('a lock that outlives its holder', () => {
  test('keeps the agent busy, is found, and is broken by a person', async () => {
    leave(3_600_000)
    await expect(reopen(store, id)).rejects.toMatchObject({ code: 'LOCKED' })
    const { findings } = await auditHome(store, false, 0)
    expect(findings).toMatchObject([{ invariant: 'a lock does not outlive its holder', path: directory }])
    expect(unlocked()).toEqual([directory])
    await (await reopen(store, id)).close(() => false)
    expect((await auditHome(store, false, 0)).findings).toEqual([])
  })

  test('covers the whole home', () => {
    leave(3_600_000)
    expect(unlocked(false, null)).toEqual([directory])
  })
})

test('one that was touched a moment ago is of a holder on another machine: only --force breaks it', async () => {
  leave(1000)
  writeFileSync(
    directory.slice(0, -2),
    `${JSON.stringify({ pid: 7, host: 'build-2', command: 'substrat send', since: '2026-11-20T10:00:00.000Z' })}\n`,
  )
  expect((await auditHome(store, false, 0)).findings).toEqual([])
  expect(() => unlocked()).toThrow(
    expect.objectContaining({ code: 'LOCKED', message: expect.stringContaining('pid 7 on build-2') }),
  )
  expect(existsSync(directory)).toBe(true)
  expect(unlocked(true)).toEqual([directory])
})

test('one whose holder lives on this machine is not broken, not even with --force', async () => {
  const session = await reopen(store, id)
  expect(existsSync(directory)).toBe(true)
  expect(() => unlocked(true)).toThrow(expect.objectContaining({ code: 'LOCKED' }))
  await session.abandon()
  expect(unlocked()).toEqual([])
})
