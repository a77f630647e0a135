import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.js'
import { readPastRun } from '../../src/session/past-run.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import type { KeyEntry } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { completedRecord } from '../../src/turn/step/records.js'
import { newSession, replied, startedRun } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const RUN: string = randomUUID()
let store: FileStore
let session: Session

beforeEach(async () => {
  store = tempStore()
  session = await newSession(store)
  session.append([
    { kind: 'session.activated', boot_id: 'b' },
    { ...startedRun(RUN, 'k'), digest: 'd' },
    { kind: 'model.requested', run_id: RUN },
  ])
})

function entry(): KeyEntry {
  return session.state.keys[0] as KeyEntry
}

/** The outcome of the run, without the fields that are the same for every outcome. */
function outcome(at = entry()): object {
  const { run_id, digest, status, reply, error, reason, usage } = readPastRun(store, session.id, at)
  expect({ run_id, digest }).toEqual({ run_id: RUN, digest: 'd' })
  return { status, reply, error, reason, usage }
}

const nothing = { reply: null, error: null, reason: null, usage: null }
const error = { type: 'crashed' as const, message: 'it broke' }

describe('a run is read back from its place in the log', () => {
  const large = 'x'.repeat(limits.inlineBytesMax + 1)
  const ENDS: [string, NewRecord[], object][] = [
    ['open', [], { ...nothing, status: 'open' }],
    [
      'completed',
      [replied(RUN, large), completedRecord(RUN, { input_tokens: 1, output_tokens: 2 })],
      { ...nothing, status: 'completed', reply: large, usage: { input_tokens: 1, output_tokens: 2 } },
    ],
    ['failed', [{ kind: 'run.failed', run_id: RUN, error }], { ...nothing, status: 'failed', error }],
    [
      'cancelled',
      [{ kind: 'run.cancelled', run_id: RUN, reason: 'turn_timeout' }],
      { ...nothing, status: 'cancelled', reason: 'turn_timeout' },
    ],
    [
      'interrupted',
      [{ kind: 'run.interrupted', run_id: RUN, reason: 'shutdown' }],
      { ...nothing, status: 'interrupted', reason: 'shutdown' },
    ],
  ]

  test.each(ENDS)('with the status %s', (_, records, expected) => {
    session.append(records)
    expect(outcome()).toEqual(expected)
  })
})

test('a run that was open when its key was looked up is read to its own end, not into the next run', () => {
  const seenOpen = entry()
  const next: string = randomUUID()
  session.append([{ kind: 'run.failed', run_id: RUN, error }])
  session.append([
    { ...startedRun(next, 'k2'), digest: 'other' },
    replied(next, 'of the next'),
    completedRecord(next, null),
  ])
  expect(outcome(seenOpen)).toEqual({ ...nothing, status: 'failed', error })
})
