import { expect, test, vi } from 'vitest'
import { listAgents, showAgent } from '../../src/operations/list-and-show.js'
import type { Session } from '../../src/session/session.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { completedRecord } from '../../src/turn/step/records.js'
import { beginning, newSession, replied } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const RUN = '00000000-0000-4000-8000-000000000001'

async function atWork(): Promise<{ store: FileStore; session: Session }> {
  const store = tempStore()
  const session = await newSession(store, { name: 'a' })
  session.append(beginning(session, RUN, 'hi'))
  return { store, session }
}

/** The holder ends its turn after the log is read, and has released the lock when it is probed. */
function endBeforeProbe(store: FileStore, session: Session): void {
  vi.spyOn(store, 'isHeld').mockImplementation(() => {
    if (session.state.run?.status === 'open')
      session.append([replied(RUN, 'done'), completedRecord(RUN, null)])
    return false
  })
}

test('a turn that ends between the look at the log and the probe of the lock was not interrupted', async () => {
  const { store, session } = await atWork()
  endBeforeProbe(store, session)
  expect(showAgent(store, session.id)).toMatchObject({ agent: { status: 'running' }, reply: null })
  expect(showAgent(store, session.id)).toMatchObject({ agent: { status: 'idle' }, reply: 'done' })
  await session.abandon()
})

test('a list does not call such a turn interrupted either', async () => {
  const { store, session } = await atWork()
  endBeforeProbe(store, session)
  expect(listAgents(store, { roots: false, all: false })).toMatchObject([{ status: 'running' }])
  await session.abandon()
})

test('an open turn whose log stays as it is was interrupted', async () => {
  const { store, session } = await atWork()
  await session.abandon()
  expect(showAgent(store, session.id).agent.status).toBe('interrupted_startup')
})
