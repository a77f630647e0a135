import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { clock } from '../../src/clock.js'
import { SubstratError } from '../../src/errors.js'
import { bootId } from '../../src/host/identity.js'
import { limits } from '../../src/limits.js'
import { countPending, findPending, nextMail, removeDelivered } from '../../src/mail/inbox.js'
import type { Message } from '../../src/mail/message.js'
import { isClosed, post } from '../../src/mail/post.js'
import { viewInbox } from '../../src/operations/inbox.js'
import { digestOf } from '../../src/session/ids.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import { FileStore } from '../../src/storage/file-store.js'
import { frame } from '../../src/storage/log/frame.js'
import { completedRecord } from '../../src/turn/step/records.js'
import { failing, withFaults } from '../support/faults.js'
import { deliveredRecord, draft, forged, keepsMarker, mailOf, posted, stored } from '../support/mail.js'
import { newAgent, newSession, reopen, startedRun, terminate } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let store: FileStore
let session: Session

beforeEach(async () => {
  store = tempStore()
  session = await newSession(store, { name: 'a' })
})
afterEach(() => void vi.restoreAllMocks())

const inbox = (): string => dirname(store.mail.pathOf(session.id, randomUUID()))
const codeOf = (act: () => unknown): unknown => {
  try {
    return act()
  } catch (error) {
    return error instanceof SubstratError ? error.code : error
  }
}

/** Each pending message in a turn of its own. */
function deliverAll(): void {
  for (let mails = nextMail(session); mails.length > 0; mails = nextMail(session)) {
    const run: string = randomUUID()
    const activated: NewRecord[] =
      session.state.state === 'active' ? [] : [{ kind: 'session.activated', boot_id: bootId() }]
    const delivered = mails.map(({ message_id }) => deliveredRecord(run, { message_id }))
    session.append([...activated, startedRun(run), ...delivered, completedRecord(run, null)])
    removeDelivered(session)
  }
}

