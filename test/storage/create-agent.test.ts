import { randomUUID } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SubstratError } from '../../src/errors.js'
import { createAgent, type NewAgentFiles, sweepStaging } from '../../src/storage/create-agent.js'
import { tryKernelLock } from '../../src/storage/locks/kernel-lock.js'
import { tryLease } from '../../src/storage/locks/lease.js'
import { frame } from '../../src/storage/log/frame.js'
import { HomePaths } from '../../src/storage/paths.js'
import { failing, withFaults } from '../support/faults.js'
import { clearFaults, failStep, isSync, recordOperations, unsyncedAfter } from '../support/operations.js'
import { tempStore } from '../support/temp.js'

const system = { kind: 'ofd' as const, isLocal: true }

function newHome(): HomePaths {
  return new HomePaths(tempStore().address)
}

function newBirth(): NewAgentFiles {
  return {
    agentId: randomUUID(),
    log: frame({ seq: 1, batch: [1, 1], kind: 'session.created' }),
    snapshot: { snapshot: 1 },
    blobs: [Buffer.from('a long prompt')],
    command: 'test',
  }
}

function expectWhole(paths: HomePaths, birth: NewAgentFiles): void {
  const agent = paths.agent(birth.agentId)
  expect(readFileSync(agent.log)).toEqual(birth.log)
  expect(readFileSync(agent.snapshot)).toEqual(frame(birth.snapshot))
  expect(readdirSync(agent.root).sort()).toEqual([
    'blobs',
    'children',
    'events.jsonl',
    'inbox',
    'lock',
    'requests',
    'session.json',
  ])
  expect(readdirSync(agent.blobs)).toHaveLength(birth.blobs.length)
  expect(readdirSync(agent.childNames().directory)).toEqual(['complete'])
  expect(existsSync(paths.marker(birth.agentId))).toBe(true)
}

async function isFree(path: string): Promise<boolean> {
  const lease = await tryLease(system, path, 'test')
  await lease?.release()
  return lease !== undefined
}

describe('creating an agent', () => {
  test('makes a whole agent, marked and locked by its creator', async () => {
    const paths = newHome()
    const birth = newBirth()
    const lease = await createAgent(paths, system, birth)
    expectWhole(paths, birth)
    expect(readdirSync(paths.agents)).toEqual([birth.agentId])
    expect(await isFree(paths.agent(birth.agentId).lock)).toBe(false)
    expect(statSync(paths.agent(birth.agentId).root).mode & 0o777).toBe(0o700)
    await lease.release()
    expect(await isFree(paths.agent(birth.agentId).lock)).toBe(true)
  })

  test('is one rename, followed only by the fsync of its directory', async () => {
    const paths = newHome()
    const birth = newBirth()
    const operations = recordOperations()
    const lease = await createAgent(paths, system, birth)
    clearFaults()
    const { root } = paths.agent(birth.agentId)
    const touching = operations.filter(({ path, to }) => (to ?? path).startsWith(root))
    // The holder's entry in the lock file is only for people.
    expect(touching.filter(({ point, name }) => point !== 'lock.holder' && name !== 'read')).toMatchObject([
      { name: 'rename', to: root },
    ])
    const rename = operations.findIndex(({ point }) => point === 'spawn.rename')
    expect(operations[rename + 1]).toMatchObject({ name: 'sync_directory', path: paths.agents })
    await lease.release()
  })

  test('syncs everything except the lock, snapshot, marker and empty index of children', async () => {
    const paths = newHome()
    const birth = newBirth()
    const operations = recordOperations()
    const lease = await createAgent(paths, system, birth)
    clearFaults()
    const agent = paths.agent(birth.agentId)
    expect(unsyncedAfter(operations).sort()).toEqual(
      [agent.lock, agent.snapshot, paths.marker(birth.agentId), agent.childNames().complete].sort(),
    )
    // The first batch and its blobs were on disk before the agent got its name.
    const rename = operations.findIndex(({ point }) => point === 'spawn.rename')
    const before = unsyncedAfter(operations.slice(0, rename))
    expect(before.filter((path) => /events\.jsonl|blobs|inbox|requests/.test(path))).toEqual([])
    await lease.release()
  })

  test.each(['once', 'from then on'] as const)(
    'leaves no agent or a whole one with a free lock after any failed step (%s)',
    async (howOften) => {
      const rehearsal = newHome()
      const operations = recordOperations()
      await (await createAgent(rehearsal, system, newBirth())).release()
      clearFaults()
      for (const [index, step] of operations.entries()) {
        const paths = newHome()
        const birth = newBirth()
        failStep(index, 'EIO', howOften)
        const lease = await createAgent(paths, system, birth).catch((error: unknown) => error)
        clearFaults()
        const agent = paths.agent(birth.agentId)
        if (lease instanceof SubstratError) {
          // A temporary file that cannot be unlinked is not a failure. The following sync fails, which is one.
          const isSyncFailure = isSync(step) || step.point === 'blob.create.unlink'
          expect(lease.code).toBe(isSyncFailure ? 'SYNC_FAILED' : 'STORAGE_FAILED')
          if (existsSync(agent.root)) expect(step.point).toBe('spawn.sync_agents')
          else if (howOften === 'once') {
            expect(existsSync(paths.marker(birth.agentId))).toBe(false)
            expect(readdirSync(paths.agents)).toEqual([])
          }
        } else {
          // The holder's entry is only for people, and a sweep removes a remaining temporary file.
          expect(['lock.holder', 'blob.create.unlink']).toContain(step.point)
          await (lease as { release(): Promise<void> }).release()
        }
        if (existsSync(agent.root)) {
          if (step.point !== 'blob.create.unlink') expectWhole(paths, birth)
          expect(await isFree(agent.lock)).toBe(true)
        }
        // The next sweep removes the rest.
        sweepStaging(paths, system)
        expect(readdirSync(paths.agents).filter((name) => name !== birth.agentId)).toEqual([])
      }
      expect(operations.length).toBeGreaterThan(20)
    },
  )

  test('reports the first failure even if the staging directory cannot be removed', async () => {
    const paths = newHome()
    withFaults(
      failing('EIO', ({ point }) => ['spawn.log.fsync', 'spawn.remove', 'marker.unlink'].includes(point)),
    )
    await expect(createAgent(paths, system, newBirth())).rejects.toMatchObject({ code: 'SYNC_FAILED' })
  })
})

