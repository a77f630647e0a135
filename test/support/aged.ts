/** An agent of some age: keyed turns, written directly to its log. */
import { randomUUID } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { encodeBatch } from '../../src/session/batch.js'
import { openForRead } from '../../src/session/load.js'
import type { NewRecord } from '../../src/session/records.js'
import type { State } from '../../src/session/state.js'
import type { Store } from '../../src/storage/store.js'
import { replied, startedRun, userMessage } from './sessions.js'

/** The records of a completed turn, in its two batches. */
export function keyedTurn(key: string | undefined): NewRecord[][] {
  const run_id = randomUUID()
  return [
    [{ kind: 'session.activated', boot_id: 'x' }, startedRun(run_id, key), userMessage(run_id, 'report')],
    [
      replied(run_id, 'done'),
      { kind: 'run.completed', run_id },
      { kind: 'session.suspended', reason: 'idle' },
    ],
  ]
}

/** Appends turns with these keys, as if each process had been killed before it wrote a snapshot. */
export function appendKeyedTurns(store: Store, agentId: string, keys: (string | undefined)[]): State {
  let state = openForRead(store, agentId)?.state as State
  const chunks: Buffer[] = []
  for (const records of keys.flatMap(keyedTurn)) {
    const batch = encodeBatch(state, records)
    state = batch.state
    chunks.push(batch.bytes)
  }
  appendFileSync(store.local.logPath(agentId), Buffer.concat(chunks))
  return state
}