describe('a message', () => {
  test.each(['../../etc', 'b', ''])('to %j is refused', (to) => {
    expect(codeOf(() => post(store, draft(to, 'hi')))).toBe('UNDELIVERABLE')
  })

  test('after a forged one with the largest counter can be read', () => {
    const last = stored(session.id, 'x', { sequence: Number.MAX_SAFE_INTEGER })
    store.mail.put(session.id, last.message_id, last)
    const id = posted(store, session.id, 'hi')
    expect(findPending(store, session.state, id)?.content).toBe('hi')
  })

  test('is complete, synced and marked before its sender receives an acknowledgement', () => {
    const points: string[] = []
    withFaults(({ point }) => {
      points.push(point)
      return undefined
    })
    const id = posted(store, session.id, 'hi')
    withFaults(() => undefined)
    const written = points.filter((point) => /^(mail\.put|marker\.create|agents\.sync)/.test(point))
    expect(written).toEqual([
      'agents.sync_directory',
      ...['open', 'write', 'fsync'].map((step) => `mail.put.${step}`),
      'marker.create',
      ...['link', 'unlink', 'sync_directory'].map((step) => `mail.put.${step}`),
      'marker.create',
    ])
    expect(findPending(store, session.state, id)).toMatchObject({ content: 'hi', sequence: 1 })
  })

  test('is marked as soon as it exists, at any step where its sender dies or the holder closes', () => {
    for (let closesAt = 1; ; closesAt++) {
      for (let diesAt = closesAt; ; diesAt++) {
        store.visits.mark(session.id)
        const message = draft(session.id, 'hi')
        let step = 0
        let isClosing = false
        withFaults(() => {
          if (isClosing) return undefined
          step += 1
          if (step === closesAt) {
            isClosing = true
            store.visits.unmark(session.id, () => keepsMarker(store, session.state))
            isClosing = false
          }
          if (step > diesAt) throw new Error('killed')
          return undefined
        })
        const end = codeOf(() => post(store, message))
        withFaults(() => undefined)
        const isThere = store.mail.ids(session.id).includes(message.message_id)
        expect(
          isThere && !store.visits.isMarked(session.id),
          `closed at ${closesAt}, died after ${diesAt}`,
        ).toBe(false)
        const directory = dirname(store.mail.pathOf(session.id, message.message_id))
        for (const name of readdirSync(directory)) rmSync(join(directory, name))
        if (end === true) {
          if (step < closesAt) return
          break
        }
      }
    }
  })

  test('has the fields of its draft, its digest, its time and its counter', () => {
    vi.spyOn(clock, 'now').mockReturnValue(Date.UTC(2026, 10, 20))
    const given = draft(session.id, 'hi', {
      from: randomUUID(),
      from_path: 'top/b',
      kind: 'response',
      reply_to: randomUUID(),
      key: 'k',
      not_before: '2026-11-20T11:00:00.000Z',
      turn_timeout_ms: 1000,
    })
    expect(post(store, given)).toBe(true)
    expect(findPending(store, session.state, given.message_id)).toEqual({
      ...given,
      control: null,
      clock: null,
      digest: digestOf('hi'),
      created_at: '2026-11-20T00:00:00.000Z',
      sequence: 1,
    })
  })

  test('has a counter above those of its sender’s pending messages', () => {
    for (const [from, content] of [
      ['b', 'b 1'],
      ['c', 'c 1'],
      ['b', 'b 2'],
      ['b', 'b 3'],
      ['c', 'c 2'],
    ] as const)
      posted(store, session.id, content, { from })
    const places = Object.fromEntries(mailOf(store, session.id).map((mail) => [mail.content, mail.sequence]))
    expect(places).toEqual({ 'b 1': 1, 'b 2': 2, 'b 3': 3, 'c 1': 1, 'c 2': 2 })
  })

  test('has a counter above that of a delivered message whose file remains', () => {
    posted(store, session.id, 'one')
    const [first] = mailOf(store, session.id) as [Message]
    deliverAll()
    store.mail.put(session.id, first.message_id, first)
    const second = posted(store, session.id, 'two')
    expect(findPending(store, session.state, second)?.sequence).toBe(2)
  })

  test('gets its counter in spite of damaged messages', () => {
    writeFileSync(store.mail.pathOf(session.id, randomUUID()), 'garbage')
    posted(store, session.id, 'hi')
    expect(nextMail(session).map(({ content }) => content)).toEqual(['hi'])
  })

  test.each(['ENOSPC', 'EIO'])(
    'that cannot be stored (%s), at any step, leaves no partial message',
    (errno) => {
      for (const point of ['open', 'write', 'fsync', 'link'].map((step) => `mail.put.${step}`)) {
        withFaults(failing(errno, (operation) => operation.point === point))
        const code = point === 'mail.put.fsync' ? 'SYNC_FAILED' : 'STORAGE_FAILED'
        expect(
          codeOf(() => post(store, draft(session.id, 'hi'))),
          point,
        ).toBe(code)
        withFaults(() => undefined)
        expect(readdirSync(inbox()), point).toEqual([])
      }
    },
  )

  test('is stored in an inbox that was deleted by hand', () => {
    rmSync(inbox(), { recursive: true })
    posted(store, session.id, 'hi')
    expect(countPending(store, session.state)).toBe(1)
  })
})

