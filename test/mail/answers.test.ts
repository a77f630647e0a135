import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { bootId } from '../../src/host/identity.js'
import { replyId, returnMail, sendOutbox } from '../../src/mail/answers.js'
import type { Message } from '../../src/mail/message.js'
import { removalObstacle } from '../../src/operations/removable.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { completedRecord } from '../../src/turn/step/records.js'
import { failing, withFaults } from '../support/faults.js'
import { killedAt } from '../support/killed.js'
import { deliveredRecord, forged, keepsMarker, mailOf, posted, stored } from '../support/mail.js'
import {
  newAgent,
  newSession,
  reopen,
  replied,
  startedRun,
  terminate,
  userMessage,
} from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let store: FileStore
let parent: string
let sibling: string
let session: Session
let notes: string[]

beforeEach(async () => {
  store = tempStore()
  notes = []
  parent = await newAgent(store, { name: 'top' })
  sibling = await newAgent(store, { name: 'b', parent })
  session = await newSession(store, { name: 'a', parent })
})

const send = (isRepeat = false): string[] =>
  sendOutbox(session, { isRepeat, note: (text) => void notes.push(text) }).map(({ to }) => to)
const note = (text: string): void => void notes.push(text)
/** Whether the outbox is recorded as sent, or the next batch does that. */
const isAnswered = (): boolean => session.state.owes.length === 0 || session.isCarrying('mail.answered')

/** A run that answers the message, or that ends as `end` says. */
function ran(prompt: (run: string) => NewRecord, end?: (run: string) => NewRecord): string {
  const run: string = randomUUID()
  const activated: NewRecord[] =
    session.state.state === 'active' ? [] : [{ kind: 'session.activated', boot_id: bootId() }]
  const ending = end?.(run)
  session.append([
    ...activated,
    startedRun(run),
    prompt(run),
    ...(ending === undefined ? [replied(run, 'hello'), completedRecord(run, null)] : [ending]),
  ])
  return run
}

const requestOf =
  (from: string, message_id: string = randomUUID()) =>
  (run: string) =>
    deliveredRecord(run, { from, message_id })
const failing3 = (run: string): NewRecord => ({
  kind: 'run.failed',
  run_id: run,
  error: { type: 'crashed', message: 'it exited 3' },
})

