/** Agents created without the command line. */
import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { FORMAT } from '../../src/format.js'
import { bootId } from '../../src/host/identity.js'
import { recordsFrom } from '../../src/session/load.js'
import type { NewRecord, SessionRecord } from '../../src/session/records.js'
import { openForAppend, type Session } from '../../src/session/session.js'
import type { Store } from '../../src/storage/store.js'
import { createAgent, type TreeBounds } from '../../src/tree/create-agent.js'
import { completedRecord, reply } from '../../src/turn/step/records.js'

export interface AgentFacts {
  name?: string | null
  /** The parent's id; null for a root. */
  parent?: string | null
  path?: string
  provider?: string
  options?: Record<string, string>
  workspace?: string
}

export function createdRecord(id: string, facts: AgentFacts = {}): NewRecord<'session.created'> {
  return {
    kind: 'session.created',
    agent_id: id,
    format: FORMAT,
    name: facts.name ?? null,
    parent: facts.parent ?? null,
    ...(facts.path === undefined ? {} : { path: facts.path }),
    instructions: null,
    provider: facts.provider ?? 'scripted',
    options: facts.options ?? {},
    model: null,
    workspace: facts.workspace ?? tmpdir(),
  }
}

export const TREE_BOUNDS: TreeBounds = {
  depthMax: 8,
  childrenMax: 1000,
  workspaceScope: 'host',
  context: 'all',
}

/** A new agent, with its lock held. */
export function newSession(
  store: Store,
  facts: AgentFacts = {},
  id: string = randomUUID(),
): Promise<Session> {
  const { name = null, parent = null } = facts
  const records = ({ path }: { path: string }): NewRecord[] => [
    createdRecord(id, parent === null ? facts : { ...facts, path }),
  ]
  return createAgent(store, { id, name, parent, records, command: 'test' }, TREE_BOUNDS)
}

let latestMs = 0

/** A new idle agent; returns its id. Each gets its own millisecond, because lists are ordered by time. */
export async function newAgent(store: Store, facts: AgentFacts = {}): Promise<string> {
  if (Date.now() === latestMs) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2)
  const session = await newSession(store, facts)
  await session.close(() => false)
  latestMs = Date.now()
  return session.id
}

/** Terminates it by its record alone. */
export async function terminate(store: Store, agentId: string): Promise<void> {
  const session = await reopen(store, agentId)
  session.append([{ kind: 'session.terminated' }])
  await session.close(() => false)
}

export function reopen(store: Store, agentId: string): Promise<Session> {
  return openForAppend(store, agentId, { command: 'test', waitMs: 0 })
}

/** All records of the log; empty if there is no log. */
export function recordsOf(store: Store, agentId: string): SessionRecord[] {
  const log = store.openLog(agentId)
  if (log === undefined) return []
  try {
    return [...recordsFrom(log, { seq: 1, offset: 0 })].map(({ record }) => record)
  } finally {
    log.close()
  }
}

export function startedRun(runId: string, key?: string): NewRecord<'run.started'> {
  return {
    kind: 'run.started',
    run_id: runId,
    boot_id: bootId(),
    origin: 'operator',
    provider: 'scripted',
    model: null,
    options: {},
    ...(key === undefined ? {} : { key }),
  }
}

export function userMessage(runId: string, content: string): NewRecord<'message.user'> {
  return { kind: 'message.user', message_id: randomUUID(), run_id: runId, content, origin: 'operator' }
}

/** The first records of a run. Activates the session if necessary. */
export function beginning(session: Session, runId: string, content: string): NewRecord[] {
  const activated: NewRecord[] =
    session.state.state === 'active' ? [] : [{ kind: 'session.activated', boot_id: bootId() }]
  return [...activated, startedRun(runId), userMessage(runId, content)]
}

export function replied(runId: string, content: string, steps = 0): NewRecord {
  return reply({ run_id: runId, steps }, content)
}

/** A complete turn: prompt, reply, idle. */
export function appendTurn(session: Session, content: string, answer: string): string {
  const runId = randomUUID()
  session.append([...beginning(session, runId, content), { kind: 'model.requested', run_id: runId }])
  session.append([
    replied(runId, answer),
    { kind: 'model.responded', run_id: runId, stop: 'end' },
    completedRecord(runId, null),
    { kind: 'session.suspended', reason: 'idle' },
  ])
  return runId
}