describe('an id', () => {
  test('is stored once: the second post returns false and changes nothing', () => {
    const id = posted(store, session.id, 'hi')
    expect(post(store, draft(session.id, 'hi', { message_id: id }))).toBe(false)
    expect(post(store, draft(session.id, 'other', { message_id: id }))).toBe(false)
    expect(countPending(store, session.state)).toBe(1)
    expect(findPending(store, session.state, id)?.content).toBe('hi')
  })

  test('that was delivered is not stored again', () => {
    const id = posted(store, session.id, 'hi')
    deliverAll()
    expect(post(store, draft(session.id, 'hi', { message_id: id }))).toBe(false)
    expect(store.mail.ids(session.id)).toEqual([])
  })

  test('that was obeyed is not stored again', () => {
    const control = { kind: 'control' as const, control: { verb: 'gate' as const } }
    const id = posted(store, session.id, '', control)
    session.append([{ kind: 'agent.gated', message_id: id, from: 'operator' }])
    removeDelivered(session)
    expect(post(store, draft(session.id, '', { message_id: id, ...control }))).toBe(false)
  })

  describe('that the recipient has forgotten', () => {
    /** The id of a message that the state has forgotten. */
    async function forgotten(): Promise<string> {
      const first: string = randomUUID()
      const ids = [first, ...Array.from({ length: 2 * limits.deliveredIdsKeptMin }, () => randomUUID())]
      const records = ids.map(
        (message_id): NewRecord => ({
          kind: 'agent.permitted',
          message_id,
          from: 'operator',
        }),
      )
      session.append(records)
      expect(session.state.delivered).not.toContain(first)
      return first
    }

    test('is searched in the log if the post repeats one before a crash', async () => {
      const message_id = await forgotten()
      const again = draft(session.id, 'hi', { message_id })
      expect(post(store, again, { isRepeat: true })).toBe(false)
      expect(store.mail.ids(session.id)).toEqual([])
      expect(post(store, draft(session.id, 'new'), { isRepeat: true })).toBe(true)
    })

    test('is not searched for a new message', async () => {
      await forgotten()
      const read = vi.spyOn(store.logs, 'openForRead')
      posted(store, session.id, 'hi')
      const reads = read.mock.calls.length
      posted(store, session.id, 'ho')
      expect(read.mock.calls.length - reads).toBe(reads)
    })
  })
})

describe('an undeliverable message is refused, with nothing stored', () => {
  const NOTHING = { code: 'UNDELIVERABLE', hint: expect.stringContaining('substrat list') }

  test('to an agent that is not there', () => {
    const ghost = randomUUID()
    expect(() => post(store, draft(ghost, 'hi'))).toThrow(
      expect.objectContaining({ ...NOTHING, message: `there is no agent ${ghost}` }),
    )
    expect(readdirSync(join(store.address, 'agents'))).toEqual([session.id])
    expect(store.visits.markedIds()).toEqual([session.id])
  })

  test('to a terminated agent, of any kind', async () => {
    const id = await newAgent(store, { name: 'dead' })
    await terminate(store, id)
    for (const kind of ['request', 'notification', 'response', 'error'] as const)
      expect(() => post(store, draft(id, 'hi', { kind }))).toThrow(
        expect.objectContaining({
          ...NOTHING,
          message: 'dead is terminated and takes no messages or commands',
          facts: { agent_id: id },
        }),
      )
    expect(store.mail.ids(id)).toEqual([])
    expect(store.visits.markedIds()).not.toContain(id)
    expect([isClosed(store, id), isClosed(store, session.id), isClosed(store, 'operator')]).toEqual([
      true,
      false,
      false,
    ])
  })

  test('to an agent whose log cannot be read: the error names the log', () => {
    writeFileSync(store.local.logPath(session.id), 'garbage\n')
    rmSync(join(dirname(store.local.logPath(session.id)), 'session.json'))
    expect(codeOf(() => post(store, draft(session.id, 'hi')))).toBe('CORRUPT')
    expect(readdirSync(inbox())).toEqual([])
  })

  test('to an agent that is terminated at any step of the post: the sender receives an error, or the message is pending', async () => {
    let steps = 0
    withFaults(() => {
      steps += 1
      return undefined
    })
    posted(store, session.id, 'count')
    withFaults(() => undefined)
    expect(steps).toBeGreaterThan(10)
    for (let at = 1; at <= steps; at++) {
      const recipient = await newSession(store)
      let step = 0
      let isBusy = false
      withFaults(() => {
        if (isBusy || ++step !== at) return undefined
        isBusy = true
        recipient.append([{ kind: 'session.terminated' }])
        // The process that terminates the agent then answers the messages that it finds.
        for (const id of store.mail.ids(recipient.id)) store.mail.remove(recipient.id, id)
        isBusy = false
        return undefined
      })
      const outcome = codeOf(() => post(store, draft(recipient.id, 'hi')))
      withFaults(() => undefined)
      await recipient.abandon()
      expect(store.mail.ids(recipient.id), `terminated at step ${at}`).toEqual([])
      // Acknowledged only where the one who terminated has seen it.
      if (outcome === true) expect(step, `terminated at step ${at}`).toBeGreaterThanOrEqual(at)
      else expect(outcome, `terminated at step ${at}`).toBe('UNDELIVERABLE')
    }
  })

  describe('that is terminated as it is stored', () => {
    let points: string[]
    const terminating = (): void => {
      points = []
      withFaults(({ point }) => {
        points.push(point)
        if (point === 'mail.put.link') session.append([{ kind: 'session.terminated' }])
        return undefined
      })
    }
    afterEach(() => void withFaults(() => undefined))

    test('is removed durably before its sender receives the error', () => {
      terminating()
      expect(codeOf(() => post(store, draft(session.id, 'hi')))).toBe('UNDELIVERABLE')
      expect(points.slice(points.indexOf('mail.remove'))).toContain('mail.sync_removals')
    })

    test('is not refused if a copy from before a crash is being returned: that copy is answered', () => {
      const id = posted(store, session.id, 'hi')
      store.mail.setToReturn(session.id, id)
      terminating()
      const again = draft(session.id, 'hi', { message_id: id })
      expect(codeOf(() => post(store, again, { isRepeat: true }))).toBe(true)
      expect([store.mail.ids(session.id), store.mail.idsToReturn(session.id)]).toEqual([[], [id]])
    })
  })
})

