/** The commands that begin the due turns of schedules, and the notice that none of them runs. */
import { tmpdir } from 'node:os'
import { beforeEach, expect, test } from 'vitest'
import { examine } from '../../src/operations/doctor.js'
import { listAgents, tickerNote } from '../../src/operations/list-and-show.js'
import { recover } from '../../src/operations/recover.js'
import { listSchedules } from '../../src/operations/schedule/list.js'
import { importAgents } from '../../src/operations/transfer/import.js'
import { moveAgents } from '../../src/operations/transfer/move-agents.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { contextAt } from '../support/contexts.js'
import { newAgent } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'
import { scheduled, setTime, tickAt } from '../support/ticks.js'

const at = (time: string): string => `2026-11-20T${time}:00.000Z`
const ALL = { roots: false, all: true }

let store: FileStore
let id: string

beforeEach(async () => {
  store = tempStore()
  setTime(at('09:30'))
  id = await newAgent(store, { name: 'report' })
})

const noteNow = (): string | undefined => tickerNote(store, listAgents(store, ALL))

test('a home without schedules has no tick, also after deliver --all', async () => {
  await tickAt(store, at('10:00'))
  expect(store.visits.lastTick).toBeUndefined()
  expect(noteNow()).toBeUndefined()
})

test('list and schedule list say that no tick came for longer than the shortest schedule', async () => {
  await scheduled(store, id, { when: 'every 1h' })
  await scheduled(store, id, { when: '0 7 * * *', name: 'daily' })
  setTime(at('10:31'))
  expect(noteNow()).toBeUndefined()
  setTime(at('10:32'))
  expect(noteNow()).toContain('no deliver --all has run since 2026-11-20T09:30:00Z')
  expect(listSchedules(store, undefined).ticker).toBe(noteNow())
  await tickAt(store, at('10:40'))
  expect(noteNow()).toBeUndefined()
})

test('doctor reports it, with the commands that help', async () => {
  await scheduled(store, id)
  setTime(at('12:00'))
  const places = { listPath: '/nowhere', loaded: new Set<string>(), registry: contextAt(store).ctx.providers }
  const options = { all: false, plugins: places, settingsTrouble: undefined }
  const found = async () =>
    (await examine(store.address, options)).findings.filter(({ invariant }) =>
      invariant.includes('schedules'),
    )
  expect(await found()).toMatchObject([
    { verdict: 'needs_you', remedy: expect.stringContaining('substrat deliver --all') },
  ])
  await tickAt(store, at('12:00'))
  expect(await found()).toEqual([])
})

test('recover --all is a tick, unless it continues nothing', async () => {
  await scheduled(store, id)
  setTime(at('09:40'))
  await recover(contextAt(store).ctx, { all: true, agents: [] }, 'none', () => undefined)
  expect(store.visits.lastTick).toBe(at('09:30'))
  await recover(contextAt(store).ctx, { all: true, agents: [] }, 'roots', () => undefined)
  expect(store.visits.lastTick).toBe(at('09:40'))
})

test('paused and ended schedules need no tick', async () => {
  await scheduled(store, id, { until: at('10:00') })
  await tickAt(store, at('10:00'))
  setTime(at('18:00'))
  expect(noteNow()).toBeUndefined()
})

test('list says that the last tick is in the future, after the clock was set back', async () => {
  await scheduled(store, id)
  await tickAt(store, at('09:40'))
  setTime('2026-11-19T09:40:00.000Z')
  expect(noteNow()).toContain(
    'the last deliver --all ran at 2026-11-20T09:40:00Z, and the clock was set back',
  )
  expect(listSchedules(store, undefined).ticker).toBe(noteNow())
  await tickAt(store, '2026-11-19T09:41:00.000Z')
  expect(noteNow()).toBeUndefined()
})

test('list says that a schedule has no slot until the clock is where it was', async () => {
  await scheduled(store, id)
  await tickAt(store, '2026-11-27T10:00:00.000Z')
  await tickAt(store, at('10:00'))
  expect(noteNow()).toMatch(
    /^schedule hourly of report has no slot until 2026-11-27T11:00:00Z: the clock was ahead, .*; see it: substrat schedule show report hourly$/,
  )
  await tickAt(store, '2026-11-27T11:00:00.000Z')
  expect(noteNow()).toBeUndefined()
})

test('an agent that moves here with an old schedule is not late', async () => {
  const moving = await newAgent(store, { name: 'moving', workspace: tmpdir() })
  await scheduled(store, moving, { until: '2026-11-21T00:00:00.000Z' })
  const there = tempStore()
  setTime(at('15:00'))
  let bundle: Buffer | undefined
  const deliver = async (bytes: Buffer): Promise<void> => {
    bundle = bytes
  }
  await moveAgents(contextAt(store).ctx, { agentId: moving, isTree: false, to: 'file', deliver })
  const request = { bundle: bundle as unknown as Buffer, name: null, workspace: null, isHeld: true }
  await importAgents(contextAt(there).ctx, request)
  expect(there.visits.lastTick).toBe(at('15:00'))
  expect(tickerNote(there, listAgents(there, ALL))).toBeUndefined()
})
