import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.js'
import {
  countPending,
  damagedMail,
  findPending,
  nextMessage,
  post,
  removeDelivered,
  syncBeforeForgetting,
} from '../../src/mail/inbox.js'
import { encodeMessage, type Message } from '../../src/mail/message.js'
import { digestOf } from '../../src/session/ids.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import { bootId } from '../../src/storage/identity.js'
import type { FileStore } from '../../src/storage/store.js'
import { completed } from '../../src/turn/step-records.js'
import { failing, withFaults } from '../support/faults.js'
import { newSession, startedRun } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let store: FileStore
let session: Session

beforeEach(async () => {
  store = tempStore()
  session = await newSession(store)
})

function message(content: string, over: Partial<Message> = {}): Omit<Message, 'sequence'> {
  return {
    message_id: randomUUID(),
    from: 'operator',
    to: session.id,
    kind: 'request',
    content,
    key: null,
    digest: digestOf(content),
    turn_timeout_ms: null,
    created_at: '2026-11-20T10:00:00.000Z',
    ...over,
  }
}

function put(content: string, over: Partial<Message> = {}): string {
  const posted = message(content, over)
  expect(post(store, session.state, posted)).toBe(true)
  return posted.message_id
}

/** A turn of its own for the next message: in the log, and then out of the inbox. */
function deliver(options: { isRemoved: boolean } = { isRemoved: true }): string | undefined {
  const next = nextMessage(session)
  if (next === undefined) return undefined
  syncBeforeForgetting(session)
  const run: string = randomUUID()
  const { message_id, from, kind, content, created_at } = next
  const activated: NewRecord[] =
    session.state.state === 'active' ? [] : [{ kind: 'session.activated', boot_id: bootId() }]
  session.append([
    ...activated,
    startedRun(run),
    { kind: 'mail.delivered', run_id: run, message_id, from, mail_kind: kind, content, sent_at: created_at },
    completed(run, null),
  ])
  if (options.isRemoved) removeDelivered(session)
  return content
}

function deliverAll(): string[] {
  const contents: string[] = []
  for (let content = deliver(); content !== undefined; content = deliver()) contents.push(content)
  return contents
}

describe('mail', () => {
  test('is stored whole and synced, with its directory, before its sender is told', () => {
    const points: string[] = []
    withFaults(({ point }) => {
      points.push(point)
      return undefined
    })
    const id = put('hi')
    const written = points.filter((point) => /^(mail\.put|marker\.create|agents\.sync)/.test(point))
    expect(written).toEqual([
      'agents.sync_directory',
      'marker.create',
      ...['open', 'write', 'fsync', 'link', 'unlink', 'sync_directory'].map((step) => `mail.put.${step}`),
      'marker.create',
    ])
    expect(findPending(store, session.state, id)).toMatchObject({ content: 'hi', sequence: 1 })
  })

  test('that cannot be stored leaves nothing', () => {
    withFaults(failing('ENOSPC', ({ point }) => point === 'mail.put.write'))
    expect(() => post(store, session.state, message('hi'))).toThrow(
      expect.objectContaining({ code: 'STORAGE_FAILED' }),
    )
    expect(readdirSync(dirname(store.mailPath(session.id, randomUUID())))).toEqual([])
  })

  test('is delivered first-in-first-out, whatever its ids and the clock', () => {
    const contents = Array.from({ length: 20 }, (_, i) => `message ${i}`)
    for (const [index, content] of contents.entries())
      put(content, { created_at: new Date(Date.UTC(2026, 0, 31 - index)).toISOString() })
    expect(deliverAll()).toEqual(contents)
  })

  test('of each sender stays in order, also when some was delivered meanwhile and files come back', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('post' as const), from: fc.constantFrom('operator', 'a', 'b') }),
      fc.constant({ do: 'deliver' as const }),
      fc.constant({ do: 'power cut' as const }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        session = await newSession(store)
        const got: string[] = []
        const files = new Map<string, Buffer>()
        for (const [index, next] of steps.entries()) {
          if (next.do === 'post') {
            const id = put(`${next.from} ${index}`, { from: next.from })
            files.set(id, store.readMail(session.id, id) as Buffer)
          } else if (next.do === 'deliver') {
            const content = deliver()
            if (content !== undefined) got.push(content)
          } else {
            // Unlinked files that were not synced away are back.
            for (const [id, bytes] of files) store.putMail(session.id, id, bytes)
          }
        }
        got.push(...deliverAll())
        removeDelivered(session)
        const posted = steps.flatMap((next, index) => (next.do === 'post' ? [`${next.from} ${index}`] : []))
        expect(got.length).toBe(posted.length)
        for (const sender of ['operator', 'a', 'b']) {
          const of = (list: string[]): string[] => list.filter((content) => content.startsWith(`${sender} `))
          expect(of(got)).toEqual(of(posted))
        }
        expect(store.mailIds(session.id)).toEqual([])
        await session.close(() => false)
      }),
      { numRuns: 40 },
    )
  })

  test('of two senders at the same place in their order is taken by id, so always alike', () => {
    const [first, second] = [randomUUID(), randomUUID()].sort() as [string, string]
    put('of b', { from: 'b', message_id: second })
    put('of a', { from: 'a', message_id: first })
    expect(nextMessage(session)?.message_id).toBe(first)
  })
})

