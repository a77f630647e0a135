import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { checkHome } from '../../src/audit/check.js'
import { clock } from '../../src/clock.js'
import type { Operation } from '../../src/host/disk/operation.js'
import { limits } from '../../src/limits.js'
import { openForRead } from '../../src/session/load.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { createAgent, type NewAgent } from '../../src/tree/create-agent.js'
import { failing, withFaults } from '../support/faults.js'
import { killedAt } from '../support/killed.js'
import { createdRecord, startedRun, TREE_BOUNDS, userMessage } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let store: FileStore

beforeEach(() => {
  store = tempStore()
})

/** With a prompt that needs a blob. */
function born(): NewAgent {
  const id: string = randomUUID()
  const run: string = randomUUID()
  const records = [
    createdRecord(id, { name: 'a' }),
    { kind: 'session.activated' as const, boot_id: 'b' },
    startedRun(run),
    userMessage(run, 'x'.repeat(limits.inlineBytesMax + 1)),
  ]
  return { id, name: 'a', parent: null, records: () => records, command: 'test' }
}

const agentFolders = (): string[] => readdirSync(join(store.address, 'agents'))

test('an agent is there whole, with its prompt, locked and marked, or not at all', async () => {
  const agent = born()
  withFaults(({ point }) => {
    if (point === 'spawn.rename') expect(store.visits.markedIds()).toEqual([agent.id])
    return undefined
  })
  const session = await createAgent(store, agent, TREE_BOUNDS)
  expect(session.state.run?.status).toBe('open')
  expect(store.isHeld(agent.id)).toBe(true)
  expect(store.visits.markedIds()).toEqual([agent.id])
  expect(openForRead(store, agent.id)?.state).toEqual(session.state)
})

describe('killed at any step', () => {
  test('a birth leaves an agent that owes its first turn and is marked, or none; and its name is free then', async () => {
    for (let step = 1; ; step++) {
      store = tempStore()
      const agent = born()
      const died = await killedAt(step, async () => (await createAgent(store, agent, TREE_BOUNDS)).abandon())
      const { state } = openForRead(store, agent.id) ?? {}
      if (state === undefined) {
        sweepLater()
        expect(agentFolders(), `killed at step ${step}`).toEqual([])
        const again = born()
        await (await createAgent(store, again, TREE_BOUNDS)).close(() => true)
      } else {
        expect(state.run?.status, `killed at step ${step}`).toBe('open')
        expect(store.visits.markedIds(), `killed at step ${step}`).toEqual([agent.id])
      }
      expect(checkHome(store, { isRecovered: false }), `killed at step ${step}`).toEqual([])
      if (!died) return
    }
  })
})

describe('a disk that fails at any step', () => {
  test.each(['ENOSPC', 'EIO'])(
    'with %s: the birth says so, and leaves nothing that is owed',
    async (errno) => {
      const steps: Operation[] = []
      withFaults((operation) => {
        steps.push(operation)
        return undefined
      })
      await (await createAgent(store, born(), TREE_BOUNDS)).close(() => true)
      const points = [...new Set(steps.map(({ point }) => point))].filter(
        (point) => !point.startsWith('lock.'),
      )
      expect(points.length).toBeGreaterThan(15)
      for (const point of points) {
        store = tempStore()
        const agent = born()
        withFaults(failing(errno, (operation) => operation.point === point))
        const session = await createAgent(store, agent, TREE_BOUNDS).catch((error: unknown) => error)
        withFaults(() => undefined)
        if (!(session instanceof Error))
          await (session as { close(needsVisit: () => boolean): Promise<void> }).close(() => true)
        expect(checkHome(store, { isRecovered: false }), point).toEqual([])
        if (store.hasAgent(agent.id)) expect(store.visits.markedIds(), point).toEqual([agent.id])
      }
    },
  )
})

test('a recovery at any step of a spawn leaves the marker of the new agent', async () => {
  let steps = Number.POSITIVE_INFINITY
  for (let at = 1; at <= steps; at++) {
    store = tempStore()
    const agent = born()
    let step = 0
    let isBusy = false
    withFaults(() => {
      if (isBusy || ++step !== at) return undefined
      isBusy = true
      if (store.visits.markedIds().includes(agent.id) && !store.hasAgent(agent.id))
        store.visits.unmarkAbsent(agent.id)
      isBusy = false
      return undefined
    })
    const session = await createAgent(store, agent, TREE_BOUNDS)
    withFaults(() => undefined)
    steps = step
    expect(store.visits.markedIds(), `looked at before step ${at}`).toEqual([agent.id])
    await session.abandon()
  }
})

/** Files that may belong to a spawn in progress are swept only when they are old. */
function sweepLater(): void {
  const now = vi.spyOn(clock, 'now').mockReturnValue(Date.now() + 3_600_000)
  store.visits.sweep()
  now.mockRestore()
}
