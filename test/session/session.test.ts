import { randomUUID } from 'node:crypto'
import { appendFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Operation } from '../../src/host/disk/operation.js'
import { limits } from '../../src/limits.js'
import { encodeBatch } from '../../src/session/batch.js'
import { openForRead } from '../../src/session/load.js'
import type { NewRecord, SessionRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import { isBlob } from '../../src/session/shapes.js'
import type { State } from '../../src/session/state.js'
import { frame } from '../../src/storage/log/frame.js'
import type { FileStore } from '../../src/storage/store.js'
import { failing, withFaults } from '../support/faults.js'
import { appendTurn, beginning, newSession, reopen, startedRun } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let store: FileStore
let session: Session
let agent: string
const log = (): Buffer => readFileSync(join(agent, 'events.jsonl'))
const snapshot = (): Buffer => readFileSync(join(agent, 'session.json'))
const isMarked = (): boolean => store.markedIds().includes(session.id)
const nothingOwed = (): boolean => false

beforeEach(async () => {
  store = tempStore()
  session = await newSession(store, { name: 'a' })
  agent = dirname(store.logPath(session.id))
})

/** Closed in the way of a process that died: lock gone, no snapshot of the end, marker there. */
async function died(): Promise<State> {
  const { state } = session
  await session.abandon()
  return state
}

describe('append', () => {
  test('is durable and told to listeners when it returns, in this order', () => {
    const steps: string[] = []
    session.onRecord(({ kind }) => void steps.push(kind))
    withFaults(({ point }) => {
      if (/^(log|lock)\./.test(point)) steps.push(point)
      return undefined
    })
    session.append([{ kind: 'session.activated', boot_id: 'b' }, startedRun(randomUUID())])
    const written = ['lock.check', 'log.append', 'log.sync', 'log.check', 'lock.check']
    expect(steps).toEqual([...written, 'session.activated', 'run.started'])
    expect(openForRead(store, session.id)?.state).toEqual(session.state)
  })

  test('tells who waits for a record of that one alone, and once', () => {
    const told: string[] = []
    session.onceDurable('session.suspended', () => told.push('at rest'))
    session.append([{ kind: 'session.activated', boot_id: 'b' }])
    expect(told).toEqual([])
    for (const kind of ['suspended', 'activated', 'suspended'])
      session.append([
        kind === 'suspended'
          ? { kind: 'session.suspended', reason: 'idle' }
          : { kind: 'session.activated', boot_id: 'b' },
      ])
    expect(told).toEqual(['at rest'])
  })

  test('of no records does nothing', () => {
    expect(session.append([])).toEqual([])
    expect(session.state.last_seq).toBe(1)
  })

  const WRONG: [string, NewRecord[], object][] = [
    ['a kind that is not there', [{ kind: 'run.paused' } as never], { code: 'UNEXPECTED' }],
    [
      'a field of the wrong type',
      [{ kind: 'session.activated', boot_id: 7 } as never],
      { code: 'UNEXPECTED' },
    ],
    [
      'a line that is too long',
      [{ kind: 'provider.state', state: 'A'.repeat(limits.lineBytesMax) }],
      { code: 'UNEXPECTED' },
    ],
    [
      'a transition that is not there',
      [{ kind: 'session.suspended', reason: 'idle' }],
      { code: 'SESSION_STATE' },
    ],
    [
      'one that is wrong after others that are right',
      [
        { kind: 'session.activated', boot_id: 'b' },
        { kind: 'model.requested', run_id: randomUUID() },
      ],
      { code: 'SESSION_STATE' },
    ],
  ]

  test.each(WRONG)('refuses %s before anything is written', (_, records, error) => {
    const before = { log: log(), state: session.state }
    const touched: Operation[] = []
    withFaults((operation) => {
      if (operation.name !== 'read') touched.push(operation)
      return undefined
    })
    expect(() => session.append(records)).toThrow(expect.objectContaining(error))
    expect(touched).toEqual([])
    expect({ log: log(), state: session.state }).toEqual(before)
    expect(session.append([{ kind: 'session.activated', boot_id: 'b' }])).toHaveLength(1)
  })

  test('a clock that was set back does not make the log run backwards', () => {
    session.append([{ kind: 'session.activated', boot_id: 'b' }])
    const future: SessionRecord[] = encodeBatch(
      { ...session.state, updated_at: '2999-01-01T00:00:00.000Z' },
      [{ kind: 'session.suspended', reason: 'idle' }],
    ).records
    expect(future[0]?.ts).toBe('2999-01-01T00:00:00.000Z')
  })

  test('writes nothing once the lock was lost', async () => {
    await session.abandon()
    expect(() => session.append([{ kind: 'session.activated', boot_id: 'b' }])).toThrow(
      expect.objectContaining({ code: 'LOCKED' }),
    )
  })
})

describe('large content', () => {
  const large = `${'ü'.repeat(limits.inlineBytesMax / 2)}!`

  test('is in a blob, and its directory synced, before the record that names it is written', () => {
    const points: string[] = []
    withFaults(({ point }) => {
      points.push(point)
      return undefined
    })
    const run = randomUUID()
    session.append(beginning(session, run, large))
    expect(points.indexOf('blob.create.fsync')).toBeGreaterThanOrEqual(0)
    expect(points.indexOf('blob.create.link')).toBeGreaterThan(points.indexOf('blob.create.fsync'))
    expect(points.indexOf('blob.create.sync_directory')).toBeGreaterThan(points.indexOf('blob.create.link'))
    expect(points.indexOf('log.append')).toBeGreaterThan(points.indexOf('blob.create.sync_directory'))
    const record = session.recordAt(session.state.run?.prompts[0] as never)
    const content = 'content' in record ? record.content : ''
    expect(isBlob(content)).toBe(true)
    expect(session.text(content)).toBe(large)
  })

  test.each([
    [limits.inlineBytesMax, false],
    [limits.inlineBytesMax + 1, true],
  ])('of %i bytes: in a blob is %s', (bytes, inBlob) => {
    session.append(beginning(session, randomUUID(), 'x'.repeat(bytes)))
    expect(readdirSync(join(agent, 'blobs'))).toHaveLength(inBlob ? 1 : 0)
  })

  test('of control characters stays within a line', () => {
    const worst = '\u0001'.repeat(limits.inlineBytesMax)
    session.append(beginning(session, randomUUID(), worst))
    expect(readdirSync(join(agent, 'blobs'))).toHaveLength(0)
  })

  test('said twice is stored once', () => {
    appendTurn(session, large, large)
    expect(readdirSync(join(agent, 'blobs'))).toHaveLength(1)
  })

  test('whose blob is gone or damaged is corruption, named', () => {
    session.append(beginning(session, randomUUID(), large))
    const record = session.recordAt(session.state.run?.prompts[0] as never)
    const content = 'content' in record ? record.content : ''
    const [name] = readdirSync(join(agent, 'blobs')) as [string]
    const path = join(agent, 'blobs', name)
    writeFileSync(path, 'other')
    expect(() => session.text(content)).toThrow(
      expect.objectContaining({ code: 'CORRUPT', facts: { path, blob: name } }),
    )
    rmSync(path)
    expect(() => session.text(content)).toThrow(/is missing/)
  })

  test('that does not fit on the disk leaves the session as it was', () => {
    const before = { log: log(), state: session.state }
    withFaults(failing('ENOSPC', ({ point }) => point === 'blob.create.write'))
    expect(() => session.append(beginning(session, randomUUID(), large))).toThrow(
      expect.objectContaining({ code: 'STORAGE_FAILED' }),
    )
    expect({ log: log(), state: session.state }).toEqual(before)
    expect(readdirSync(join(agent, 'blobs'))).toEqual([])
  })
})

describe('a disk that is full', () => {
  const turn = (): NewRecord[] => beginning(session, randomUUID(), 'hi')

  test('while appending: the session is as before the batch, and goes on when there is space', () => {
    const before = { log: log(), state: session.state }
    withFaults(failing('ENOSPC', ({ point }) => point === 'log.append', 1))
    expect(() => session.append(turn())).toThrow(expect.objectContaining({ code: 'STORAGE_FAILED' }))
    expect({ log: log(), state: session.state }).toEqual(before)
    expect(session.append(turn())).toHaveLength(3)
    expect(openForRead(store, session.id)?.state).toEqual(session.state)
  })

  test('in the middle of a batch: what was written of it is taken back', () => {
    const before = log()
    let isCut = false
    withFaults(({ point }) => {
      if (point !== 'log.append') return undefined
      if (isCut) throw Object.assign(new Error('full'), { code: 'ENOSPC' })
      isCut = true
      return { writtenBytesMax: 100 }
    })
    expect(() => session.append(turn())).toThrow(expect.objectContaining({ code: 'STORAGE_FAILED' }))
    expect(log()).toEqual(before)
  })

  test('where even taking back fails, nothing more is appended, and the next opener cuts', async () => {
    const before = { log: log(), state: session.state }
    let writes = 0
    withFaults(({ point }) => {
      if (point === 'log.append' && writes++ === 0) return { writtenBytesMax: 100 }
      if (point === 'log.append' || point === 'log.take_back')
        throw Object.assign(new Error('full'), { code: 'EIO' })
      return undefined
    })
    expect(() => session.append(turn())).toThrow(expect.objectContaining({ code: 'STORAGE_FAILED' }))
    expect(() => session.append(turn())).toThrow(expect.objectContaining({ code: 'SYNC_FAILED' }))
    withFaults(() => undefined)
    expect(log().length).toBe(before.log.length + 100)
    await died()
    session = await reopen(store, session.id)
    expect({ log: log(), state: session.state }).toEqual(before)
  })

  test('at the clean end: log and marker stay, and no error hides what was done', async () => {
    appendTurn(session, 'hi', 'echo: hi')
    const { state } = session
    const old = snapshot()
    withFaults(failing('ENOSPC', ({ point }) => point.startsWith('snapshot')))
    await session.close(nothingOwed)
    withFaults(() => undefined)
    expect(isMarked()).toBe(true)
    expect(snapshot()).toEqual(old)
    expect(readdirSync(agent).filter((name) => name.endsWith('.tmp'))).toEqual([])
    expect(openForRead(store, session.id)?.state).toEqual(state)
    expect(store.isAgentHeld(session.id)).toBe(false)
  })

  test('where the marker cannot be made, nothing starts', async () => {
    await session.close(nothingOwed)
    withFaults(failing('ENOSPC', ({ point }) => point === 'marker.create'))
    await expect(reopen(store, session.id)).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(store.isAgentHeld(session.id)).toBe(false)
  })
})

describe('a sync that fails', () => {
  test('acknowledges nothing, is not tried again, and stops all writing', () => {
    const told: SessionRecord[] = []
    session.onRecord((record) => void told.push(record))
    let syncs = 0
    withFaults(({ point }) => {
      if (point !== 'log.sync') return undefined
      syncs += 1
      throw Object.assign(new Error('broken'), { code: 'EIO' })
    })
    const { state } = session
    for (let i = 0; i < 2; i++)
      expect(() => session.append(beginning(session, randomUUID(), 'hi'))).toThrow(
        expect.objectContaining({ code: 'SYNC_FAILED' }),
      )
    expect(syncs).toBe(1)
    expect(session.state).toBe(state)
    expect(told).toEqual([])
  })

  test('is settled by the next opener, who rewrites and syncs those bytes before anything else', async () => {
    const synced = log().length
    withFaults(failing('EIO', ({ point }) => point === 'log.sync'))
    expect(() => session.append(beginning(session, randomUUID(), 'hi'))).toThrow()
    await died()
    const written = log().subarray(synced)
    const steps: Operation[] = []
    withFaults((operation) => {
      steps.push(operation)
      return undefined
    })
    session = await reopen(store, session.id)
    const rewrite = steps.findIndex(({ point }) => point === 'log.rewrite')
    expect(steps[rewrite]).toMatchObject({ offset: synced, bytes: written })
    expect(steps[rewrite + 1]?.point).toBe('log.resync')
    expect(session.state.run?.status).toBe('open')
  })

  test('while settling stops the opener', async () => {
    appendTurn(session, 'hi', 'echo: hi')
    await died()
    withFaults(failing('EIO', ({ point }) => point === 'log.resync'))
    await expect(reopen(store, session.id)).rejects.toMatchObject({ code: 'SYNC_FAILED' })
    expect(store.isAgentHeld(session.id)).toBe(false)
    expect(isMarked()).toBe(true)
  })
})

describe('repair', () => {
  const tail = (): Buffer => encodeBatch(session.state, beginning(session, randomUUID(), 'hi')).bytes
  const TAILS: [string, (whole: Buffer) => Buffer][] = [
    ['half a line', (whole) => whole.subarray(0, 40)],
    ['half a batch', (whole) => whole.subarray(0, whole.indexOf(10) + 1)],
    ['a batch without its last byte', (whole) => whole.subarray(0, -1)],
    ['NUL bytes', () => Buffer.alloc(4096)],
    ['a whole line and NUL bytes', (whole) => Buffer.concat([whole.subarray(0, 100), Buffer.alloc(500)])],
    [
      'a wrong checksum at the end',
      (whole) => Buffer.concat([whole.subarray(0, -4), otherDigit(whole), Buffer.from('"}\n')]),
    ],
    ['one byte', () => Buffer.from('{')],
  ]

  test.each(TAILS)('%s: cut under the lock, and kept aside', async (_, torn) => {
    appendTurn(session, 'one', 'echo: one')
    const bytes = torn(tail())
    const before = { log: log(), state: await died() }
    appendFileSync(join(agent, 'events.jsonl'), bytes)
    expect(openForRead(store, session.id)).toMatchObject({ state: before.state, damage: { kind: 'torn' } })
    session = await reopen(store, session.id)
    expect({ log: log(), state: session.state }).toEqual(before)
    const [kept] = readdirSync(join(agent, 'cut')) as [string]
    expect(readFileSync(join(agent, 'cut', kept))).toEqual(bytes)
    expect(kept).toMatch(new RegExp(`^${before.log.length}-`))
    appendTurn(session, 'two', 'echo: two')
    expect(openForRead(store, session.id)?.state).toEqual(session.state)
  })

  test('a tail that cannot be kept aside is cut all the same', async () => {
    const bytes = tail().subarray(0, 40)
    await died()
    appendFileSync(join(agent, 'events.jsonl'), bytes)
    withFaults(failing('ENOSPC', ({ point }) => point.startsWith('cut.')))
    session = await reopen(store, session.id)
    expect(session.state.last_seq).toBe(1)
  })

  test('what a reader sees of it is the same, and it writes nothing', async () => {
    appendFileSync(join(agent, 'events.jsonl'), tail().subarray(0, 40))
    const writes: Operation[] = []
    withFaults((operation) => {
      if (operation.name !== 'read' && operation.name !== 'open') writes.push(operation)
      return undefined
    })
    expect(openForRead(store, session.id)?.state.last_seq).toBe(1)
    expect(writes).toEqual([])
  })

  test('what a dead writer left whole is kept, rewritten and synced', async () => {
    appendTurn(session, 'one', 'echo: one')
    const before = { log: log(), state: await died() }
    const points: string[] = []
    withFaults(({ point }) => {
      points.push(point)
      return undefined
    })
    session = await reopen(store, session.id)
    expect(points).toEqual(expect.arrayContaining(['log.rewrite', 'log.resync']))
    expect({ log: log(), state: session.state }).toEqual(before)
  })

  test('without a snapshot nothing says that the last batch was synced: it is written again', async () => {
    appendTurn(session, 'one', 'echo: one')
    const { last_offset } = session.state
    await session.close(nothingOwed)
    rmSync(join(agent, 'session.json'))
    const rewritten: number[] = []
    withFaults(({ point, offset }) => {
      if (point === 'log.rewrite') rewritten.push(offset as number)
      return undefined
    })
    session = await reopen(store, session.id)
    expect(rewritten).toHaveLength(1)
    expect(rewritten[0]).toBeLessThanOrEqual(last_offset)
    expect(rewritten[0]).toBeGreaterThan(0)
  })

  test('after a clean end there is nothing to rewrite', async () => {
    await session.close(nothingOwed)
    const points: string[] = []
    withFaults(({ point }) => {
      points.push(point)
      return undefined
    })
    session = await reopen(store, session.id)
    expect(points.filter((point) => /rewrite|resync|cut/.test(point))).toEqual([])
  })

  const CORRUPT: [string, (bytes: Buffer) => Buffer][] = [
    ['a flipped byte in the middle', (bytes) => flip(bytes, 600)],
    ['a missing line in the middle', (bytes) => withoutLine(bytes, 2)],
    ['a line that is there twice', (bytes) => Buffer.concat([lines(bytes)[0] as Buffer, bytes])],
    ['no line at all', () => Buffer.alloc(0)],
    ['half a first line', (bytes) => bytes.subarray(0, 50)],
    [
      'NUL bytes in the middle',
      (bytes) => Buffer.concat([bytes.subarray(0, 600), Buffer.alloc(64), bytes.subarray(664)]),
    ],
  ]

  test.each(CORRUPT)('%s is corruption: refused, named, and nothing is changed', async (_, damage) => {
    appendTurn(session, 'one', 'echo: one')
    appendTurn(session, 'two', 'echo: two')
    await died()
    rmSync(join(agent, 'session.json'))
    writeFileSync(join(agent, 'events.jsonl'), damage(log()))
    const before = log()
    const points: string[] = []
    withFaults(({ point, name }) => {
      if (!['read', 'open', 'sync_directory'].includes(name) && !point.startsWith('lock.')) points.push(point)
      return undefined
    })
    const facts = expect.objectContaining({ path: join(agent, 'events.jsonl'), offset: expect.any(Number) })
    await expect(reopen(store, session.id)).rejects.toMatchObject({ code: 'CORRUPT', facts })
    expect(points).toEqual([])
    expect(log()).toEqual(before)
    expect(store.isAgentHeld(session.id)).toBe(false)
  })

  test('the log of another agent is corrupt', async () => {
    const other = await newSession(store, { name: 'b' })
    await other.close(nothingOwed)
    await died()
    rmSync(join(agent, 'session.json'))
    writeFileSync(join(agent, 'events.jsonl'), readFileSync(store.logPath(other.id)))
    await expect(reopen(store, session.id)).rejects.toMatchObject({
      code: 'CORRUPT',
      message: expect.stringContaining(`the log of agent ${other.id}`),
    })
  })

  test('a log whose records make no sense together is corrupt, though each of them checks', async () => {
    const { bytes } = encodeBatch({ ...session.state, state: 'active' }, [
      { kind: 'session.suspended', reason: 'idle' },
    ])
    await died()
    appendFileSync(join(agent, 'events.jsonl'), bytes)
    await expect(reopen(store, session.id)).rejects.toMatchObject({ code: 'CORRUPT' })
  })

  test('a record that is not as its kind has it is corrupt, and named', async () => {
    const ts = '2026-11-20T10:00:00.000Z'
    await died()
    appendFileSync(
      join(agent, 'events.jsonl'),
      frame({ seq: 2, ts, kind: 'session.activated', batch: [2, 2], boot_id: 7 }),
    )
    await expect(reopen(store, session.id)).rejects.toMatchObject({
      code: 'CORRUPT',
      message: expect.stringContaining('its field boot_id is not valid in session.activated'),
    })
  })

  test('an unknown kind or format is refused for writing and named', async () => {
    const ts = '2026-11-20T10:00:00.000Z'
    await died()
    const before = log()
    appendFileSync(join(agent, 'events.jsonl'), frame({ seq: 2, ts, kind: 'run.paused', batch: [2, 2] }))
    await expect(reopen(store, session.id)).rejects.toMatchObject({
      code: 'UNKNOWN_FORMAT',
      message: expect.stringContaining('"run.paused"'),
    })
    rmSync(join(agent, 'session.json'))
    const { crc: _, ...first } = JSON.parse(before.toString()) as Record<string, unknown>
    writeFileSync(join(agent, 'events.jsonl'), frame({ ...first, format: 2 }))
    await expect(reopen(store, session.id)).rejects.toMatchObject({
      code: 'UNKNOWN_FORMAT',
      message: expect.stringContaining('format 2'),
    })
  })

  test('requests to runs that are over are swept, that to the open one stays', async () => {
    const run = randomUUID()
    session.append(beginning(session, run, 'hi'))
    store.requests.put(session.id, run, 'suspend')
    store.requests.put(session.id, randomUUID(), 'suspend')
    store.requests.put(session.id, randomUUID(), 'terminate')
    await died()
    session = await reopen(store, session.id)
    expect(store.requests.requestsTo(session.id)).toEqual([{ runId: run, verb: 'suspend' }])
  })

  test.skipIf(process.platform !== 'linux')(
    'however often it fails it leaves no file open (needs /proc)',
    async () => {
      await died()
      truncateSync(join(agent, 'events.jsonl'), 10)
      rmSync(join(agent, 'session.json'))
      const open = (): number => readdirSync('/proc/self/fd').length
      await expect(reopen(store, session.id)).rejects.toMatchObject({ code: 'CORRUPT' })
      const before = open()
      for (let i = 0; i < 5; i++) await reopen(store, session.id).catch(() => undefined)
      expect(open()).toBe(before)
    },
  )
})

describe('the clean end', () => {
  test('leaves no marker where nothing is owed, and one where something is', async () => {
    expect(isMarked()).toBe(true)
    await session.close(nothingOwed)
    expect(isMarked()).toBe(false)
    session = await reopen(store, session.id)
    expect(isMarked()).toBe(true)
    await session.close((state) => state.run === null)
    expect(isMarked()).toBe(true)
  })

  test('writes no snapshot that is there already', async () => {
    await session.close(nothingOwed)
    session = await reopen(store, session.id)
    withFaults(failing('EIO', ({ point }) => point.startsWith('snapshot') && point !== 'snapshot.read'))
    await session.close(nothingOwed)
    expect(isMarked()).toBe(false)
  })
})

test('one agent is open for writing once; who else wants it is told who has it', async () => {
  const error = await reopen(store, session.id).catch((error: unknown) => error)
  expect(error).toMatchObject({
    code: 'LOCKED',
    facts: { agent_id: session.id, pid: process.pid, command: 'test' },
  })
  expect(String(error)).toMatch(/agent a is busy: held by pid \d+ on .+ \(test\)/)
  await session.close(nothingOwed)
  session = await reopen(store, session.id)
})

test('an agent that is not there reads as none', () => {
  expect(openForRead(store, randomUUID())).toBeUndefined()
})

function flip(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] as number) ^ 1
  return copy
}

function lines(bytes: Buffer): Buffer[] {
  return bytes
    .toString('latin1')
    .split(/(?<=\n)/)
    .map((line) => Buffer.from(line, 'latin1'))
}

function withoutLine(bytes: Buffer, index: number): Buffer {
  return Buffer.concat(lines(bytes).filter((_, at) => at !== index))
}

/** A digit of a checksum that is not the last one of this line. */
function otherDigit(line: Buffer): Buffer {
  return Buffer.from(line.at(-4) === '0'.charCodeAt(0) ? '1' : '0')
}
