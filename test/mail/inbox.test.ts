import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { clock } from '../../src/clock.js'
import { bootId } from '../../src/host/identity.js'
import { limits } from '../../src/limits.js'
import {
  controlRecords,
  countPending,
  damagedMail,
  findPending,
  hasDueMail,
  listPending,
  nextDueAt,
  nextMail as nextKnownMail,
  removeDelivered as removeKnownDelivered,
  syncBeforeForgetting,
} from '../../src/mail/inbox.js'
import type { Delivery } from '../../src/mail/message.js'
import type { Draft } from '../../src/mail/post.js'
import { messagesIn } from '../../src/mail/stored-messages.js'
import { deriveId } from '../../src/session/ids.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { frame } from '../../src/storage/log/frame.js'
import { completedRecord } from '../../src/turn/step/records.js'
import { withFaults } from '../support/faults.js'
import { deliveredRecord, forged, posted, stored } from '../support/mail.js'
import { newSession, startedRun } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let store: FileStore
let session: Session

beforeEach(async () => {
  store = tempStore()
  session = await newSession(store)
})

afterEach(() => void vi.restoreAllMocks())

const put = (content: string, over: Partial<Draft> = {}): string => posted(store, session.id, content, over)
/** The session reads its inbox again each time, as it does after a turn. */
function nextMail(reader: Session): Delivery[] {
  reader.forgetMailIds()
  return nextKnownMail(reader)
}

function removeDelivered(reader: Session): void {
  reader.forgetMailIds()
  removeKnownDelivered(reader)
}

const damagedPaths = (): string[] => damagedMail(store, session.state).map(({ path }) => path)
/** As it is stored. */
const messageIn = (id: string): object => (store.mail.read(session.id, id) as { object: object }).object
const notification = (content: string, over: Partial<Draft> = {}): string =>
  put(content, { kind: 'notification', ...over })
const contentsOf = (mails: Delivery[]): string[] => mails.map(({ content }) => content)

/** A turn of their own for the next messages: in the log, and then out of the inbox. */
function deliver(options: { isRemoved: boolean } = { isRemoved: true }): string[] {
  const mails = nextMail(session)
  if (mails.length === 0) return []
  syncBeforeForgetting(session, mails.length)
  const run: string = randomUUID()
  const activated: NewRecord[] =
    session.state.state === 'active' ? [] : [{ kind: 'session.activated', boot_id: bootId() }]
  session.append([
    ...activated,
    startedRun(run),
    ...mails.map(({ message_id, from, kind, content, reminder_id }) =>
      deliveredRecord(run, {
        message_id,
        from,
        mail_kind: kind as 'request',
        content,
        ...(reminder_id === undefined ? {} : { reminder_id }),
      }),
    ),
    completedRecord(run, null),
  ])
  if (options.isRemoved) removeDelivered(session)
  return contentsOf(mails)
}

function deliverAll(): string[] {
  const contents: string[] = []
  for (let next = deliver(); next.length > 0; next = deliver()) contents.push(...next)
  return contents
}

function atTime(iso: string): void {
  vi.spyOn(clock, 'now').mockReturnValue(Date.parse(iso))
}