describe('an id', () => {
  test('is stored once: the second post says so and changes nothing', () => {
    const id = put('hi')
    expect(post(store, session.state, message('hi', { message_id: id }))).toBe(false)
    expect(post(store, session.state, message('other', { message_id: id }))).toBe(false)
    expect(countPending(store, session.state)).toBe(1)
    expect(findPending(store, session.state, id)?.content).toBe('hi')
  })

  test('that was delivered is not stored again', () => {
    const id = put('hi')
    deliver()
    expect(post(store, session.state, message('hi', { message_id: id }))).toBe(false)
    expect(store.mailIds(session.id)).toEqual([])
  })

  test('that was delivered is never delivered again, though its file is back; then the file goes', () => {
    const id = put('hi')
    const bytes = store.readMail(session.id, id) as Buffer
    deliver()
    store.putMail(session.id, id, bytes)
    expect(nextMessage(session)).toBeUndefined()
    expect(countPending(store, session.state)).toBe(0)
    expect(findPending(store, session.state, id)).toBeUndefined()
    removeDelivered(session)
    expect(store.mailIds(session.id)).toEqual([])
  })

  test('whose file was not removed before a crash is not delivered again', () => {
    put('one')
    put('two')
    expect(deliver({ isRemoved: false })).toBe('one')
    expect(deliver({ isRemoved: false })).toBe('two')
    expect(deliver()).toBeUndefined()
  })

  test('is forgotten only after its file was synced away, and that costs one sync in 1,000', () => {
    const points: string[] = []
    const state = { ...session.state, delivered: Array.from({ length: 2000 }, () => randomUUID()) }
    withFaults(({ point }) => {
      points.push(point)
      return undefined
    })
    for (const length of [0, 999, 1000, 1001, 1999, 2000]) {
      points.length = 0
      syncBeforeForgetting({
        store,
        id: session.id,
        state: { ...state, delivered: state.delivered.slice(0, length) },
      } as Session)
      expect(points, `${length} delivered`).toEqual(length < 2000 ? [] : ['mail.sync_removals'])
    }
  })
})

