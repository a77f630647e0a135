import { expect, test } from 'vitest'
import { entryOf } from '../../src/session/entries.js'
import type { NewRecord, SessionRecord } from '../../src/session/records.js'

const run_id = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const place = { seq: 7, ts: '2026-11-20T10:00:00.000Z', batch: [7, 7] }

function entry(record: NewRecord): object {
  return entryOf({ ...place, ...record } as SessionRecord)
}

test.each<[string, NewRecord, object]>([
  [
    'a turn that failed has the reason in words',
    { kind: 'run.failed', run_id, error: { type: 'unreachable', message: 'ENOTFOUND' } },
    { type: 'failure', why: 'the connection to its AI provider failed: ENOTFOUND' },
  ],
  [
    'a turn that was stopped, too',
    { kind: 'run.interrupted', run_id, reason: 'process_exit' },
    { type: 'stop', how: 'interrupted', why: 'its process died' },
  ],
  [
    'a time limit is not a command, so its turn timed out',
    { kind: 'run.cancelled', run_id, reason: 'turn_timeout' },
    { type: 'stop', how: 'timed out', why: 'it exceeded its time limit' },
  ],
  [
    'a call whose input is in a response only starts',
    { kind: 'tool.started', run_id, call_id: 'c', tool: 'shell' },
    { type: 'call_start', tool: 'shell' },
  ],
  [
    "a call of a program to one of substrat's tools is a call",
    { kind: 'tool.started', run_id, call_id: 'c', tool: 'send_message', input: { to: 'parent' } },
    { type: 'call', isOwn: false, input: { to: 'parent' } },
  ],
  [
    "so is a call to the program's own tool",
    { kind: 'program.tool_started', run_id, call_id: 'c', tool: 'Bash' },
    { type: 'call', isOwn: true },
  ],
  ['an agent that is idle is no news', { kind: 'session.suspended', reason: 'idle' }, { type: 'hidden' }],
])('%s', (_, record, expected) => {
  expect(entry(record)).toMatchObject({ seq: 7, ts: place.ts, ...expected })
})

test('a record of a later version is hidden, and its content can be searched', () => {
  const later = { ...place, kind: 'schedule.fired', content: 'water the plants' } as unknown as SessionRecord
  expect(entryOf(later)).toMatchObject({ type: 'hidden', content: 'water the plants' })
})