describe('mail is delivered first-in-first-out', () => {
  test('regardless of its ids and the clock', () => {
    const contents = Array.from({ length: 20 }, (_, i) => `message ${i}`)
    for (const [index, content] of contents.entries()) {
      atTime(new Date(Date.UTC(2026, 0, 31 - index)).toISOString())
      put(content)
    }
    vi.restoreAllMocks()
    expect(deliverAll()).toEqual(contents)
  })

  test('for two senders with equal counters, always in the same order', () => {
    const [first, second] = [randomUUID(), randomUUID()].sort() as [string, string]
    put('of b', { from: 'b', message_id: second })
    put('of a', { from: 'a', message_id: first })
    expect(contentsOf(nextMail(session))).toEqual(['of a'])
    expect(contentsOf(listPending(store, session.state))).toEqual(['of a', 'of b'])
  })

  test('and neither a reminder that is always due nor a flood starves a request', () => {
    session.append([
      {
        kind: 'reminder.set',
        reminder_id: randomUUID(),
        content: 'tick',
        due_at: '2026-01-01T00:00:00.000Z',
        every_ms: 1,
      },
    ])
    const turns: string[] = []
    for (let turn = 0; turn < 6; turn += 1) {
      // Always at the head of the inbox, as it is the only one of its sender.
      notification('flood', { from: 'b' })
      if (turn === 0) for (const content of ['one', 'two']) put(content, { from: 'a' })
      turns.push(deliver().sort().join())
    }
    expect(turns).toEqual(['flood,tick', 'one', 'flood,flood', 'two', 'flood,flood', 'flood'])
  })

  test('and a repeating reminder rings once per command, however short its interval', () => {
    const began = clock.beganAt
    const due_at = new Date(began - 1000).toISOString()
    session.append([
      { kind: 'reminder.set', reminder_id: randomUUID(), content: 'tick', due_at, every_ms: 1000 },
    ])
    vi.spyOn(clock, 'now').mockReturnValue(began + 60_000)
    expect(deliver()).toEqual(['tick'])
    vi.spyOn(clock, 'now').mockReturnValue(began + 120_000)
    expect([hasDueMail(store, session.state), deliver()]).toEqual([false, []])
    onTestFinished(() => {
      clock.beganAt = began
    })
    clock.beganAt = began + 120_000
    expect([hasDueMail(store, session.state), deliver()]).toEqual([true, ['tick']])
  })

  test('for each sender, and once, for any kinds, delivery times and restored files', async () => {
    const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
    console.info(`mail is delivered once and in order: SEED=${seed}`)
    const senders = ['operator', 'a', 'b']
    const step = fc.oneof(
      fc.record({
        do: fc.constant('post' as const),
        from: fc.constantFrom(...senders),
        kind: fc.constantFrom('request' as const, 'notification' as const, 'response' as const),
      }),
      fc.record({ do: fc.constant('deliver' as const), isRemoved: fc.boolean() }),
      fc.constant({ do: 'power cut' as const }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        session = await newSession(store)
        const got: string[] = []
        const files = new Map<string, object>()
        for (const [index, next] of steps.entries()) {
          if (next.do === 'post') {
            const id = put(`${next.from} ${index}`, { from: next.from, kind: next.kind })
            files.set(id, messageIn(id))
          } else if (next.do === 'deliver') {
            const taken = nextMail(session)
            if (taken.some(({ kind }) => kind === 'request')) expect(taken).toHaveLength(1)
            got.push(...deliver(next))
          } else {
            // Unlinked files that were not synced away are back.
            for (const [id, message] of files) store.mail.put(session.id, id, message)
          }
        }
        got.push(...deliverAll())
        removeDelivered(session)
        const sent = steps.flatMap((next, index) => (next.do === 'post' ? [`${next.from} ${index}`] : []))
        expect(got.length).toBe(sent.length)
        for (const sender of senders) {
          const of = (list: string[]): string[] => list.filter((content) => content.startsWith(`${sender} `))
          expect(of(got)).toEqual(of(sent))
        }
        expect(store.mail.ids(session.id)).toEqual([])
        await session.close(() => false)
      }),
      { numRuns: 60, seed },
    )
  })
})

