/** Agents as only somebody who edits files can leave them. */
import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { encodeBatch } from '../../src/session/batch.js'
import type { FileStore } from '../../src/storage/store.js'
import { type AgentFacts, createdRecord } from './sessions.js'

/** Its log begins anew with these facts, whole to its last checksum. */
export function rewriteBirth(store: FileStore, agentId: string, facts: AgentFacts): void {
  const log = store.logPath(agentId)
  writeFileSync(log, encodeBatch(undefined, [createdRecord(agentId, facts)]).bytes)
  rmSync(join(dirname(log), 'session.json'))
}

/** Nothing of it can be read any more. */
export function spoil(store: FileStore, agentId: string): void {
  const log = store.logPath(agentId)
  writeFileSync(log, 'garbage\n')
  rmSync(join(dirname(log), 'session.json'), { force: true })
}

/** The index of names below it. */
export function childrenDirectory(store: FileStore, agentId: string): string {
  return join(dirname(store.logPath(agentId)), 'children')
}