describe('a full inbox', () => {
  const fill = (): void => {
    for (let sequence = 1; sequence <= limits.inboxMessagesMax; sequence++) {
      const filler = stored(session.id, 'x', { sequence })
      writeFileSync(store.mail.pathOf(session.id, filler.message_id), frame(filler))
    }
  }

  test('refuses requests and notifications, and names the next command', () => {
    fill()
    const [known] = store.mail.ids(session.id) as [string]
    for (const kind of ['request', 'notification'] as const)
      expect(() => post(store, draft(session.id, 'one more', { kind }))).toThrow(
        expect.objectContaining({
          code: 'QUEUE_FULL',
          exitStatus: 13,
          hint: expect.stringContaining('substrat deliver a'),
          facts: { agent_id: session.id, pending: limits.inboxMessagesMax },
        }),
      )
    expect(countPending(store, session.state)).toBe(limits.inboxMessagesMax)
    // A message that is already stored needs no room.
    expect(post(store, draft(session.id, 'x', { message_id: known }))).toBe(false)
    store.mail.remove(session.id, known)
    posted(store, session.id, 'one more')
  })

  test('still accepts answers and controls', () => {
    fill()
    const control = { verb: 'ungate' } as const
    const drafts = [{ kind: 'response' }, { kind: 'error' }, { kind: 'control', control }] as const
    for (const over of drafts) posted(store, session.id, 'answer', over)
    expect(countPending(store, session.state)).toBe(limits.inboxMessagesMax + drafts.length)
  })
})

describe('the operator', () => {
  test('receives any number of messages, also in a home without agents', () => {
    for (let n = 1; n <= 3; n++) posted(store, 'operator', `${n}`, { from: session.id, kind: 'notification' })
    const mails = mailOf(store, 'operator')
    expect(mails.map(({ content }) => content).sort()).toEqual(['1', '2', '3'])
    expect(mails.every(({ to }) => to === 'operator')).toBe(true)
  })

  test('receives a repeated message once, also after taking it', () => {
    const id = posted(store, 'operator', 'hi', { from: session.id })
    const again = draft('operator', 'hi', { from: session.id, message_id: id })
    expect(post(store, again)).toBe(false)
    store.mail.take(id)
    expect(store.mail.ids('operator')).toEqual([])
    expect(post(store, again)).toBe(false)
    expect(post(store, again, { isRepeat: true })).toBe(false)
    expect(store.mail.ids('operator')).toEqual([])
  })

  test('has an inbox again after it was deleted by hand', () => {
    posted(store, 'operator', 'lost', { from: session.id })
    rmSync(join(store.address, 'operator'), { recursive: true })
    expect(store.mail.ids('operator')).toEqual([])
    mkdirSync(join(store.address, 'operator'), { recursive: true })
    posted(store, 'operator', 'found', { from: session.id })
    expect(mailOf(store, 'operator').map(({ content }) => content)).toEqual(['found'])
  })
})