describe('one turn takes', () => {
  test('one request, and nothing with it', () => {
    put('first')
    notification('then')
    put('last')
    expect(deliver()).toEqual(['first'])
    expect(deliver()).toEqual(['then'])
    expect(deliver()).toEqual(['last'])
    expect(nextMail(session)).toEqual([])
  })

  test('messages without a reply together: notifications, responses, errors', () => {
    const kinds = ['notification', 'response', 'error'] as const
    for (const [index, kind] of kinds.entries()) put(kind, { kind, from: `sender ${index}` })
    expect(deliver().sort()).toEqual([...kinds].sort())
  })

  test('no message that follows a request of the same sender, but messages of others', () => {
    notification('a 1', { from: 'a' })
    put('a asks', { from: 'a' })
    notification('a 3', { from: 'a' })
    const bs = [1, 2, 3].map((n) => `b ${n}`)
    for (const content of bs) notification(content, { from: 'b' })
    expect(deliver().sort()).toEqual(['a 1', ...bs])
    expect(deliver()).toEqual(['a asks'])
    expect(deliver()).toEqual(['a 3'])
  })

  test('a keyed message alone, because its outcome is that of its turn', () => {
    notification('a 1', { from: 'a' })
    notification('a 2', { from: 'a', key: 'k' })
    notification('a 3', { from: 'a' })
    notification('b', { from: 'b' })
    expect(deliver().sort()).toEqual(['a 1', 'b'])
    expect(deliver()).toEqual(['a 2'])
    expect(deliver()).toEqual(['a 3'])
  })

  test.each([{ allow: ['shell'] }, { steps_max: 1 }, { turn_timeout_ms: 1 }])(
    'a message with options alone, because they must not apply to others: %j',
    (options) => {
      notification('a 1', { from: 'a' })
      notification('a 2', { from: 'a', ...options })
      notification('a 3', { from: 'a' })
      expect([deliver(), deliver(), deliver()]).toEqual([['a 1'], ['a 2'], ['a 3']])
    },
  )

  test(`${limits.mailsTakenMax} messages at most`, () => {
    for (let n = 1; n <= limits.mailsTakenMax + 1; n++) notification(`${n}`)
    expect(deliver()).toHaveLength(limits.mailsTakenMax)
    expect(deliver()).toEqual([`${limits.mailsTakenMax + 1}`])
  })

  test('a large message alone, and only as many as fit', () => {
    const half = 'x'.repeat(limits.mailsTakenBytesMax / 2)
    for (const content of [half + half + half, half, half, half]) notification(content)
    expect(contentsOf(nextMail(session)).map(({ length }) => length)).toEqual([half.length * 3])
    deliver()
    expect(deliver()).toEqual([half, half])
    expect(deliver()).toEqual([half])
  })
})

describe('mail for a time', () => {
  const LATER = '2026-11-20T11:00:00.000Z'

  test('is listed as pending until then, and delays no other mail', async () => {
    atTime('2026-11-20T10:00:00.000Z')
    session = await newSession(store)
    put('later', { not_before: LATER })
    expect(nextMail(session)).toEqual([])
    expect(hasDueMail(store, session.state)).toBe(false)
    expect(countPending(store, session.state)).toBe(1)
    put('now')
    expect(hasDueMail(store, session.state)).toBe(true)
    expect(contentsOf(nextMail(session))).toEqual(['now'])
    expect(contentsOf(listPending(store, session.state))).toEqual(['later', 'now'])
  })

  test('is delivered at that time and not before', async () => {
    atTime('2026-11-20T10:00:00.000Z')
    session = await newSession(store)
    put('later', { not_before: LATER })
    expect(nextDueAt(store, session.state)).toBe(LATER)
    atTime('2026-11-20T10:59:59.999Z')
    expect(nextMail(session)).toEqual([])
    atTime(LATER)
    expect(hasDueMail(store, session.state)).toBe(true)
    expect(deliver()).toEqual(['later'])
    expect(nextDueAt(store, session.state)).toBeNull()
  })

  test('with a time from the user is pending until then, also if the log is ahead of the clock', async () => {
    atTime('2027-12-25T10:00:00.000Z')
    session = await newSession(store)
    atTime('2026-11-20T10:00:00.000Z')
    put('later', { not_before: LATER })
    expect(nextMail(session)).toEqual([])
    atTime(LATER)
    expect(contentsOf(nextMail(session))).toEqual(['later'])
  })
})

