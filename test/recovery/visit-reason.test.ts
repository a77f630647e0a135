/** One list of reasons decides whether an agent keeps its marker, the audit reports a missing one, and `remove` refuses the agent. */
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkIdleMail } from '../../src/audit/check-mail.js'
import { removalObstacle } from '../../src/operations/removable.js'
import { reasonToVisit, type VisitReason } from '../../src/recovery/visit-reason.js'
import type { Interruption } from '../../src/schema/words.js'
import { openForRead } from '../../src/session/load.js'
import type { NewRecord } from '../../src/session/records.js'
import type { State } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { completedRecord } from '../../src/turn/step/records.js'
import { deliveredRecord, forged, keepsMarker } from '../support/mail.js'
import { newSession, replied, startedRun, userMessage } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const RUN = '1b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const LATER = '2999-01-01T00:00:00.000Z'
const MAIL = randomUUID()

const answered: NewRecord = { kind: 'mail.answered' }
const begun: NewRecord[] = [
  { kind: 'session.activated', boot_id: 'b' },
  startedRun(RUN),
  userMessage(RUN, 'do it'),
]
const interrupted = (reason: Interruption): NewRecord[] => [
  ...begun,
  { kind: 'run.interrupted', run_id: RUN, reason },
]
const failed: NewRecord[] = [
  ...begun,
  { kind: 'run.failed', run_id: RUN, error: { type: 'crashed', message: 'm' } },
  answered,
]
const answering: NewRecord[] = [
  { kind: 'session.activated', boot_id: 'b' },
  startedRun(RUN),
  deliveredRecord(RUN, { message_id: MAIL }),
  replied(RUN, 'done'),
  completedRecord(RUN, null),
]
const reminder: NewRecord = {
  kind: 'reminder.set',
  reminder_id: randomUUID(),
  content: 'tick',
  due_at: LATER,
  every_ms: null,
}

const TURNS: [string, NewRecord[], VisitReason | undefined][] = [
  ['no turn', [], undefined],
  ['an unsent answer', answering, 'outbox'],
  ['a sent answer', [...answering, answered], undefined],
  ['an open turn', begun, 'turn'],
  ['a turn whose process died', interrupted('process_exit'), 'turn'],
  ['a suspended turn', interrupted('suspended'), undefined],
  ['a tool of unknown outcome', [...interrupted('unknown_tool'), answered], 'decision'],
  ['a wait that timed out', [...interrupted('wait_timeout'), answered], 'decision'],
  ['a failed turn', failed, undefined],
  [
    'a failed turn and a poke',
    [...failed, { kind: 'agent.poked', message_id: randomUUID(), from: 'operator' }],
    'poke',
  ],
  ['a reminder', [reminder], 'reminder'],
]

/** The content of the inbox, and the reason to visit that it gives for a living agent and for a terminated one. */
const INBOXES: [
  string,
  (store: FileStore, id: string) => void,
  VisitReason | undefined,
  VisitReason | undefined,
][] = [
  ['nothing', () => undefined, undefined, undefined],
  ['a message', (store, id) => void forged(store, id, 'hi'), 'mail', 'mail'],
  [
    'a message that was delivered',
    (store, id) => void forged(store, id, 'hi', { message_id: MAIL }),
    'mail',
    'mail',
  ],
  [
    'a damaged message',
    (store, id) => writeFileSync(store.mail.pathOf(id, forged(store, id, 'hi')), 'x'),
    'mail',
    'mail',
  ],
  [
    // Only a terminated agent sends mail back.
    'a message that is being returned',
    (store, id) => void store.mail.setToReturn(id, forged(store, id, 'hi')),
    undefined,
    'return',
  ],
]

async function agentWith(
  records: NewRecord[],
  isTerminated: boolean,
): Promise<{ store: FileStore; state: State }> {
  const store = tempStore()
  const session = await newSession(store)
  for (const record of records) session.append([record])
  if (isTerminated) session.append([{ kind: 'session.terminated' }])
  await session.close(() => false)
  store.visits.markComplete()
  return { store, state: openForRead(store, session.id)?.state as State }
}

function findsMarkerMissing(store: FileStore, state: State): boolean {
  const found: string[] = []
  checkIdleMail(store, state, (invariant) => found.push(invariant))
  return found.includes('an agent with pending work is marked')
}

describe.each(TURNS)('an agent with %s', (_, records, own) => {
  test.each(INBOXES)(
    'and %s in its inbox is marked if and only if the audit expects a marker',
    async (_, fill, mail) => {
      const { store, state } = await agentWith(records, false)
      fill(store, state.id)
      const reason = own === 'outbox' ? own : (mail ?? own)
      expect(reasonToVisit(store, state)).toBe(reason)
      expect([keepsMarker(store, state), findsMarkerMissing(store, state)]).toEqual([
        reason !== undefined,
        reason !== undefined,
      ])
    },
  )
})

describe('a terminated agent', () => {
  test.each(INBOXES)(
    'with %s in its inbox keeps its marker, is reported without one, and cannot be removed, all for one reason',
    async (_, fill, __, mail) => {
      for (const [records, own] of [
        [[reminder], undefined],
        [answering, 'outbox'],
      ] as const) {
        const { store, state } = await agentWith([...records], true)
        fill(store, state.id)
        const reason = own ?? mail
        expect(reasonToVisit(store, state)).toBe(reason)
        const answers = [
          keepsMarker(store, state),
          findsMarkerMissing(store, state),
          removalObstacle(store, state) !== undefined,
        ]
        expect(answers).toEqual(answers.map(() => reason !== undefined))
      }
    },
  )
})

test('a temporary file of mail keeps the marker, although the audit does not require one for it', async () => {
  const { store, state } = await agentWith([], false)
  writeFileSync(`${dirname(store.mail.pathOf(state.id, MAIL))}/${MAIL}.json.1-a.tmp`, '')
  expect([keepsMarker(store, state), findsMarkerMissing(store, state)]).toEqual([true, false])
})
