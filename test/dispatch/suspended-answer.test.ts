/** A request whose turn `suspend` stopped has one answer. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Context } from '../../src/dispatch/context.js'
import { visit } from '../../src/dispatch/visit.js'
import { OPERATOR } from '../../src/format.js'
import { sendOutbox } from '../../src/mail/answers.js'
import { cancelAgents } from '../../src/operations/cancel.js'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import { recover } from '../../src/operations/recover.js'
import { resume } from '../../src/operations/resume.js'
import { retry } from '../../src/operations/retry.js'
import { suspend } from '../../src/operations/stop-agent.js'
import { terminate } from '../../src/operations/terminate.js'
import type { NewRecord } from '../../src/session/records.js'
import { contextAt } from '../support/contexts.js'
import { deliveredRecord, mailOf } from '../support/mail.js'
import { sendRequest } from '../support/send-request.js'
import { newSession, reopen, startedRun } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

/** The commands after the turn was suspended, and the kinds of the answers that the sender then has. */
const CASES: Record<string, [(ctx: Context, id: string) => Promise<unknown>, string[]]> = {
  nothing: [async () => undefined, []],
  recover: [(ctx) => recover(ctx, { all: true, agents: [] }, 'all', () => undefined), []],
  'suspend again': [(ctx, id) => suspend(ctx, id, true), []],
  resume: [(ctx, id) => resume(ctx, id, { reseed: false }, () => undefined), ['response']],
  retry: [(ctx, id) => retry(ctx, id, () => undefined), ['response']],
  'suspend and resume': [
    async (ctx, id) => {
      await suspend(ctx, id, true)
      await resume(ctx, id, { reseed: false }, () => undefined)
    },
    ['response'],
  ],
  'a new message': [(ctx, id) => deliverMessage(ctx, sendRequest(id), () => undefined), ['error']],
  cancel: [
    (ctx, id) => cancelAgents(ctx, { all: false, agents: [id], isRecursive: false, isForced: false }),
    ['error'],
  ],
  terminate: [(ctx, id) => terminate(ctx, id, false, () => undefined), ['error']],
  'another turn whose command is killed, twice': [
    (ctx, id) => leftBy(ctx, id, [{ kind: 'session.activated', boot_id: 'b' }, startedRun(randomUUID())]),
    ['error'],
  ],
  'terminate that is killed, twice': [
    (ctx, id) => leftBy(ctx, id, [{ kind: 'session.terminated' }]),
    ['error'],
  ],
}

/** Appends what a killed command left, then recovers as two commands whose processes did not write that they sent the error. */
async function leftBy(ctx: Context, id: string, records: NewRecord[]): Promise<void> {
  const session = await reopen(ctx.store, id)
  session.append(records)
  sendOutbox(session, { isRepeat: false, note: () => undefined })
  await session.abandon()
  for (const _ of [1, 2]) await recover(ctx, { all: true, agents: [] }, 'all', () => undefined)
}

test.each(Object.entries(CASES))('after %s, its sender has that answer alone', async (_, [next, answers]) => {
  const store = tempStore()
  const session = await newSession(store, { name: 'a' })
  const { id } = session
  const [run_id, message_id] = [randomUUID(), randomUUID()]
  session.append([
    { kind: 'session.activated', boot_id: 'b' },
    startedRun(run_id),
    deliveredRecord(run_id, { from: OPERATOR, message_id, mail_kind: 'request' }),
  ])
  session.append([{ kind: 'run.interrupted', run_id, reason: 'suspended' }])
  await session.close(() => true)
  const { ctx } = contextAt(store)
  await visit(ctx, id, { waitMs: 0, continuesTurn: false }, async () => undefined)
  expect(mailOf(store, OPERATOR)).toEqual([])
  await next(ctx, id)
  const replies = mailOf(store, OPERATOR).filter(({ reply_to }) => reply_to === message_id)
  expect(replies.map(({ kind }) => kind)).toEqual(answers)
})