describe('a reminder', () => {
  const DUE = '2026-11-20T10:00:10.000Z'
  const set = (every_ms: number | null, content = 'stretch'): string => {
    const reminder_id: string = randomUUID()
    session.append([{ kind: 'reminder.set', reminder_id, content, due_at: DUE, every_ms }])
    return reminder_id
  }

  beforeEach(async () => {
    atTime('2026-11-20T10:00:00.000Z')
    session = await newSession(store, { name: 'sleeper' })
  })

  test('is delivered at its time, from the agent itself, with an id derived from the time', () => {
    const reminder_id = set(null)
    expect(nextMail(session)).toEqual([])
    expect(hasDueMail(store, session.state)).toBe(false)
    expect(nextDueAt(store, session.state)).toBe(DUE)
    atTime(DUE)
    expect(hasDueMail(store, session.state)).toBe(true)
    expect(nextMail(session)).toEqual([
      expect.objectContaining({
        message_id: deriveId(reminder_id, DUE),
        from: session.id,
        from_path: 'sleeper',
        kind: 'notification',
        content: 'stretch',
        created_at: DUE,
        reminder_id,
      }),
    ])
    expect(deliver()).toEqual(['stretch'])
    expect(session.state.reminders).toEqual([])
    expect(nextMail(session)).toEqual([])
  })

  test('that repeats is due again at its next time; missed times count once', () => {
    set(60_000)
    atTime('2026-11-20T10:05:30.000Z')
    expect(deliver()).toEqual(['stretch'])
    expect(nextMail(session)).toEqual([])
    expect(nextDueAt(store, session.state)).toBe('2026-11-20T10:06:10.000Z')
    atTime('2026-11-20T10:06:10.000Z')
    expect(deliver()).toEqual(['stretch'])
  })

  test('is delivered with other messages without a reply, before them; a request gets the next turn', () => {
    set(null)
    notification('news')
    put('question')
    atTime(DUE)
    expect(deliver()).toEqual(['stretch', 'news'])
    expect(deliver()).toEqual(['question'])
  })

  test('too large for a line is read from its blob', () => {
    const long = 'x'.repeat(limits.inlineBytesMax + 1)
    set(null, long)
    atTime(DUE)
    expect(contentsOf(nextMail(session))).toEqual([long])
  })
})

describe('a message of control', () => {
  const parent = randomUUID()
  const control = (verb: 'gate' | 'ungate' | 'permit' | 'poke' | 'unwatch'): string =>
    put('', { from: parent, kind: 'control', control: { verb } })

  test('is never shown to a model, but makes the agent need a visit', () => {
    control('gate')
    expect(nextMail(session)).toEqual([])
    expect(listPending(store, session.state)).toEqual([])
    expect(hasDueMail(store, session.state)).toBe(true)
    expect(countPending(store, session.state)).toBe(1)
  })

  test('becomes a record, in sending order, and its file is removed', () => {
    const verbs = ['gate', 'permit', 'ungate', 'poke', 'unwatch'] as const
    const ids = verbs.map(control)
    const on = ['idle' as const]
    ids.push(put('', { from: parent, kind: 'control', control: { verb: 'watch', on, once: true } }))
    const kinds = ['gated', 'permitted', 'ungated', 'poked', 'unwatched']
    const records = controlRecords(session)
    expect(records).toEqual([
      ...kinds.map((kind, index) => ({ kind: `agent.${kind}`, message_id: ids[index], from: parent })),
      { kind: 'agent.watched', message_id: ids[5], from: parent, on, once: true },
    ])
    session.append(records)
    expect(controlRecords(session)).toEqual([])
    removeDelivered(session)
    expect(store.mail.ids(session.id)).toEqual([])
  })

  test('delays no mail of its sender', () => {
    control('gate')
    put('hello', { from: parent })
    expect(contentsOf(nextMail(session))).toEqual(['hello'])
  })
})

describe('an id', () => {
  test('that was delivered is never delivered again if its file is restored; the file is removed', () => {
    const id = put('hi')
    const message = messageIn(id)
    deliver()
    store.mail.put(session.id, id, message)
    expect(nextMail(session)).toEqual([])
    expect(hasDueMail(store, session.state)).toBe(false)
    expect(countPending(store, session.state)).toBe(0)
    expect(findPending(store, session.state, id)).toBeUndefined()
    removeDelivered(session)
    expect(store.mail.ids(session.id)).toEqual([])
  })

  test('whose file was not removed before a crash is not delivered again', () => {
    put('one')
    put('two')
    expect(deliver({ isRemoved: false })).toEqual(['one'])
    expect(deliver({ isRemoved: false })).toEqual(['two'])
    expect(deliver()).toEqual([])
  })

  test('is forgotten only after the removal of its file is synced: one sync per 1,000 messages', () => {
    const points: string[] = []
    const state = { ...session.state, delivered: Array.from({ length: 2000 }, () => randomUUID()) }
    withFaults(({ point }) => {
      points.push(point)
      return undefined
    })
    // The last two: it comes in the middle of those that are delivered together.
    const cases: [number, number][] = [0, 999, 1000, 1001, 1999, 2000].map((length) => [length, 1])
    for (const [length, count] of [...cases, [1900, 100], [1901, 100]] as const) {
      points.length = 0
      const delivered = state.delivered.slice(0, length)
      vi.spyOn(session, 'state', 'get').mockReturnValue({ ...state, delivered })
      syncBeforeForgetting(session, count)
      expect(points, `${length} delivered`).toEqual(
        length + count <= 2000 ? [] : ['mail.list', 'mail.sync_removals'],
      )
    }
  })
})