describe('replies and failure notices of ended turns are sent', () => {
  test('the reply to the sender of the request, with an id derived from it; then the outbox is recorded as sent', () => {
    const request = randomUUID()
    ran(requestOf(sibling, request))
    expect(send()).toEqual([sibling])
    expect(mailOf(store, sibling)).toMatchObject([
      {
        message_id: replyId(request),
        from: session.id,
        from_path: 'top/a',
        to: sibling,
        kind: 'response',
        reply_to: request,
        content: 'hello',
        key: null,
        not_before: null,
      },
    ])
    expect(isAnswered()).toBe(true)
    const seq = session.state.last_seq
    expect(send()).toEqual([])
    expect(session.state.last_seq).toBe(seq)
  })

  test('the record that the outbox is sent comes with the next batch, before its other records', () => {
    ran(requestOf(sibling))
    send()
    expect(session.state.owes).toHaveLength(1)
    const batch = session.append([{ kind: 'session.configured', title: 'next' }])
    expect(batch.map(({ kind }) => kind)).toEqual(['mail.answered', 'session.configured'])
    expect([session.state.owes, session.isCarrying('mail.answered')]).toEqual([[], false])
  })

  test('the last batch of a session has it, also without another record', () => {
    ran(requestOf(sibling))
    send()
    const { last_seq } = session.state
    session.appendLast([])
    expect([session.state.owes, session.state.last_seq]).toEqual([[], last_seq + 1])
    session.appendLast([])
    expect(session.state.last_seq).toBe(last_seq + 1)
  })

  test('without that batch, the next visit sends each message again by the same id, and the recipient has it once', async () => {
    ran(requestOf(sibling))
    send()
    const sent = mailOf(store, sibling)
    await session.abandon()
    session = await reopen(store, session.id)
    expect(session.state.owes).toHaveLength(1)
    expect(send(true)).toEqual([sibling])
    expect(mailOf(store, sibling)).toEqual(sent)
    session.appendLast([])
    expect(session.state.owes).toEqual([])
  })

  test('the outbox of the next turn is sent too', () => {
    for (const text of ['first', 'second']) {
      ran(requestOf(sibling))
      expect(send(), text).toEqual([sibling])
    }
    expect(mailOf(store, sibling)).toHaveLength(2)
  })

  test('an error with the cause and the next step, to the sender and to the parent', () => {
    const request = randomUUID()
    ran(requestOf(sibling, request), failing3)
    expect(send()).toEqual([sibling, parent])
    for (const [to, reply_to] of [
      [sibling, request],
      [parent, null],
    ] as const)
      expect(mailOf(store, to)).toMatchObject([
        {
          kind: 'error',
          reply_to,
          content:
            'The turn of top/a failed: it exited 3. (inspect_agent shows the details; poke retries the turn)',
        },
      ])
  })

  test('to the operator, with the command that shows the turn', async () => {
    await session.abandon()
    session = await newSession(store, { name: 'root' })
    ran(requestOf('operator'), failing3)
    expect(send()).toEqual(['operator'])
    expect(mailOf(store, 'operator').map(({ content }) => content)).toEqual([
      'The turn of root failed: it exited 3. (substrat show root)',
    ])
  })

  test.each<[string, (run: string) => NewRecord, string]>([
    [
      'cancelled',
      (run) => ({ kind: 'run.cancelled', run_id: run, reason: 'turn_timeout' }),
      'The turn of top/a timed out: it exceeded its time limit.',
    ],
    [
      'interrupted',
      (run) => ({ kind: 'run.interrupted', run_id: run, reason: 'unknown_tool' }),
      'The turn of top/a was interrupted: a tool call was interrupted',
    ],
  ])('in words, for a turn that was %s', (_, end, words) => {
    ran(requestOf(parent), end)
    send()
    expect(mailOf(store, parent)).toMatchObject([{ kind: 'error', content: expect.stringContaining(words) }])
  })

  test('not while a later command may continue the interrupted turn, which sends the reply', () => {
    ran(requestOf(parent), (run) => ({ kind: 'run.interrupted', run_id: run, reason: 'process_exit' }))
    const before = session.state.last_seq
    expect([send(), mailOf(store, parent), session.state.last_seq]).toEqual([[], [], before])
    expect(isAnswered()).toBe(false)
  })

  test('as a notice with the status, to watchers', () => {
    const watch: string = randomUUID()
    session.append([{ kind: 'agent.watched', message_id: watch, from: parent, on: ['idle'], once: false }])
    ran(requestOf(sibling))
    send()
    expect(mailOf(store, parent)).toMatchObject([
      { kind: 'notification', reply_to: watch, content: 'top/a is idle now.' },
    ])
    ran(requestOf(sibling))
    send()
    const notices = mailOf(store, parent)
    expect(new Set(notices.map(({ message_id }) => message_id)).size).toBe(2)
  })

  test('empty, for an empty reply', () => {
    ran(requestOf(sibling), (run) => completedRecord(run, null))
    send()
    expect(mailOf(store, sibling)).toMatchObject([{ kind: 'response', content: '' }])
  })

  test('complete, for a large reply', () => {
    const large = 'long '.repeat(50_000)
    const run: string = randomUUID()
    session.append([
      { kind: 'session.activated', boot_id: bootId() },
      startedRun(run),
      deliveredRecord(run, { from: sibling }),
      replied(run, large),
      completedRecord(run, null),
    ])
    send()
    expect(mailOf(store, sibling).map(({ content }) => content.length)).toEqual([large.length])
  })

  test('the last message of an agent that is done, to its parent', () => {
    const run: string = randomUUID()
    session.append([
      { kind: 'session.activated', boot_id: bootId() },
      startedRun(run),
      userMessage(run, 'hi'),
      replied(run, 'that is all'),
      completedRecord(run, null, true),
    ])
    send()
    expect(mailOf(store, parent)).toMatchObject([{ kind: 'notification', content: 'that is all' }])
  })
})

describe('a message of the outbox is sent once', () => {
  test('after a kill at any step: the next visit sends the rest, and nothing twice', async () => {
    for (let at = 1; ; at++) {
      const receiver = await newAgent(store, { name: `b${at}`, parent })
      await session.abandon()
      session = await newSession(store, { name: `a${at}`, parent })
      const request = randomUUID()
      ran(requestOf(receiver, request), failing3)
      const died = await killedAt(at, async () => {
        send()
        session.appendLast([])
      })
      const { id } = session
      await session.abandon()
      session = await reopen(store, id)
      send(true)
      session.appendLast([])
      expect(session.state.owes, `killed at step ${at}`).toEqual([])
      expect(
        mailOf(store, receiver).map(({ reply_to }) => reply_to),
        `killed at step ${at}`,
      ).toEqual([request])
      const toParent = mailOf(store, parent).filter(({ from }) => from === id)
      expect(toParent, `killed at step ${at}`).toHaveLength(1)
      if (!died) return
      // Each message there is a step more of the next one.
      for (const { message_id } of toParent) store.mail.remove(parent, message_id)
    }
  })

  test('also if two runs reply to the same request', () => {
    const request = randomUUID()
    const run = ran(requestOf(sibling, request))
    send()
    const continued: string = randomUUID()
    session.append([
      { ...startedRun(continued), origin: 'continuation', continues: run },
      replied(continued, 'again'),
      completedRecord(continued, null),
    ])
    send()
    expect(mailOf(store, sibling).map(({ content }) => content)).toEqual(['hello'])
  })

  test('but two failures of one request are both reported', () => {
    const request = randomUUID()
    const run = ran(requestOf(sibling, request), failing3)
    send()
    const continued: string = randomUUID()
    session.append([
      { ...startedRun(continued), origin: 'continuation', continues: run },
      failing3(continued),
    ])
    send()
    expect(mailOf(store, sibling).map(({ kind, reply_to }) => [kind, reply_to])).toEqual([
      ['error', request],
      ['error', request],
    ])
  })
})

