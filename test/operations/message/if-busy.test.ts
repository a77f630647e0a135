/** `send --if-busy queue`: a message that was refused is queued; one that may be in the log already is not. */
import { randomUUID } from 'node:crypto'
import { renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import type { Outcome } from '../../../src/dispatch/outcome.js'
import { deliverMessage } from '../../../src/operations/message/deliver-message.js'
import { openForRead } from '../../../src/session/load.js'
import type { NewRecord } from '../../../src/session/records.js'
import type { FileStore } from '../../../src/storage/file-store.js'
import { contextAt } from '../../support/contexts.js'
import { withFaults } from '../../support/faults.js'
import { mailOf, posted } from '../../support/mail.js'
import { sendRequest } from '../../support/send-request.js'
import { beginning, newSession } from '../../support/sessions.js'
import { tempStore } from '../../support/temp.js'

const control = (kind: 'agent.gated' | 'agent.permitted'): NewRecord => ({
  kind,
  message_id: randomUUID(),
  from: 'operator',
})

async function agentWith(store: FileStore, records: NewRecord[]): Promise<string> {
  const session = await newSession(store, { name: 'a' })
  session.append(records)
  await session.close(() => false)
  return session.id
}

/** Calls `act` once, before the step of that name for the time that is given. */
function before(point: string, time: number, act: () => void): void {
  let seen = 0
  withFaults((operation) => {
    if (operation.point === point && ++seen === time) act()
    return undefined
  })
}

async function sent(store: FileStore, id: string): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const { ctx } = contextAt(store, { drains: false })
  await deliverMessage(ctx, sendRequest(id, { ifBusy: 'queue' }), (outcome) => outcomes.push(outcome))
  return outcomes
}

test('a message whose permitted turn loses its lock is not queued a second time', async () => {
  const store = tempStore()
  const id = await agentWith(store, [control('agent.gated'), control('agent.permitted')])
  const lock = join(dirname(store.local.logPath(id)), 'lock')
  // The intent is on disk, with the message.
  before('log.append', 2, () => {
    renameSync(lock, `${lock}.replaced`)
    writeFileSync(lock, '')
  })
  await expect(sent(store, id)).rejects.toMatchObject({ code: 'LOCKED' })
  expect(openForRead(store, id)?.state.run?.prompts).toHaveLength(1)
  expect(store.mail.ids(id)).toEqual([])
})

test('a message to an agent that is gated while its interrupted turn goes on is queued', async () => {
  const store = tempStore()
  const runId = randomUUID()
  const session = await newSession(store, { name: 'a' })
  session.append(beginning(session, runId, 'earlier'))
  session.append([{ kind: 'run.interrupted', run_id: runId, reason: 'process_exit' }])
  await session.close(() => false)
  // Settling appends first, then the turn its intent.
  before('log.append', 2, () => posted(store, session.id, '', { kind: 'control', control: { verb: 'gate' } }))
  const [outcome] = await sent(store, session.id)
  expect(outcome?.failure).toBeUndefined()
  expect(openForRead(store, session.id)?.state).toMatchObject({
    gate: { isGated: true },
    run: { status: 'completed' },
  })
  expect(mailOf(store, session.id)).toContainEqual(
    expect.objectContaining({ kind: 'request', content: 'hi' }),
  )
})
