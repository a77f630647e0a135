/** The visits of recovery to the agent of a case. */
import { randomUUID } from 'node:crypto'
import type { Operation } from '../../src/host/disk/operation.js'
import { type SettleOptions, type SettleResult, settle } from '../../src/recovery/settle.js'
import type { SessionRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { isSync } from '../support/operations.js'
import { newSession, reopen } from '../support/sessions.js'
import { POLICY } from '../support/turns.js'
import { providersOf, type RecoveryCase } from './cases.js'

/** Creates the agent of a case as its dead process left it. */
export async function left(
  store: FileStore,
  { provider, before, inbox = [] }: RecoveryCase,
): Promise<string> {
  const session = await newSession(store, { provider, workspace: '/w' })
  for (const batch of before(randomUUID(), session)) session.append(batch)
  for (const id of inbox) store.mail.put(session.id, id, { a: 'message' })
  await session.abandon()
  return session.id
}

export function optionsOf(inspect: Parameters<typeof providersOf>[0], notes: string[]): SettleOptions {
  return {
    providers: providersOf(inspect),
    policy: POLICY,
    unknownTool: 'stop',
    continuesTurn: true,
    note: (text) => void notes.push(text),
  }
}

export interface Visited {
  settled: SettleResult
  notes: string[]
  before: SessionRecord[]
  after: SessionRecord[]
}

/** Settles the agent, and dies before the clean close of the session. */
export async function visit(
  store: FileStore,
  agentId: string,
  { inspect, continuesTurn, unknownTool = 'stop' }: RecoveryCase,
): Promise<Visited> {
  const session = await reopen(store, agentId)
  const notes: string[] = []
  try {
    const before = records(session)
    const settled = await settle(session, {
      ...optionsOf(inspect, notes),
      unknownTool,
      continuesTurn,
    })
    return { settled, notes, before, after: records(session) }
  } finally {
    await session.abandon()
  }
}

function records(session: Session): SessionRecord[] {
  return [...session.records({ seq: 1, offset: 0 })]
}

/** Whether the step changes what is on disk. */
export function changes(operation: Operation): boolean {
  return operation.name !== 'read' && operation.mode !== 'read' && !isSync(operation)
}
