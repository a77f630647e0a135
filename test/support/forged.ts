/** Agents in states that only manual edits produce. */
import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { encodeBatch } from '../../src/session/batch.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { type AgentFacts, createdRecord } from './sessions.js'

/** Replaces its log by a new first record with these facts and a valid checksum. */
export function rewriteBirth(store: FileStore, agentId: string, facts: AgentFacts): void {
  const log = store.local.logPath(agentId)
  writeFileSync(log, encodeBatch(undefined, [createdRecord(agentId, facts)]).bytes)
  rmSync(join(dirname(log), 'session.json'))
}

/** Makes the log unreadable. */
export function spoil(store: FileStore, agentId: string): void {
  const log = store.local.logPath(agentId)
  writeFileSync(log, 'garbage\n')
  rmSync(join(dirname(log), 'session.json'), { force: true })
}

/** The index of the names of its children. */
export function childrenDirectory(store: FileStore, agentId: string): string {
  return join(dirname(store.local.logPath(agentId)), 'children')
}
