import { randomUUID } from 'node:crypto'
import { appendFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { OPERATOR } from '../../src/format.js'
import { post } from '../../src/mail/post.js'
import { listAgents, showAgent } from '../../src/operations/list-and-show.js'
import { viewTree } from '../../src/operations/tree.js'
import type { ListedAgent } from '../../src/schema/output-overview.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { withFaults } from '../support/faults.js'
import { beginning, newAgent, newSession, startedRun, userMessage } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let store: FileStore
let ids: string[]

beforeEach(async () => {
  store = tempStore()
  ids = [await newAgent(store, { name: 'a' }), await newAgent(store, { name: 'b' })]
})

function list(): ListedAgent[] {
  return listAgents(store, { roots: false, all: false })
}

function inboxes(): number[] {
  return list().map((agent) => ('inbox' in agent ? agent.inbox : -1))
}

function posted(to: string): void {
  const what = { kind: 'request' as const, content: 'hello' }
  post(store, { message_id: randomUUID(), from: OPERATOR, from_path: OPERATOR, to, ...what })
}

/** How often an inbox was looked into. */
function looks(act: () => void): number {
  let count = 0
  withFaults(({ point }) => {
    if (point === 'mail.list') count += 1
    return undefined
  })
  act()
  withFaults(() => undefined)
  return count
}

test('pending mail is counted, before and after every agent was visited once', () => {
  posted(ids[1] as string)
  expect(inboxes()).toEqual([0, 1])
  expect(looks(list)).toBe(2)
  store.visits.markComplete()
  expect(inboxes()).toEqual([0, 1])
  expect(viewTree(store, { all: false }).agents.map(({ inbox }) => inbox)).toEqual([0, 1])
})

test('the prompt of a turn that was continued is the message, not what substrat said to the program', async () => {
  const session = await newSession(store, { name: 'c' })
  const [run, again] = [randomUUID(), randomUUID()]
  session.append(beginning(session, run, 'Write the report'))
  session.append([{ kind: 'run.interrupted', run_id: run, reason: 'process_exit' }])
  session.append([
    { ...startedRun(again), origin: 'continuation', continues: run, auto: true },
    { ...userMessage(again, 'You were interrupted'), origin: 'continuation' },
  ])
  await session.abandon()
  expect(showAgent(store, session.id).prompt).toBe('Write the report')
})

test('show names a full disk as the trouble of a turn whose process is gone', async () => {
  const session = await newSession(store, { name: 'c' })
  session.append(beginning(session, randomUUID(), 'hello'))
  await session.abandon()
  expect(showAgent(store, session.id).trouble).toBe('its process died')
  vi.spyOn(store.local, 'freeBytes').mockReturnValue(4096)
  expect(showAgent(store, session.id).trouble).toBe(
    'its process ended, and the disk of the home is full: free some space first',
  )
})

test('once markers are complete, only the inboxes of marked agents are read', () => {
  store.visits.markComplete()
  expect(looks(list)).toBe(0)
  expect(looks(() => viewTree(store, { all: false }))).toBe(0)
  posted(ids[0] as string)
  expect(looks(list)).toBe(1)
  expect(inboxes()).toEqual([1, 0])
})

test('mail that comes while the list is made is counted, or comes after it: never an earlier one missed', () => {
  store.visits.markComplete()
  posted(ids[0] as string)
  let isPosted = false
  withFaults(({ point }) => {
    if (point !== 'snapshot.read' || isPosted) return undefined
    isPosted = true
    posted(ids[1] as string)
    return undefined
  })
  expect(inboxes()[0]).toBe(1)
  withFaults(() => undefined)
  expect(inboxes()).toEqual([1, 1])
})

test('agents with a damaged log or a symlink for a snapshot are listed as corrupt', async () => {
  const root = join(store.address, 'agents')
  const other = await newAgent(store, { name: 'c' })
  for (const name of ['damaged', 'torn', 'logless', 'linked', 'cut', 'held'])
    ids.push(await newAgent(store, { name }))
  const [, , damaged, torn, logless, linked, cut] = ids.map((id) => join(root, id)) as string[]
  store.visits.markComplete()
  for (const id of [...ids, other]) store.visits.unmark(id, () => false)
  posted(ids[0] as string)
  writeFileSync(join(damaged as string, 'session.json'), 'no snapshot')
  appendFileSync(join(torn as string, 'events.jsonl'), '{"seq":')
  rmSync(join(logless as string, 'events.jsonl'))
  rmSync(join(linked as string, 'session.json'))
  symlinkSync(join(root, other, 'session.json'), join(linked as string, 'session.json'))
  truncateSync(join(cut as string, 'events.jsonl'), 100)
  expect(
    list()
      .map(({ status }) => status)
      .filter((status) => status === 'corrupt'),
  ).toHaveLength(3)
})
