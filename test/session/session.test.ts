import { randomUUID } from 'node:crypto'
import { appendFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { FORMAT, isBlob } from '../../src/format.js'
import type { Operation } from '../../src/host/disk/operation.js'
import { limits } from '../../src/limits.js'
import { encodeBatch } from '../../src/session/batch.js'
import { openForRead } from '../../src/session/load.js'
import type { NewRecord, SessionRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import type { State } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { frame } from '../../src/storage/log/frame.js'
import { failing, withFaults } from '../support/faults.js'
import { appendTurn, beginning, newSession, reopen, startedRun } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let store: FileStore
let session: Session
let agent: string
const log = (): Buffer => readFileSync(join(agent, 'events.jsonl'))
const snapshot = (): Buffer => readFileSync(join(agent, 'session.json'))
const isMarked = (): boolean => store.visits.markedIds().includes(session.id)
const nothingOwed = (): boolean => false

beforeEach(async () => {
  store = tempStore()
  session = await newSession(store, { name: 'a' })
  agent = dirname(store.local.logPath(session.id))
})

/** Simulates the death of the writer: its lock is released, and it writes no snapshot and leaves the marker. */
async function died(): Promise<State> {
  const { state } = session
  await session.abandon()
  return state
}

describe('an append', () => {
  test('syncs the records, then notifies the listeners, then returns', () => {
    const steps: string[] = []
    session.onRecord(({ kind }) => void steps.push(kind))
    withFaults(({ point }) => {
      if (/^(log|lock)\./.test(point)) steps.push(point)
      return undefined
    })
    session.append([{ kind: 'session.activated', boot_id: 'b' }, startedRun(randomUUID())])
    const written = ['lock.check', 'log.append', 'log.sync', 'log.check', 'lock.check']
    expect(steps).toEqual([...written, 'session.activated', 'run.started', 'status.derived'])
    expect(openForRead(store, session.id)?.state).toEqual(session.state)
  })

  test('calls an onceDurable callback for its kind of record only, and once', () => {
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

  test('without records does nothing', () => {
    expect(session.append([])).toEqual([])
    expect(session.state.last_seq).toBe(1)
  })

  const WRONG: [string, NewRecord[], object][] = [
    ['an unknown kind', [{ kind: 'run.paused' } as never], { code: 'UNEXPECTED' }],
    [
      'a field of the wrong type',
      [{ kind: 'session.activated', boot_id: 7 } as never],
      { code: 'UNEXPECTED' },
    ],
    [
      'a line over the size limit',
      [{ kind: 'provider.state', state: 'A'.repeat(limits.lineBytesMax) }],
      { code: 'UNEXPECTED' },
    ],
    ['an illegal transition', [{ kind: 'session.suspended', reason: 'idle' }], { code: 'SESSION_STATE' }],
    [
      'a batch whose last record is an illegal transition',
      [
        { kind: 'session.activated', boot_id: 'b' },
        { kind: 'model.requested', run_id: randomUUID() },
      ],
      { code: 'SESSION_STATE' },
    ],
  ]

  test.each(WRONG)('refuses %s before it writes', (_, records, error) => {
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

  test('writes no earlier timestamp than the last one, even if the clock was set back', () => {
    session.append([{ kind: 'session.activated', boot_id: 'b' }])
    const future: SessionRecord[] = encodeBatch(
      { ...session.state, updated_at: '2999-01-01T00:00:00.000Z' },
      [{ kind: 'session.suspended', reason: 'idle' }],
    ).records
    expect(future[0]?.ts).toBe('2999-01-01T00:00:00.000Z')
  })

  test('writes nothing after the lock is lost', async () => {
    await session.abandon()
    expect(() => session.append([{ kind: 'session.activated', boot_id: 'b' }])).toThrow(
      expect.objectContaining({ code: 'LOCKED' }),
    )
  })
})

describe('large content', () => {
  const large = `${'ü'.repeat(limits.inlineBytesMax / 2)}!`

  test('is synced in a blob, with its directory, before the record that names it is written', () => {
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
  ])('of %i bytes is stored in a blob: %s', (bytes, inBlob) => {
    session.append(beginning(session, randomUUID(), 'x'.repeat(bytes)))
    expect(readdirSync(join(agent, 'blobs'))).toHaveLength(inBlob ? 1 : 0)
  })

  test('made of control characters still fits in a line', () => {
    const worst = '\u0001'.repeat(limits.inlineBytesMax)
    session.append(beginning(session, randomUUID(), worst))
    expect(readdirSync(join(agent, 'blobs'))).toHaveLength(0)
  })

  test('that occurs twice is stored once', () => {
    appendTurn(session, large, large)
    expect(readdirSync(join(agent, 'blobs'))).toHaveLength(1)
  })

  test('is reported as CORRUPT, with its path, if its blob is missing or damaged', () => {
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

  test('leaves the session unchanged if it does not fit on the disk', () => {
    const before = { log: log(), state: session.state }
    withFaults(failing('ENOSPC', ({ point }) => point === 'blob.create.write'))
    expect(() => session.append(beginning(session, randomUUID(), large))).toThrow(
      expect.objectContaining({ code: 'STORAGE_FAILED' }),
    )
    expect({ log: log(), state: session.state }).toEqual(before)
    expect(readdirSync(join(agent, 'blobs'))).toEqual([])
  })
})

describe('on a full disk', () => {
  const turn = (): NewRecord[] => beginning(session, randomUUID(), 'hi')

  test('an append leaves the session unchanged, and succeeds once there is space', () => {
    const before = { log: log(), state: session.state }
    withFaults(failing('ENOSPC', ({ point }) => point === 'log.append', 1))
    expect(() => session.append(turn())).toThrow(expect.objectContaining({ code: 'STORAGE_FAILED' }))
    expect({ log: log(), state: session.state }).toEqual(before)
    expect(session.append(turn())).toHaveLength(4)
    expect(openForRead(store, session.id)?.state).toEqual(session.state)
  })

  test('a partly written batch is rolled back', () => {
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

  test('a failed rollback stops all appends, and the next writer cuts the tail', async () => {
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

  test('a close succeeds without its snapshot, and leaves the log and the marker', async () => {
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
    expect(store.isHeld(session.id)).toBe(false)
  })

  test('a session does not open if its marker cannot be created', async () => {
    await session.close(nothingOwed)
    withFaults(failing('ENOSPC', ({ point }) => point === 'marker.create'))
    await expect(reopen(store, session.id)).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(store.isHeld(session.id)).toBe(false)
  })
})

describe('a failed sync', () => {
  test('acknowledges nothing, is not retried, and stops all later appends', () => {
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

  test('makes the next writer rewrite and sync the unsynced bytes', async () => {
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

  test('during the resync makes the open fail and leaves the marker', async () => {
    appendTurn(session, 'hi', 'echo: hi')
    await died()
    withFaults(failing('EIO', ({ point }) => point === 'log.resync'))
    await expect(reopen(store, session.id)).rejects.toMatchObject({ code: 'SYNC_FAILED' })
    expect(store.isHeld(session.id)).toBe(false)
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
      'a line with a wrong checksum',
      (whole) => Buffer.concat([whole.subarray(0, -4), otherDigit(whole), Buffer.from('"}\n')]),
    ],
    ['one byte', () => Buffer.from('{')],
  ]

  test.each(TAILS)('cuts %s off the end of the log and saves the bytes in cut/', async (_, torn) => {
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

  test('cuts a truncated tail even if it cannot save it', async () => {
    const bytes = tail().subarray(0, 40)
    await died()
    appendFileSync(join(agent, 'events.jsonl'), bytes)
    withFaults(failing('ENOSPC', ({ point }) => point.startsWith('cut.')))
    session = await reopen(store, session.id)
    expect(session.state.last_seq).toBe(1)
  })

  test('is left to writers: a reader ignores a truncated tail and writes nothing', async () => {
    appendFileSync(join(agent, 'events.jsonl'), tail().subarray(0, 40))
    const writes: Operation[] = []
    withFaults((operation) => {
      if (operation.name !== 'read' && operation.name !== 'open') writes.push(operation)
      return undefined
    })
    expect(openForRead(store, session.id)?.state.last_seq).toBe(1)
    expect(writes).toEqual([])
  })

  test('rewrites and syncs the complete batches of a dead writer', async () => {
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

  test('rewrites the last batch if no snapshot proves that it was synced', async () => {
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

  test('rewrites nothing after a clean close', async () => {
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
    ['a repeated line', (bytes) => Buffer.concat([lines(bytes)[0] as Buffer, bytes])],
    ['an empty log', () => Buffer.alloc(0)],
    ['half a first line', (bytes) => bytes.subarray(0, 50)],
    [
      'NUL bytes in the middle',
      (bytes) => Buffer.concat([bytes.subarray(0, 600), Buffer.alloc(64), bytes.subarray(664)]),
    ],
  ]

  test.each(CORRUPT)(
    'refuses %s as CORRUPT, with its path and offset, and changes nothing',
    async (_, damage) => {
      appendTurn(session, 'one', 'echo: one')
      appendTurn(session, 'two', 'echo: two')
      await died()
      rmSync(join(agent, 'session.json'))
      writeFileSync(join(agent, 'events.jsonl'), damage(log()))
      const before = log()
      const points: string[] = []
      withFaults(({ point, name }) => {
        if (!['read', 'open', 'sync_directory'].includes(name) && !point.startsWith('lock.'))
          points.push(point)
        return undefined
      })
      const facts = expect.objectContaining({ path: join(agent, 'events.jsonl'), offset: expect.any(Number) })
      await expect(reopen(store, session.id)).rejects.toMatchObject({ code: 'CORRUPT', facts })
      expect(points).toEqual([])
      expect(log()).toEqual(before)
      expect(store.isHeld(session.id)).toBe(false)
    },
  )

  test('refuses the log of another agent as CORRUPT', async () => {
    const other = await newSession(store, { name: 'b' })
    await other.close(nothingOwed)
    await died()
    rmSync(join(agent, 'session.json'))
    writeFileSync(join(agent, 'events.jsonl'), readFileSync(store.local.logPath(other.id)))
    await expect(reopen(store, session.id)).rejects.toMatchObject({
      code: 'CORRUPT',
      message: expect.stringContaining(`the log of agent ${other.id}`),
    })
  })

  test('refuses an illegal transition as CORRUPT, although each record is intact', async () => {
    const { bytes } = encodeBatch({ ...session.state, state: 'active' }, [
      { kind: 'session.suspended', reason: 'idle' },
    ])
    await died()
    appendFileSync(join(agent, 'events.jsonl'), bytes)
    await expect(reopen(store, session.id)).rejects.toMatchObject({ code: 'CORRUPT' })
  })

  test('refuses a record with an invalid field as CORRUPT, and names the field', async () => {
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

  test('refuses an unknown kind or format, and names it', async () => {
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
    writeFileSync(join(agent, 'events.jsonl'), frame({ ...first, format: FORMAT + 1 }))
    await expect(reopen(store, session.id)).rejects.toMatchObject({
      code: 'UNKNOWN_FORMAT',
      message: expect.stringContaining(`format ${FORMAT + 1}`),
    })
  })

  test('removes stop requests to ended runs, and leaves the request to the open run', async () => {
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
    'leaves no file open, however often it fails (needs /proc)',
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

describe('a clean close', () => {
  test('removes the marker only if the agent needs no visit', async () => {
    expect(isMarked()).toBe(true)
    await session.close(nothingOwed)
    expect(isMarked()).toBe(false)
    session = await reopen(store, session.id)
    expect(isMarked()).toBe(true)
    await session.close((state) => state.run === null)
    expect(isMarked()).toBe(true)
  })

  test('writes no snapshot if the existing one is current', async () => {
    await session.close(nothingOwed)
    session = await reopen(store, session.id)
    withFaults(failing('EIO', ({ point }) => point.startsWith('snapshot') && point !== 'snapshot.read'))
    await session.close(nothingOwed)
    expect(isMarked()).toBe(false)
  })
})

test('an agent has one writer, and a second one fails with LOCKED and the holder', async () => {
  const error = await reopen(store, session.id).catch((error: unknown) => error)
  expect(error).toMatchObject({
    code: 'LOCKED',
    facts: { agent_id: session.id, pid: process.pid, command: 'test' },
  })
  expect(String(error)).toMatch(/agent a is busy: test, pid \d+ on .+, holds it/)
  await session.close(nothingOwed)
  session = await reopen(store, session.id)
})

test('an agent that does not exist reads as undefined', () => {
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

/** A hex digit that differs from the last checksum digit of this line. */
function otherDigit(line: Buffer): Buffer {
  return Buffer.from(line.at(-4) === '0'.charCodeAt(0) ? '1' : '0')
}
