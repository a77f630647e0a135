/** The audit finds each violated invariant of the tree and of mail, and nothing in an intact home. */
import { randomUUID } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { checkHome } from '../../src/audit/check.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { frame } from '../../src/storage/log/frame.js'
import { forged, posted } from '../support/mail.js'
import { beginning, newAgent, newSession, reopen, terminate } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let store: FileStore
let lead: string
let child: string

beforeEach(async () => {
  store = tempStore()
  lead = await newAgent(store, { name: 'lead' })
  child = await newAgent(store, { name: 'child', parent: lead })
})

function found(isRecovered = true): string[] {
  return checkHome(store, { isRecovered }).map(({ invariant }) => invariant)
}

/** Changes the first record of an agent and removes its snapshot, which would contradict the change. */
function forgeCreated(id: string, change: object): void {
  const log = store.local.logPath(id)
  const reader = store.openLog(id)
  const [first = ''] = reader?.read(0, reader.size()).toString().split('\n') ?? []
  reader?.close()
  const { crc: _, ...record } = JSON.parse(first)
  writeFileSync(log, frame({ ...record, ...change }))
  rmSync(join(dirname(log), 'session.json'))
}

test('the audit of a tree with pending mail finds nothing', async () => {
  await newAgent(store, { parent: lead })
  posted(store, child, 'hello', { from: lead })
  expect(found()).toEqual([])
})

describe('in the audit of the tree,', () => {
  const PARENT = "an agent's parent exists and outlives it"

  test('a missing parent is found', () => {
    forgeCreated(child, { parent: randomUUID() })
    expect(found(false)).toEqual([PARENT])
  })

  test('a cycle of parents is found', () => {
    forgeCreated(lead, { parent: child, path: 'lead/child/lead' })
    expect(found(false).filter((invariant) => invariant === PARENT)).toHaveLength(2)
  })

  test('a living child of a terminated parent is found', async () => {
    await terminate(store, lead)
    expect(found(false)).toEqual([PARENT])
    await terminate(store, child)
    expect(found(false)).toEqual([])
  })

  test("a path that is not its parent's path and its name is found", () => {
    forgeCreated(child, { path: 'elsewhere/child' })
    expect(found(false)).toEqual(["an agent's path is its parent's path and its name"])
  })

  test('a living child whose name does not resolve to it is found; a terminated child needs no entry', async () => {
    store.names(lead).forget('child')
    expect(found(false)).toEqual(['the name of a living agent resolves to it'])
    await terminate(store, child)
    expect(found(false)).toEqual([])
  })

  test('a child without a name is found if the index lacks its id', async () => {
    const nameless = await newAgent(store, { parent: lead })
    store.names(lead).forget(nameless)
    expect(found(false)).toEqual(['the name of a living agent resolves to it'])
  })

  test('an incomplete index is not a finding', () => {
    rmSync(join(dirname(store.local.logPath(lead)), 'children'), { recursive: true })
    expect(found(false)).toEqual([])
  })
})

describe('in the audit of mail,', () => {
  test('a control message that was not applied is found', () => {
    posted(store, child, '', { from: lead, kind: 'control', control: { verb: 'gate' } })
    expect(found(false)).toEqual([])
    expect(found()).toEqual(['control messages to an agent are applied'])
  })

  test('pending mail of a terminated agent is found', async () => {
    await terminate(store, child)
    forged(store, child, 'too late')
    expect(found(false)).toEqual([])
    expect(found()).toEqual(['mail to a terminated agent is returned'])
  })

  test('a reply of an ended turn that was not sent is found', async () => {
    const session = await reopen(store, child)
    const run_id = randomUUID()
    session.append(beginning(session, run_id, 'hello'))
    session.append([
      { kind: 'run.failed', run_id, error: { type: 'crashed', message: 'it broke' } },
      { kind: 'session.suspended', reason: 'idle' },
    ])
    await session.close(() => true)
    expect(found(false)).toEqual([])
    expect(found()).toEqual(['replies and failure notices of ended turns are sent'])
  })

  test('pending mail of an agent without a marker is found, once recovery has scanned all agents since boot', () => {
    forged(store, child, 'nobody looks here')
    expect(found()).toEqual([])
    store.visits.markComplete()
    expect(found()).toEqual(['an agent with pending work is marked'])
    store.visits.mark(child)
    expect(found()).toEqual([])
  })

  test('a delivered message that is still in the inbox is found', async () => {
    const id = posted(store, child, '', { from: lead, kind: 'control', control: { verb: 'gate' } })
    const session = await reopen(store, child)
    session.append([{ kind: 'agent.gated', message_id: id, from: lead }])
    await session.close(() => false)
    expect(found()).toEqual(['delivered mail has left the inbox'])
  })

  test('an agent with a holder is not checked for idle invariants', async () => {
    const session = await newSession(store, { name: 'held' })
    forged(store, session.id, 'x', { kind: 'control', control: { verb: 'gate' } })
    expect(found()).toEqual([])
    await session.abandon()
  })
})
