/** The entries of `log` for mail, reminders, controls and calls by programs. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { describeRecord, shownFilter } from '../../../src/console/print/transcript.js'
import type { NewRecord, SessionRecord } from '../../../src/session/records.js'

const run_id = randomUUID()
const message_id = randomUUID()
const parent = '7ac21c2f-7ca1-4186-844b-ad4d3a55e51f'
const from = parent
const due_at = '2026-11-20T12:00:00.000Z'

function told(record: NewRecord): string | undefined {
  const placed = { seq: 1, ts: '2026-11-20T10:00:00.000Z', batch: [1, 1], ...record } as SessionRecord
  const entry = describeRecord(placed, String)
  expect(shownFilter()(placed)).toBe(entry !== undefined)
  return entry?.slice('2026-11-20 10:00:00Z  '.length)
}

function mail(over: Partial<NewRecord<'mail.delivered'>>): NewRecord<'mail.delivered'> {
  const sent_at = '2026-11-20T09:00:00.000Z'
  return {
    kind: 'mail.delivered',
    run_id,
    message_id,
    from,
    mail_kind: 'request',
    content: 'hello',
    sent_at,
    ...over,
  }
}

test.each<[string, NewRecord, string | undefined]>([
  ['a request of a person', mail({ from: 'operator' }), 'you: hello'],
  ['a note of a person', mail({ from: 'operator', mail_kind: 'notification' }), 'you (notification): hello'],
  ['a request of an agent', mail({ from_path: 'lead' }), 'lead: hello'],
  ['a request without a path', mail({}), `${parent}: hello`],
  ['a reply', mail({ from_path: 'lead/a', mail_kind: 'response' }), 'lead/a (response): hello'],
  ['an error', mail({ from_path: 'lead/a', mail_kind: 'error' }), 'lead/a (error): hello'],
  ['a reminder', mail({ mail_kind: 'notification', reminder_id: randomUUID() }), 'reminder: hello'],
  ['a reply that is the result of a call', mail({ mail_kind: 'response', call_id: 'c' }), undefined],
  ['what is answered early', { kind: 'mail.replied', run_id, message_id }, undefined],
  ['that all is answered', { kind: 'mail.answered' }, undefined],
  ['a gate of a person', { kind: 'agent.gated', message_id, from: 'operator' }, 'gated by you'],
  ['a gate of the parent', { kind: 'agent.ungated', message_id, from }, 'ungated by 7ac21c2f'],
  ['a permit', { kind: 'agent.permitted', message_id, from }, 'one turn permitted by 7ac21c2f'],
  ['a poke', { kind: 'agent.poked', message_id, from }, 'retry requested by 7ac21c2f'],
  [
    'a watcher',
    { kind: 'agent.watched', message_id, from, on: ['idle', 'waiting'], once: true },
    'watched by 7ac21c2f for idle, waiting (once)',
  ],
  ['one watcher less', { kind: 'agent.unwatched', message_id, from }, 'no longer watched by 7ac21c2f'],
  [
    'a reminder that is set',
    { kind: 'reminder.set', reminder_id: randomUUID(), content: 'look', due_at, every_ms: null },
    'set a reminder for 2026-11-20 12:00:00Z: look',
  ],
  [
    'one that repeats',
    { kind: 'reminder.set', reminder_id: randomUUID(), content: 'look', due_at, every_ms: 60_000 },
    'set a reminder for 2026-11-20 12:00:00Z, then every 60 s: look',
  ],
  [
    'one that is cancelled',
    { kind: 'reminder.cancelled', reminder_id: parent },
    'reminder 7ac21c2f cancelled',
  ],
  [
    'metadata',
    { kind: 'session.configured', metadata: { progress: 'half', link: null } },
    'metadata changed: progress=half, link=(removed)',
  ],
  ['the end of a turn', { kind: 'run.completed', run_id }, undefined],
  [
    'the last turn',
    { kind: 'run.completed', run_id, terminates: true },
    'work completed; the agent terminates',
  ],
  [
    "a call of an agent's program",
    { kind: 'tool.started', run_id, call_id: 'c', tool: 'send_message', input: { to: 'parent' } },
    'calls send_message: parent',
  ],
  [
    'one with a large input',
    {
      kind: 'tool.started',
      run_id,
      call_id: 'c',
      tool: 'broadcast',
      input_blob: { blob: 'a'.repeat(64), bytes: 9 },
    },
    'calls broadcast: (large)',
  ],
  [
    "a call of a program's own tool",
    {
      kind: 'program.tool_started',
      run_id,
      call_id: 'c',
      tool: 'Bash',
      input: { command: 'npm test' },
    },
    'calls Bash: npm test',
  ],
  [
    "the end of a program's own tool",
    { kind: 'program.tool_finished', run_id, call_id: 'c', tool: 'Bash', content: 'no\n', is_error: true },
    'Bash failed: no',
  ],
  [
    "a program's output",
    { kind: 'program.output', run_id, stream: 'stderr', content: 'no key\nbye\n', left_out: 7 },
    `stderr (its first 7 bytes are left out): no key\n${' '.repeat(22)}bye`,
  ],
  ['a note of a program', { kind: 'program.note', run_id, content: 'it retries' }, 'program: it retries'],
  [
    "a model's, which its response tells",
    { kind: 'tool.started', run_id, call_id: 'c', tool: 'shell' },
    undefined,
  ],
])('%s', (_, record, entry) => {
  expect(told(record)).toBe(entry)
})

test('a wait has one entry however often its token changes; the next wait of the run has its own', () => {
  const waiting = (call_id: string): object => ({
    kind: 'run.waiting',
    run_id,
    wait: 'approval',
    asks: [{ call_id }],
  })
  const records = [
    waiting('a'),
    { kind: 'token.revoked', token_id: randomUUID() },
    { kind: 'token.minted', token_id: randomUUID(), expires_at: due_at },
    waiting('a'),
    { kind: 'run.resumed', run_id },
    waiting('a'),
    waiting('b'),
  ] as unknown as SessionRecord[]
  const waitsShown = (shown: SessionRecord[], all = false): number =>
    shown.filter(shownFilter(all)).filter(({ kind }) => kind === 'run.waiting').length
  expect(waitsShown(records)).toBe(3)
  expect(waitsShown(records.toReversed())).toBe(3)
  expect(waitsShown(records, true)).toBe(4)
})