describe('the marker', () => {
  const isMarked = (): boolean => store.visits.markedIds().includes(session.id)
  const needsVisit = (): boolean => countPending(store, session.state) > 0

  test('exists when mail is stored, at any step of a holder meanwhile', () => {
    const steps: string[] = []
    withFaults(({ point }) => {
      steps.push(point)
      return undefined
    })
    posted(store, session.id, 'count')
    deliverAll()
    for (let at = 1; at <= steps.length; at++) {
      withOtherAt(at, () => store.visits.unmark(session.id, needsVisit))
      posted(store, session.id, `posted while the holder closes at step ${at}`)
      expect(isMarked(), `closed at step ${at}`).toBe(true)
      deliverAll()
    }
  })

  test('exists after the holder closed, at any step of a sender meanwhile', () => {
    for (let at = 1; at <= 12; at++) {
      store.visits.mark(session.id)
      withOtherAt(at, () => void posted(store, session.id, 'meanwhile'))
      store.visits.unmark(session.id, needsVisit)
      withFaults(() => undefined)
      expect(isMarked(), `posted at step ${at}`).toBe(needsVisit())
      deliverAll()
    }
  })

  /** The other process does its work whole before the n-th step of this one. */
  function withOtherAt(n: number, act: () => void): void {
    let left = n
    withFaults(() => {
      left -= 1
      if (left === 0) act()
      return undefined
    })
  }
})

describe('the inbox of the operator', () => {
  const read = (): string[] => viewInbox(store, 'operator').messages.map(({ content }) => content)
  const toOperator = (content: string): boolean =>
    post(store, { ...draft('operator', content), from: session.id, from_path: 'a', kind: 'notification' })
  const at = (time: string): void => void vi.spyOn(clock, 'now').mockReturnValue(Date.parse(time))

  test('has the messages of an agent in sending order, also if the clock was set back', async () => {
    at('2026-11-20T10:00:00Z')
    toOperator('one')
    at('2026-11-20T09:00:00Z')
    toOperator('two')
    session.append([{ kind: 'session.configured', hold: true }])
    at('2025-01-01T00:00:00Z')
    toOperator('three')
    toOperator('four')
    // Another process of it counts on.
    session.append([{ kind: 'session.configured', hold: false }])
    await session.close(() => false)
    store = FileStore.openForWrite(store.address)
    at('2020-01-01T00:00:00Z')
    toOperator('five')
    expect(read()).toEqual(['one', 'two', 'three', 'four', 'five'])
    session = await reopen(store, session.id)
  })

  test('has the messages of several agents in sending order if the clock is right', async () => {
    const other = await newAgent(store, { name: 'b' })
    at('2026-11-20T10:00:00Z')
    toOperator('first')
    at('2026-11-20T10:00:01Z')
    post(store, { ...draft('operator', 'second'), from: other, from_path: 'b', kind: 'notification' })
    at('2026-11-20T10:00:02Z')
    toOperator('third')
    expect(read()).toEqual(['first', 'second', 'third'])
  })

  test('lists messages of older versions, which have a time as counter, first', () => {
    toOperator('new')
    for (const [content, sequence] of [
      ['older', 1_780_000_000_000],
      ['old', 1_790_000_000_000],
    ] as const)
      forged(store, 'operator', content, { from: session.id, sequence })
    expect(read()).toEqual(['older', 'old', 'new'])
  })
})