describe('damaged mail is reported, and neither delivered nor removed:', () => {
  const DAMAGES: [string, (bytes: Buffer) => Buffer][] = [
    ['empty', () => Buffer.alloc(0)],
    ['cut short', (bytes) => bytes.subarray(0, 40)],
    ['without its last byte', (bytes) => bytes.subarray(0, -1)],
    ['a flipped byte', (bytes) => Buffer.from(bytes.map((byte, index) => (index === 20 ? byte ^ 1 : byte)))],
    ['NUL bytes', (bytes) => Buffer.alloc(bytes.length)],
    ['NUL bytes at its end', (bytes) => Buffer.concat([bytes.subarray(0, -30), Buffer.alloc(30)])],
    ['no JSON', () => Buffer.from('hello\n')],
    ['the mail of another id', () => frame(stored(session.id, 'x'))],
    ['the mail of another agent', () => frame(stored(randomUUID(), 'x'))],
  ]

  test.each(DAMAGES)('%s', (_, damage) => {
    const id = put('one')
    put('two')
    const path = store.mail.pathOf(session.id, id)
    const bytes = damage(readFileSync(path))
    writeFileSync(path, bytes)
    expect(damagedPaths()).toEqual([path])
    expect(findPending(store, session.state, id)).toBeUndefined()
    expect(deliverAll()).toEqual(['two'])
    expect(readFileSync(path)).toEqual(bytes)
    put('three')
    expect(deliverAll()).toEqual(['three'])
  })

  test('a file of 100 MB is not read at all', () => {
    const id: string = randomUUID()
    const path = store.mail.pathOf(session.id, id)
    writeFileSync(path, '')
    truncateSync(path, 100 * 1024 * 1024)
    const read: string[] = []
    withFaults(({ point }) => {
      read.push(point)
      return undefined
    })
    expect(damagedPaths()).toEqual([path])
    expect(read).not.toContain('mail.read')
    put('two')
    expect(deliverAll()).toEqual(['two'])
  })

  test('whole, but addressed to another agent', () => {
    const id = forged(store, session.id, 'x', { to: randomUUID() })
    expect(damagedPaths()).toEqual([store.mail.pathOf(session.id, id)])
    expect(nextMail(session)).toEqual([])
  })

  test('a control that no record can hold', () => {
    const id = forged(store, session.id, '', { kind: 'control', control: { verb: 'watch' } })
    expect(damagedPaths()).toEqual([store.mail.pathOf(session.id, id)])
    expect(controlRecords(session)).toEqual([])
  })

  test('files that are not mail are ignored', () => {
    const directory = dirname(store.mail.pathOf(session.id, randomUUID()))
    for (const name of ['notes.txt', 'x.json', `${randomUUID()}.json.1-abc.tmp`])
      writeFileSync(`${directory}/${name}`, 'x')
    mkdirSync(`${directory}/folder`)
    expect(damagedPaths()).toEqual([])
    expect(countPending(store, session.state)).toBe(0)
  })
})

test('a message from an agent that does not exist is delivered; only its answer is dropped', () => {
  const ghost = randomUUID()
  forged(store, session.id, 'boo', { from: ghost, from_path: 'ghost' })
  expect(nextMail(session)).toMatchObject([{ from: ghost, from_path: 'ghost', content: 'boo' }])
  expect(deliver()).toEqual(['boo'])
})

test('every intact message file is in the inbox, also one that the log has', () => {
  put('one')
  deliver({ isRemoved: false })
  put('two')
  forged(store, session.id, 'other', { to: randomUUID() })
  expect([...messagesIn(store, session.id)].map(({ content }) => content).sort()).toEqual(['one', 'two'])
})

test('an inbox that was deleted by hand is empty, and accepts mail again', () => {
  put('lost')
  rmSync(dirname(store.mail.pathOf(session.id, randomUUID())), { recursive: true })
  expect(countPending(store, session.state)).toBe(0)
  expect(nextMail(session)).toEqual([])
  removeDelivered(session)
  put('found')
  expect(deliverAll()).toEqual(['found'])
})
