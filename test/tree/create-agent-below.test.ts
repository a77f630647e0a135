import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { checkHome } from '../../src/audit/check.js'
import { clock } from '../../src/clock.js'
import { bootId } from '../../src/host/identity.js'
import { openForRead } from '../../src/session/load.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { livingChildren, lockChildren } from '../../src/tree/children.js'
import { createAgent, type NewAgent } from '../../src/tree/create-agent.js'
import { completedRecord } from '../../src/turn/step/records.js'
import { countLockTries, failing, withFaults } from '../support/faults.js'
import { childrenDirectory } from '../support/forged.js'
import { killedAt } from '../support/killed.js'
import { clearFaults, recordOperations } from '../support/operations.js'
import {
  createdRecord,
  newAgent,
  reopen,
  startedRun,
  TREE_BOUNDS,
  terminate,
  userMessage,
} from '../support/sessions.js'
import { tempStore } from '../support/temp.js'
import { waitFor } from '../support/wait.js'

let store: FileStore
let top: string

beforeEach(async () => {
  store = tempStore()
  top = await newAgent(store, { name: 'top' })
})

function below(parent: string, name: string | null, id: string = randomUUID()): NewAgent {
  const run: string = randomUUID()
  return {
    id,
    name,
    parent,
    records: ({ path }) => [
      createdRecord(id, { name, parent, path }),
      { kind: 'session.activated', boot_id: bootId() },
      startedRun(run),
      userMessage(run, 'begin'),
    ],
    command: 'test',
  }
}

async function born(agent: NewAgent, bounds = TREE_BOUNDS): Promise<string> {
  const session = await createAgent(store, agent, bounds)
  await session.close(() => true)
  return session.id
}

const pathOf = (id: string): string | undefined => openForRead(store, id)?.state.path

describe('an agent below another', () => {
  test('has its place in its first record: its parent, and the names from the root down', async () => {
    const a = await born(below(top, 'a'))
    const nameless = await born(below(a, null))
    const deep = await born(below(nameless, 'deep'))
    expect([a, nameless, deep].map(pathOf)).toEqual(['top/a', `top/a/${nameless}`, `top/a/${nameless}/deep`])
    expect(openForRead(store, a)?.state.parent).toBe(top)
    const root = await newAgent(store)
    expect(pathOf(await born(below(root, 'x')))).toBe(`${root}/x`)
  })

  test('has its first prompt, its lock and its marker', async () => {
    const session = await createAgent(store, below(top, 'a'), TREE_BOUNDS)
    expect(session.state.run).toMatchObject({ status: 'open', prompts: [{ seq: 4 }] })
    expect(store.isHeld(session.id)).toBe(true)
    expect(store.visits.markedIds()).toContain(session.id)
    await session.close(() => true)
  })

  test('cannot be named parent, in any case, because its relatives mean another agent by that', async () => {
    await expect(born(below(top, 'Parent'))).rejects.toMatchObject({ code: 'USAGE' })
    expect(pathOf(await newAgent(store, { name: 'parent' }))).toBe('parent')
  })

  test('has a name that is unique among its living siblings only', async () => {
    const a = await born(below(top, 'a'))
    await expect(born(below(top, 'A'))).rejects.toMatchObject({
      code: 'NAME_TAKEN',
      facts: { agent_id: a },
      hint: expect.stringMatching(/substrat send top\/A '…'.*--name A --parent top --if-exists use/),
    })
    expect(pathOf(await born(below(a, 'a')))).toBe('top/a/a')
    await newAgent(store, { name: 'a' })
    await born(below(top, null))
    await born(below(top, null))
    expect(livingChildren(store, top)).toHaveLength(3)
  })

  test('may have the name of a terminated sibling', async () => {
    const first = await born(below(top, 'a'))
    const session = await reopen(store, first)
    session.append([
      { kind: 'run.cancelled', run_id: session.state.run?.run_id as string, reason: 'terminated' },
    ])
    session.append([{ kind: 'session.terminated' }])
    await session.close(() => false)
    const second = await born(below(top, 'a'))
    expect(livingChildren(store, top).map(({ id }) => id)).toEqual([second])
  })

  test('is the only one if several of its name are created at once', async () => {
    const outcomes = await Promise.allSettled(['a', 'A', 'a', 'A'].map((name) => born(below(top, name))))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'NAME_TAKEN' })
    expect(livingChildren(store, top)).toHaveLength(1)
  })

  test('is found after the index of its siblings was deleted, and keeps its name', async () => {
    const a = await born(below(top, 'a'))
    rmSync(childrenDirectory(store, top), { recursive: true })
    await expect(born(below(top, 'a'))).rejects.toMatchObject({ code: 'NAME_TAKEN', facts: { agent_id: a } })
    expect(store.names(top).isComplete).toBe(true)
  })
})

test('the index of its siblings is held from before it has its name until it is there', async () => {
  const held: [string, boolean][] = []
  let isLooking = false
  withFaults(({ point }) => {
    if (isLooking || !['names.reserve.rename', 'spawn.rename'].includes(point)) return undefined
    isLooking = true
    held.push([point, store.names(top).isHeld])
    isLooking = false
    return undefined
  })
  await newAgent(store, { name: 'a', parent: top })
  clearFaults()
  expect(held).toEqual([
    ['names.reserve.rename', true],
    ['spawn.rename', true],
  ])
  expect(store.names(top).isHeld).toBe(false)
})

