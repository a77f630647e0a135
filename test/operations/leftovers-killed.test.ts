/** Leftovers of a killed spawn, removal or termination beside the log: `recover --all` and `deliver --all` remove them. */
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { checkHome } from '../../src/audit/check.js'
import { checkIndexes } from '../../src/audit/check-names.js'
import type { Finding } from '../../src/audit/finding.js'
import { cancelRecords } from '../../src/operations/cancel.js'
import { deliver } from '../../src/operations/deliver.js'
import { prune } from '../../src/operations/prune.js'
import { recover } from '../../src/operations/recover.js'
import { remove } from '../../src/operations/remove.js'
import { requestStop } from '../../src/operations/stop-agent.js'
import { terminate } from '../../src/operations/terminate.js'
import { terminateSession } from '../../src/provider/kept-server.js'
import { restRecords } from '../../src/recovery/settlement.js'
import { readableState } from '../../src/session/peek-state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import type { RequestVerb } from '../../src/storage/store.js'
import { contextAt } from '../support/contexts.js'
import { withFaults } from '../support/faults.js'
import { copyOf, killedAt } from '../support/killed.js'
import { clearFaults } from '../support/operations.js'
import { beginning, newAgent, reopen, terminate as terminated } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const nothing = (): void => undefined

/** The commands that visit marked agents. */
const COMMANDS = {
  'recover --all': (store: FileStore) =>
    recover(contextAt(store).ctx, { all: true, agents: [] }, 'none', nothing),
  'deliver --all': (store: FileStore) => deliver(contextAt(store).ctx, { all: true, agentIds: [] }, nothing),
}

let store: FileStore
beforeEach(() => {
  store = tempStore()
  // As after the first recovery since the boot: only marked agents are visited.
  store.visits.markComplete()
})

/** Kills the work at its first step of that name, then runs each command in a copy of the home. */
async function afterKill(
  point: string,
  work: () => Promise<unknown>,
  check: (left: FileStore, at: string) => void,
): Promise<void> {
  expect(await killedAt(1, work, (operation) => operation.point === point), point).toBe(true)
  for (const [name, command] of Object.entries(COMMANDS)) {
    const left = copyOf(store)
    await command(left)
    check(left, `${point}, ${name}`)
    expect(checkHome(left, { isRecovered: true }), `${point}, ${name}`).toEqual([])
  }
}

function danglingEntries(left: FileStore): Finding[] {
  const findings: Finding[] = []
  checkIndexes(left, left.agentIds(), findings)
  return findings
}

const REMOVAL = [
  'remove.aside',
  'remove.sync_agents',
  'remove.tree',
  'names.forget',
  'marker.aside',
  'marker.unlink',
]

describe.each(['remove', 'prune'])('%s', (command) => {
  test.each(REMOVAL)('killed at %s leaves no entry of a name index after recovery', async (point) => {
    const lead = await newAgent(store, { name: 'lead' })
    for (const agent of [{ name: 'kid', parent: lead }, { parent: lead }, { name: 'root' }]) {
      const id = await newAgent(store, agent)
      await terminated(store, id)
      const { ctx } = contextAt(store)
      const work = (): Promise<unknown> =>
        command === 'remove' ? remove(ctx, id, false, nothing) : prune(ctx, -1, false)
      await afterKill(point, work, (left, at) => expect(danglingEntries(left), at).toEqual([]))
      await COMMANDS['recover --all'](store)
    }
  })
})

test('a spawn killed after it has marked its agent leaves no entry of a name index after recovery', async () => {
  const lead = await newAgent(store, { name: 'lead' })
  const work = (): Promise<unknown> => newAgent(store, { parent: lead })
  await afterKill('spawn.log.write', work, (left, at) => expect(danglingEntries(left), at).toEqual([]))
})

