/** The audit: each invariant of the tree and of mail is found broken where it is, and nothing is where all is well. */
import { randomUUID } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { checkHome } from '../../src/audit/check.js'
import { frame } from '../../src/storage/log/frame.js'
import type { FileStore } from '../../src/storage/store.js'
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

/** An agent's first record says something else, and so does its snapshot: it is gone. */
function forgeCreated(id: string, change: object): void {
  const log = store.logPath(id)
  const reader = store.logs.openForRead(id)
  const [first = ''] = reader?.read(0, reader.size()).toString().split('\n') ?? []
  reader?.close()
  const { crc: _, ...record } = JSON.parse(first)
  writeFileSync(log, frame({ ...record, ...change }))
  rmSync(join(dirname(log), 'session.json'))
}

test('of a tree with mail that waits finds nothing', async () => {
  await newAgent(store, { parent: lead })
  posted(store, child, 'hello', { from: lead })
  expect(found()).toEqual([])
})

describe('the tree', () => {
  const PARENT = "an agent's parent exists and outlives it"

  test('a parent that is not there', () => {
    forgeCreated(child, { parent: randomUUID() })
    expect(found(false)).toEqual([PARENT])
  })

  test('a cycle', () => {
    forgeCreated(lead, { parent: child, path: 'lead/child/lead' })
    expect(found(false).filter((invariant) => invariant === PARENT)).toHaveLength(2)
  })

  test('a living child of a terminated parent', async () => {
    await terminate(store, lead)
    expect(found(false)).toEqual([PARENT])
    await terminate(store, child)
    expect(found(false)).toEqual([])
  })

  test("a path that is not its parent's and its name", () => {
    forgeCreated(child, { path: 'elsewhere/child' })
    expect(found(false)).toEqual(["an agent's path is its parent's path and its name"])
  })

  test('a living child that its name does not lead to; a terminated one needs no entry', async () => {
    store.childNames(lead).forget('child')
    expect(found(false)).toEqual(['the name of a living agent resolves to it'])
    await terminate(store, child)
    expect(found(false)).toEqual([])
  })

  test('a child without a name stands in the index by its id', async () => {
    const nameless = await newAgent(store, { parent: lead })
    store.childNames(lead).forget(nameless)
    expect(found(false)).toEqual(['the name of a living agent resolves to it'])
  })

  test('an index that says that it is not complete is none of that', () => {
    rmSync(join(dirname(store.logPath(lead)), 'children'), { recursive: true })
    expect(found(false)).toEqual([])
  })
})

describe('mail', () => {
  test('what was asked of an agent and is not obeyed', () => {
    posted(store, child, '', { from: lead, kind: 'control', control: { verb: 'gate' } })
    expect(found(false)).toEqual([])
    expect(found()).toEqual(['control messages to an agent are applied'])
  })

  test('what waits for a terminated agent', async () => {
    await terminate(store, child)
    forged(store, child, 'too late')
    expect(found(false)).toEqual([])
    expect(found()).toEqual(['mail to a terminated agent is returned'])
  })

  test('what an ended turn owes and has not sent', async () => {
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

  test('what waits for an agent without a marker, once all were looked at under this kernel', () => {
    forged(store, child, 'nobody looks here')
    expect(found()).toEqual([])
    store.boots.markScanned()
    expect(found()).toEqual(['an agent with pending work is marked'])
    store.mark(child)
    expect(found()).toEqual([])
  })

  test('a message that is delivered and still in the inbox', async () => {
    const id = posted(store, child, '', { from: lead, kind: 'control', control: { verb: 'gate' } })
    const session = await reopen(store, child)
    session.append([{ kind: 'agent.gated', message_id: id, from: lead }])
    await session.close(() => false)
    expect(found()).toEqual(['delivered mail has left the inbox'])
  })

  test('an agent that somebody holds is not at rest, and nothing of that is asked of it', async () => {
    const session = await newSession(store, { name: 'held' })
    forged(store, session.id, 'x', { kind: 'control', control: { verb: 'gate' } })
    expect(found()).toEqual([])
    await session.abandon()
  })
})
