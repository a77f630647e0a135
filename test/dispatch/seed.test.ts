/** What a conversation is in words. */
import { randomUUID } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { conversationText } from '../../src/dispatch/seed.js'
import { limits } from '../../src/limits.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import { appendTurn, beginning, newSession } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let session: Session

beforeEach(async () => {
  session = await newSession(tempStore())
})

function text(): string | undefined {
  return conversationText(session.store, session.id)
}

/** What stands between the tags, message by message. */
function said(): string[] {
  const [, between] = /<conversation>\n\n([^<]*)\n\n<\/conversation>$/.exec(text() ?? '') ?? []
  return (between ?? '').split('\n\n')
}

test('nothing was said: there is none', () => {
  expect(text()).toBeUndefined()
})

test('it has what both said, in order', () => {
  appendTurn(session, 'remember 17', 'noted')
  appendTurn(session, 'which?', '17')
  expect(said()).toEqual(['User: remember 17', 'You: noted', 'User: which?', 'You: 17'])
})

test('it has the mail of others, with who sent it, and not what substrat says to a program that was cut short', () => {
  appendTurn(session, 'hi', 'hello')
  const run_id = randomUUID()
  const from = randomUUID()
  const mail: NewRecord = {
    kind: 'mail.delivered',
    run_id,
    message_id: randomUUID(),
    from,
    from_path: 'lead',
    mail_kind: 'request',
    content: 'how far are you?',
    sent_at: '2026-11-20T10:00:00.000Z',
  }
  const told = beginning(session, run_id, 'Your turn was interrupted.').map((record) =>
    record.kind === 'message.user' ? { ...record, origin: 'continuation' as const } : record,
  )
  session.append([...told, mail])
  expect(said().slice(2)).toEqual(['Message from lead: how far are you?'])
})

test('what another agent had said before is in it, what it was told of itself is not', () => {
  const seeded = (from: string, content: string): NewRecord => ({ kind: 'session.seeded', from, content })
  session.append([seeded(randomUUID(), 'OF ANOTHER')])
  appendTurn(session, 'hi', 'hello')
  session.append([seeded(session.id, 'OF ITSELF')])
  expect(said()).toEqual(['Earlier: OF ANOTHER', 'User: hi', 'You: hello'])
})

test('of a long one the newest is in it, and how much is left out', () => {
  const length = limits.seedBytesMax / 8
  for (let nth = 1; nth <= 12; nth++) appendTurn(session, `${nth} ${'x'.repeat(length)}`, `fine ${nth}`)
  const [left, ...kept] = said()
  expect(left).toBe('[… messages left out: 9 …]')
  expect(kept).toHaveLength(15)
  expect(kept.at(-1)).toBe('You: fine 12')
  expect(Buffer.byteLength(text() as string)).toBeLessThan(limits.seedBytesMax + 1000)
})

test('a message that is too long alone is there with its beginning and its end', () => {
  appendTurn(session, 'make a book', `Once upon a time ${'x'.repeat(2 * limits.seedBytesMax)} the end`)
  const [first, book] = said()
  expect(first).toBe('User: make a book')
  expect(book).toMatch(/^You: Once upon a time x+\n\[… \d+ bytes left out …\]\nx+ the end$/)
  expect(Buffer.byteLength(text() as string)).toBeLessThan(limits.seedBytesMax)
})