describe('damaged mail is kept, named, and not delivered:', () => {
  const DAMAGES: [string, (bytes: Buffer) => Buffer][] = [
    ['empty', () => Buffer.alloc(0)],
    ['cut short', (bytes) => bytes.subarray(0, 40)],
    ['a flipped byte', (bytes) => Buffer.from(bytes.map((byte, index) => (index === 20 ? byte ^ 1 : byte)))],
    ['NUL bytes', (bytes) => Buffer.alloc(bytes.length)],
    ['no JSON', () => Buffer.from('hello\n')],
    ['the mail of another id', () => encodeMessage({ ...message('x'), sequence: 1 })],
  ]

  test.each(DAMAGES)('%s', (_, damage) => {
    const id = put('one')
    put('two')
    const path = store.mailPath(session.id, id)
    const bytes = damage(readFileSync(path))
    writeFileSync(path, bytes)
    expect(damagedMail(store, session.state)).toEqual([path])
    expect(deliverAll()).toEqual(['two'])
    expect(readFileSync(path)).toEqual(bytes)
    expect(put('three')).toBeTruthy()
    expect(deliverAll()).toEqual(['three'])
  })

  const WRONG: [string, object][] = [
    ['to another agent', { to: randomUUID() }],
    ['to nobody', { to: 'x' }],
    ['without a sender', { from: undefined }],
    ['whose content is a number', { content: 7 }],
    ['without a digest', { digest: undefined }],
    ['without a time', { created_at: undefined }],
    ['whose place is a text', { sequence: 'first' }],
    ['of an unknown kind', { kind: 'letter' }],
    ['whose time is none', { created_at: 'yesterday' }],
    ['whose key is a number', { key: 7 }],
    ['whose timeout is a text', { turn_timeout_ms: '10m' }],
  ]

  test.each(WRONG)('whole, but %s', (_, over) => {
    const id = randomUUID()
    store.putMail(
      session.id,
      id,
      encodeMessage({ ...message('x', { message_id: id }), sequence: 1, ...over } as Message),
    )
    expect(damagedMail(store, session.state)).toEqual([store.mailPath(session.id, id)])
    expect(nextMessage(session)).toBeUndefined()
  })

  test('what is no mail at all is not looked at', () => {
    const directory = dirname(store.mailPath(session.id, randomUUID()))
    for (const name of ['notes.txt', 'x.json', `${randomUUID()}.json.1-abc.tmp`])
      writeFileSync(`${directory}/${name}`, 'x')
    expect(damagedMail(store, session.state)).toEqual([])
    expect(countPending(store, session.state)).toBe(0)
  })
})

describe('a full inbox', () => {
  const fill = (): void => {
    const directory = dirname(store.mailPath(session.id, randomUUID()))
    for (let sequence = 1; sequence <= limits.inboxMessagesMax; sequence++) {
      const filler = { ...message('x'), sequence }
      writeFileSync(`${directory}/${filler.message_id}.json`, encodeMessage(filler))
    }
  }

  test('takes no more, and says what to do', () => {
    fill()
    const [known] = store.mailIds(session.id) as [string]
    expect(() => post(store, session.state, message('one more'))).toThrow(
      expect.objectContaining({
        code: 'QUEUE_FULL',
        hint: expect.stringContaining('substrat resume'),
        facts: { agent_id: session.id, pending: limits.inboxMessagesMax },
      }),
    )
    expect(countPending(store, session.state)).toBe(limits.inboxMessagesMax)
    // What is stored already is no more.
    expect(post(store, session.state, message('x', { message_id: known }))).toBe(false)
    deliver()
    put('one more')
  })
})

describe('the marker', () => {
  const isMarked = (): boolean => store.markedIds().includes(session.id)
  const isOwed = (): boolean => countPending(store, session.state) > 0

  test('is there when mail is stored, whatever the holder does at whichever step meanwhile', () => {
    const steps: string[] = []
    withFaults(({ point }) => {
      steps.push(point)
      return undefined
    })
    put('count')
    deliverAll()
    for (let at = 1; at <= steps.length; at++) {
      withHolderAt(at, () => store.unmark(session.id, isOwed))
      put(`posted while the holder closes at step ${at}`)
      expect(isMarked(), `closed at step ${at}`).toBe(true)
      deliverAll()
    }
  })

  test('is there after the holder closed, whatever a sender does at whichever of its steps', () => {
    for (let at = 1; at <= 12; at++) {
      store.mark(session.id)
      const id = randomUUID()
      withHolderAt(at, () => void post(store, session.state, message('meanwhile', { message_id: id })))
      store.unmark(session.id, isOwed)
      withFaults(() => undefined)
      expect(isMarked(), `posted at step ${at}`).toBe(isOwed())
      deliverAll()
    }
  })

  /** The other process does its work whole before the n-th step of this one. */
  function withHolderAt(n: number, act: () => void): void {
    let left = n
    withFaults(() => {
      left -= 1
      if (left === 0) act()
      return undefined
    })
  }
})