test('the first recovery after a boot removes entries to which no marker leads', async () => {
  const booted = tempStore()
  const lead = await newAgent(booted, { name: 'lead' })
  const index = booted.names(lead)
  const lock = await index.lock('a spawn')
  index.reserve('never', randomUUID())
  await lock.release()
  expect(danglingEntries(booted)).toHaveLength(1)
  await COMMANDS['recover --all'](booted)
  expect(danglingEntries(booted)).toEqual([])
})

/** An agent whose holder died in a turn that another command had asked to stop. */
async function askedAgent(verb: RequestVerb): Promise<string> {
  const id = await newAgent(store, { name: 'a' })
  const session = await reopen(store, id)
  const runId = randomUUID()
  session.append(beginning(session, runId, 'hello'))
  await session.abandon()
  store.requests.put(id, runId, verb)
  return id
}

describe('a run that has ended has no stop request', () => {
  test('once recovery has ended the run of a dead holder', async () => {
    const id = await askedAgent('cancel')
    for (const command of Object.values(COMMANDS)) {
      const left = copyOf(store)
      await command(left)
      expect(readableState(left, id)?.run?.status).not.toBe('open')
      expect(checkHome(left, { isRecovered: true })).toEqual([])
      // Without a turn, the agent needs a visit for its interrupted one.
      if (left.visits.isMarked(id)) await command(left)
      expect(left.requests.requestsTo(id)).toEqual([])
    }
  })

  test('whenever the command that asks its holder to stop stores the request, and dies', async () => {
    let steps = 0
    for (let at = 0; at <= steps; at++) {
      const id = await newAgent(store, { name: `a${at}` })
      const holder = await reopen(store, id)
      const runId = randomUUID()
      holder.append(beginning(holder, runId, 'hello'))
      holder.append(cancelRecords(holder.state, 'cancelled'))
      holder.append(restRecords(holder.state, 'idle'))
      steps = 0
      let isAsked = false
      withFaults(() => {
        if (steps++ < at || isAsked) return undefined
        isAsked = true
        store.requests.put(id, runId, 'cancel')
        store.visits.mark(id)
        return undefined
      })
      await holder.close(() => false)
      clearFaults()
      if (store.visits.isMarked(id)) await COMMANDS['recover --all'](store)
      expect(store.requests.requestsTo(id), `before step ${at}`).toEqual([])
    }
    expect(steps).toBeGreaterThan(5)
    expect(checkHome(store, { isRecovered: true })).toEqual([])
  })
})

describe('a terminated agent has no stop request', () => {
  test('once its termination has ended', async () => {
    const id = await askedAgent('terminate')
    await terminate(contextAt(store).ctx, id, false, nothing)
    expect(store.requests.requestsTo(id)).toEqual([])
  })

  test.each(['request.remove', 'marker.aside', 'marker.unlink'])(
    'after recovery from a kill of its termination at %s',
    async (point) => {
      const id = await askedAgent('terminate')
      const work = (): Promise<unknown> => terminate(contextAt(store).ctx, id, false, nothing)
      await afterKill(point, work, (left, at) => expect(left.requests.requestsTo(id), at).toEqual([]))
    },
  )

  test('after recovery, if the agent ended as a command asked it to stop and died', async () => {
    const id = await newAgent(store, { name: 'a' })
    const holder = await reopen(store, id)
    holder.append(beginning(holder, randomUUID(), 'hello'))
    let closing: Promise<void> | undefined
    withFaults(({ point }) => {
      if (point !== 'request.link' || closing !== undefined) return undefined
      closing = Promise.resolve()
      terminateSession(holder, cancelRecords(holder.state, 'terminated'))
      closing = holder.close(() => false)
      return undefined
    })
    requestStop(contextAt(store).ctx, id, 'terminate')
    await closing
    expect(store.requests.requestsTo(id)).toHaveLength(1)
    for (const command of Object.values(COMMANDS)) {
      const left = copyOf(store)
      await command(left)
      expect(left.requests.requestsTo(id)).toEqual([])
    }
  })
})