describe('a message that cannot be sent', () => {
  test('to a removed agent counts as sent and is noted; the others are sent', async () => {
    ran(requestOf(sibling), failing3)
    await terminate(store, sibling)
    expect(send()).toEqual([parent])
    expect(notes).toEqual([
      expect.stringMatching(
        /^the error from top\/a was dropped: top\/b is terminated and takes no messages or commands/,
      ),
    ])
    expect(isAnswered()).toBe(true)
    expect(mailOf(store, sibling)).toEqual([])
  })

  test('to a sender that never existed counts as sent', () => {
    ran(requestOf(randomUUID()))
    expect(send()).toEqual([])
    expect(notes).toHaveLength(1)
    expect(isAnswered()).toBe(true)
  })

  test('to an agent with a damaged log stays in the outbox until the next visit', async () => {
    ran(requestOf(sibling), failing3)
    const log = store.local.logPath(sibling)
    const bytes = readFileSync(log)
    writeFileSync(log, 'garbage\n')
    rmSync(join(dirname(log), 'session.json'))
    expect(send()).toEqual([parent])
    expect(isAnswered()).toBe(false)
    writeFileSync(log, bytes)
    expect(send(true).sort()).toEqual([sibling, parent].sort())
    expect(isAnswered()).toBe(true)
    expect(mailOf(store, parent)).toHaveLength(1)
    expect(mailOf(store, sibling)).toHaveLength(1)
  })

  test('because the disk fails is an error, and stays in the outbox', () => {
    ran(requestOf(sibling))
    withFaults(failing('ENOSPC', ({ point }) => point === 'mail.put.write'))
    expect(() => send()).toThrow(expect.objectContaining({ code: 'STORAGE_FAILED' }))
    withFaults(() => undefined)
    expect(isAnswered()).toBe(false)
    expect(mailOf(store, sibling)).toEqual([])
  })
})