describe('the sweep of staging directories', () => {
  /** Runs `during` at that step of a creation. */
  async function duringBirth(
    point: string,
    during: (paths: HomePaths, birth: NewAgentFiles) => void,
  ): Promise<void> {
    const paths = newHome()
    const birth = newBirth()
    let done = false
    withFaults((operation) => {
      if (done || operation.point !== point) return undefined
      done = true
      during(paths, birth)
      return undefined
    })
    const lease = await createAgent(paths, system, birth)
    clearFaults()
    expect(done).toBe(true)
    expectWhole(paths, birth)
    await lease.release()
  }

  test.each([
    'spawn.mkdir',
    'lock.open',
    'spawn.lock',
    'marker.create',
    'blob.create.link',
    'spawn.log.fsync',
    'spawn.sync_directory',
    'spawn.rename',
    'spawn.sync_agents',
  ])('leaves the staging directory of a living spawn alone at %s', async (point) => {
    await duringBirth(point, (paths) => {
      // Before it is locked, nothing shows that its spawn lives. The spawn makes it again.
      expect(sweepStaging(paths, system)).toBe(point === 'lock.open' ? 1 : 0)
    })
  })

  test('neither waits nor removes anything if a spawn names its lock between two checks', async () => {
    await duringBirth('marker.create', (paths, birth) => {
      const staging = paths.spawning(birth.agentId)
      renameSync(staging.lock, `${staging.lock}.hidden`)
      let looks = 0
      // The sweep checks here, and the lock gets its name back before the sweep's second check.
      withFaults(({ point }) => {
        if (point === 'sweep.stat' && looks++ === 0) renameSync(`${staging.lock}.hidden`, staging.lock)
        return undefined
      })
      expect(sweepStaging(paths, system)).toBe(0)
      expect({ looks, isLeft: existsSync(staging.unlocked) }).toEqual({ looks: 1, isLeft: false })
    })
  })

  test('never finds an unlocked lock file of a living spawn under its final name', async () => {
    await duringBirth('spawn.lock', (paths, birth) => {
      const staging = paths.spawning(birth.agentId)
      expect(existsSync(staging.lock)).toBe(false)
      expect(tryKernelLock('ofd', staging.unlocked, 'exclusive')).toBeUndefined()
    })
  })

  test('removes the staging directory of a dead spawn with its content', () => {
    const paths = newHome()
    const staging = paths.spawning(randomUUID())
    mkdirSync(staging.root)
    mkdirSync(staging.blobs)
    for (const path of [staging.lock, staging.log, staging.blob('a'.repeat(64))]) writeFileSync(path, 'x')
    expect(sweepStaging(paths, system)).toBe(1)
    expect(readdirSync(paths.agents)).toEqual([])
  })

  test('removes at once a directory whose spawn died before it named its lock', () => {
    const paths = newHome()
    const staging = paths.spawning(randomUUID())
    mkdirSync(staging.root)
    writeFileSync(staging.unlocked, '')
    expect(sweepStaging(paths, system)).toBe(1)
    expect(readdirSync(paths.agents)).toEqual([])
  })

  test('touches no agent and no other file', () => {
    const paths = newHome()
    mkdirSync(paths.agent(randomUUID()).root)
    mkdirSync(join(paths.agents, 'notes'))
    const before = readdirSync(paths.agents)
    expect(sweepStaging(paths, system)).toBe(0)
    expect(readdirSync(paths.agents)).toEqual(before)
  })

  test('tolerates another sweep that removes the staging directory after the listing', () => {
    const paths = newHome()
    const staging = paths.spawning(randomUUID())
    mkdirSync(staging.root)
    writeFileSync(staging.lock, '')
    let nested = 0
    withFaults(({ point }) => {
      if (point !== 'sweep.open' || nested > 0) return undefined
      nested += 1
      expect(sweepStaging(paths, system)).toBe(1)
      return undefined
    })
    expect(sweepStaging(paths, system)).toBe(0)
    expect(nested).toBe(1)
  })
})
