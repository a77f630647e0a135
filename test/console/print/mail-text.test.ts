import { expect, test } from 'vitest'
import { inboxText } from '../../../src/console/print/mail-text.js'
import type { MailView } from '../../../src/schema/output-overview.js'

const ID = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const ASKED = 'aaaaaaaa-6f0a-4c55-9a3b-2f1f5a3c7d10'

function mail(over: Partial<MailView> = {}): MailView {
  return {
    message_id: ID,
    kind: 'response',
    from: ID,
    from_path: 'bot',
    reply_to: ASKED,
    content: 'It is\nred.\n',
    control: null,
    key: null,
    not_before: null,
    created_at: '2026-11-20T10:00:00.000Z',
    ...over,
  }
}

function textOf(messages: MailView[], question?: string): string {
  return inboxText(
    { agent: 'operator', messages, damaged: [], unknown: [] },
    new Map(question === undefined ? [] : [[ASKED, question]]),
  )
}

test('a reply has the message that it answers', () => {
  expect(textOf([mail()], 'Which colour?')).toBe(
    'response 0b9f6c1e from bot, 2026-11-20 10:00:00Z\n    > Which colour?\n    It is\n    red.',
  )
})

test('a long message is quoted up to the end of its first line', () => {
  expect(textOf([mail()], '\nfirst\nsecond')).toContain('\n    > first …\n')
  expect(textOf([mail()], 'x'.repeat(300))).toContain(`\n    > ${'x'.repeat(200)} …\n`)
})

test('without that message its id is shown', () => {
  expect(textOf([mail()])).toContain(', in reply to aaaaaaaa\n    It is')
})

test('ids that begin alike are shown up to a group that differs', () => {
  const other = `${ID.slice(0, 9)}7777${ID.slice(13)}`
  const [first = '', second = ''] = textOf([mail(), mail({ message_id: other })]).split('\n\n')
  expect([first.slice(0, 23), second.slice(0, 23)]).toEqual([
    `response ${ID.slice(0, 13)} `,
    `response ${other.slice(0, 13)} `,
  ])
})