describe('mail to a terminated agent', () => {
  beforeEach(() => {
    session.append([{ kind: 'session.terminated' }])
  })
  const sentBack = (): string[] => returnMail(store, session.state, note)

  test('is answered with an error and removed', () => {
    const waits = [
      stored(session.id, 'one', { from: sibling }),
      stored(session.id, 'two', { from: parent, kind: 'notification' }),
    ]
    for (const mail of waits) store.mail.put(session.id, mail.message_id, mail)
    expect(sentBack().sort()).toEqual([sibling, parent].sort())
    expect(store.mail.ids(session.id)).toEqual([])
    expect(mailOf(store, sibling)).toMatchObject([
      {
        kind: 'error',
        reply_to: (waits[0] as Message).message_id,
        from: session.id,
        content: 'top/a was terminated before it received this request: one',
      },
    ])
    expect(mailOf(store, parent)).toMatchObject([
      { kind: 'error', content: 'top/a was terminated before it received this notification: two' },
    ])
  })

  test('from the operator is answered to the operator', () => {
    forged(store, session.id, 'hi')
    expect(sentBack()).toEqual(['operator'])
    expect(mailOf(store, 'operator')).toMatchObject([{ kind: 'error', from: session.id }])
  })

  test('that was delivered is answered only by its run: a restored file is just removed', () => {
    const taken = forged(store, session.id, 'hi', { from: sibling })
    const state = { ...session.state, delivered: [taken] }
    expect(returnMail(store, state, note)).toEqual([])
    expect([store.mail.ids(session.id), mailOf(store, sibling)]).toEqual([[], []])
  })

  test('that is an answer or a control is not answered', () => {
    const control = { verb: 'gate' } as const
    for (const over of [{ kind: 'response' }, { kind: 'error' }, { kind: 'control', control }])
      forged(store, session.id, 'x', { from: sibling, ...over })
    expect(sentBack()).toEqual([])
    expect(store.mail.ids(session.id)).toEqual([])
    expect(mailOf(store, sibling)).toEqual([])
  })

  test('is answered once after a kill at any step', async () => {
    for (let at = 1; ; at++) {
      const id = forged(store, session.id, 'hi', { from: sibling })
      const died = await killedAt(at, async () => sentBack())
      sentBack()
      const answers = mailOf(store, sibling).filter(({ reply_to }) => reply_to === id)
      expect(answers, `killed at step ${at}`).toHaveLength(1)
      expect(store.mail.ids(session.id), `killed at step ${at}`).toEqual([])
      if (!died) return
      // Each message there is a step more of the next one.
      for (const { message_id } of answers) store.mail.remove(sibling, message_id)
    }
  })

  describe('that its sender removes at the same moment', () => {
    /** Removes the message as its sender does when it finds the agent terminated. False if that is too late. */
    const takesBack = (id: string): boolean => store.mail.remove(session.id, id)
    const answersTo = (id: string): unknown[] =>
      mailOf(store, sibling).filter(({ reply_to }) => reply_to === id)

    test.each(['lives', 'dies'])(
      'is refused or answered, never both, at any step: the process that ends it %s there',
      (fate) => {
        for (let at = 1; ; at++) {
          const id = forged(store, session.id, 'hi', { from: sibling })
          let left = at
          let isRefused: boolean | undefined
          withFaults(() => {
            left -= 1
            if (left === 0) isRefused = takesBack(id)
            if (left <= 0 && fate === 'dies') throw new Error('killed')
            return undefined
          })
          try {
            sentBack()
          } catch (error) {
            if ((error as Error).message !== 'killed') throw error
          }
          withFaults(() => undefined)
          sentBack()
          isRefused ??= takesBack(id)
          expect(answersTo(id), `taken back at step ${at}`).toHaveLength(isRefused ? 0 : 1)
          expect([store.mail.ids(session.id), store.mail.idsToReturn(session.id)]).toEqual([[], []])
          for (const { message_id } of mailOf(store, sibling)) store.mail.remove(sibling, message_id)
          if (left > 0) return
        }
      },
    )
  })

  test('makes its agent need a visit, and not removable, until it is answered', () => {
    const id = forged(store, session.id, 'hi', { from: sibling })
    withFaults(failing('ENOSPC', ({ point }) => point === 'mail.put.write'))
    expect(sentBack).toThrow(expect.objectContaining({ code: 'STORAGE_FAILED' }))
    withFaults(() => undefined)
    expect(store.mail.idsToReturn(session.id)).toEqual([id])
    expect([keepsMarker(store, session.state), removalObstacle(store, session.state)]).toEqual([
      true,
      expect.objectContaining({ code: 'SESSION_STATE' }),
    ])
  })

  test('that became unreadable while it is returned is back in the inbox, for the user to inspect', () => {
    const id = forged(store, session.id, 'hi', { from: sibling })
    store.mail.setToReturn(session.id, id)
    writeFileSync(store.mail.pathOf(session.id, id).replace('.json', '.returned'), Buffer.alloc(100))
    expect(sentBack()).toEqual([])
    expect([store.mail.ids(session.id), store.mail.idsToReturn(session.id)]).toEqual([[id], []])
  })

  test('from a sender that does not exist is noted and removed', async () => {
    await terminate(store, sibling)
    for (const from of [sibling, randomUUID()]) forged(store, session.id, 'hi', { from })
    expect(sentBack()).toEqual([])
    expect(notes).toHaveLength(2)
    for (const text of notes) expect(text).toMatch(/^the sender of a request to top\/a was not informed: /)
    expect(store.mail.ids(session.id)).toEqual([])
  })

  test('stays if the disk fails before it is answered', () => {
    const id = forged(store, session.id, 'hi', { from: sibling })
    withFaults(failing('ENOSPC', ({ point }) => point === 'mail.put.write'))
    expect(sentBack).toThrow(expect.objectContaining({ code: 'STORAGE_FAILED' }))
    withFaults(() => undefined)
    expect(store.mail.idsToReturn(session.id)).toEqual([id])
    expect(sentBack()).toEqual([sibling])
  })

  test('that is damaged stays, for the user to inspect', () => {
    const id = posted(store, parent, 'x')
    const path = store.mail.pathOf(session.id, id)
    writeFileSync(path, Buffer.alloc(100))
    expect(sentBack()).toEqual([])
    expect(store.mail.ids(session.id)).toEqual([id])
  })
})