test('a child of a parent whose spawn died has its name behind that of its parent, on disk too', async () => {
  withFaults(failing('EIO', ({ point }) => point === 'spawn.sync_agents'))
  await newAgent(store, { name: 'lead' }).catch(() => undefined)
  const parent = store.agentIds().find((id) => id !== top) as string
  const operations = recordOperations()
  await newAgent(store, { name: 'a', parent })
  clearFaults()
  const points = operations.map(({ point }) => point)
  expect(points).toContain('agents.sync_directory')
  expect(points.indexOf('agents.sync_directory')).toBeLessThan(points.indexOf('spawn.rename'))
})

describe('no agent is created', () => {
  const REFUSED = {
    code: 'SESSION_STATE',
    exitStatus: 13,
    message: 'top is terminated and cannot have new children',
  }

  test('below a terminated agent, and nothing of it remains', async () => {
    await terminate(store, top)
    await expect(born(below(top, 'a'))).rejects.toMatchObject(REFUSED)
    expect(store.agentIds()).toEqual([top])
    expect(store.names(top).count()).toBe(0)
  })

  test('below an agent that called complete', async () => {
    const session = await reopen(store, top)
    const run: string = randomUUID()
    session.append([
      { kind: 'session.activated', boot_id: bootId() },
      startedRun(run),
      userMessage(run, 'x'),
      completedRecord(run, null, true),
    ])
    await session.close(() => true)
    await expect(born(below(top, 'a'))).rejects.toMatchObject(REFUSED)
  })

  test('below an agent that does not exist', async () => {
    const ghost = randomUUID()
    await expect(born(below(ghost, 'a'))).rejects.toBeInstanceOf(Error)
    expect(store.agentIds()).toEqual([top])
    expect(store.hasAgent(ghost)).toBe(false)
  })

  test('deeper than the limit', async () => {
    const bounds = { depthMax: 3, childrenMax: 10, workspaceScope: 'host' as const, context: 'all' }
    const b = await born(below(await born(below(top, 'a'), bounds), 'b'), bounds)
    await expect(born(below(b, 'c'), bounds)).rejects.toMatchObject({
      code: 'TREE_FULL',
      exitStatus: 13,
      message: 'cannot create a child of top/a/b: the tree may not be deeper than 3 levels',
      hint: expect.stringContaining('substrat config set depth_max'),
      facts: { agent_id: b, setting: 'depth_max' },
    })
    expect(livingChildren(store, b)).toEqual([])
  })

  test('beside more living siblings than the bound; the dead do not count, whether or not they had a name', async () => {
    const bounds = { depthMax: 8, childrenMax: 2, workspaceScope: 'host' as const, context: 'all' }
    const first = await newAgent(store, { name: 'a', parent: top })
    const nameless = await newAgent(store, { parent: top })
    await expect(born(below(top, 'c'), bounds)).rejects.toMatchObject({
      code: 'TREE_FULL',
      message: 'cannot create a child of top: it already has 2 living children',
      facts: { setting: 'children_max' },
    })
    await terminate(store, nameless)
    await born(below(top, 'c'), bounds)
    await expect(born(below(top, 'd'), bounds)).rejects.toMatchObject({ code: 'TREE_FULL' })
    await terminate(store, first)
    await born(below(top, 'd'), bounds)
    expect(livingChildren(store, top).map(({ name }) => name)).toEqual(['c', 'd'])
  })

  test('beside siblings past the bound though they are born at once', async () => {
    const bounds = { depthMax: 8, childrenMax: 3, workspaceScope: 'host' as const, context: 'all' }
    const outcomes = await Promise.allSettled(
      Array.from({ length: 6 }, (_, n) => born(below(top, n % 2 === 0 ? null : `${n}`), bounds)),
    )
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    expect(livingChildren(store, top)).toHaveLength(3)
  })
})

test('while one is being born its parent does not end, and the other way round', async () => {
  const { lock } = await lockChildren(store, top, 'test')
  const tries = countLockTries()
  const birth = born(below(top, 'a')).catch((error: unknown) => error)
  await waitFor(() => tries() > 3, 'it to ask for the lock')
  expect(livingChildren(store, top)).toEqual([])
  await terminate(store, top)
  await lock.release()
  expect(await birth).toMatchObject({ code: 'SESSION_STATE' })
  expect(store.agentIds()).toEqual([top])
})

test('killed at any step a birth below another leaves a child whole, or none, and its name is free then', async () => {
  for (let step = 1; ; step++) {
    store = tempStore()
    top = await newAgent(store, { name: 'top' })
    const agent = below(top, 'a')
    const died = await killedAt(step, async () => (await createAgent(store, agent, TREE_BOUNDS)).abandon())
    const { state } = openForRead(store, agent.id) ?? {}
    if (state === undefined) {
      const now = vi.spyOn(clock, 'now').mockReturnValue(Date.now() + 3_600_000)
      store.visits.sweep()
      now.mockRestore()
      expect(livingChildren(store, top), `killed at step ${step}`).toEqual([])
      expect(pathOf(await born(below(top, 'a'))), `killed at step ${step}`).toBe('top/a')
    } else {
      expect(state, `killed at step ${step}`).toMatchObject({
        parent: top,
        path: 'top/a',
        run: { status: 'open' },
      })
      expect(
        livingChildren(store, top).map(({ id }) => id),
        `killed at step ${step}`,
      ).toEqual([agent.id])
      expect(store.visits.markedIds(), `killed at step ${step}`).toContain(agent.id)
    }
    expect(checkHome(store, { isRecovered: false }), `killed at step ${step}`).toEqual([])
    if (!died) return
  }
})
