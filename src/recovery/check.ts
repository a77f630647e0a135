/**
 * A read-only audit of a home: the invariants that the other layers state, looked at from outside. The kill sweep and the
 * tests use it as their oracle.
 *
 * A finding is something that no crash may leave behind once recovery has run. What only recovery has not looked at yet
 * (an open run, a marker, a torn tail) is a finding only where `isRecovered` says that it has.
 */
import { SubstratError } from '../errors.js'
import { loadFrom } from '../session/load.js'
import { openForRead } from '../session/open-for-read.js'
import { encodeSnapshot } from '../session/snapshot.js'
import type { State } from '../session/state.js'
import type { FileStore } from '../storage/store.js'
import { checkDelivered, checkMailAtRest } from './check-mail.js'
import { checkTree } from './check-tree.js'
import type { Finding, Found } from './finding.js'

export type { Finding } from './finding.js'

export interface CheckOptions {
  /** Whether `recover --all` has run since anything was last killed. */
  isRecovered: boolean
}

export function checkHome(store: FileStore, options: CheckOptions): Finding[] {
  const findings: Finding[] = []
  for (const agentId of store.agentIds()) {
    const found = (invariant: string, detail: string): void => {
      findings.push({ agent_id: agentId, invariant, detail })
    }
    try {
      checkAgent(store, agentId, options, found)
    } catch (error) {
      if (!(error instanceof SubstratError)) throw error
      found('a log is whole up to its last batch', error.message)
    }
  }
  return [...findings, ...checkTree(store)]
}

function checkAgent(store: FileStore, agentId: string, { isRecovered }: CheckOptions, found: Found): void {
  const log = store.openLogForRead(agentId)
  if (log === undefined) {
    found('an agent that exists has its log', 'events.jsonl is missing')
    return
  }
  try {
    const { state, damage } = loadFrom(agentId, log, undefined)
    const bySnapshot = openForRead(store, agentId)?.state
    if (bySnapshot !== undefined && !encodeSnapshot(bySnapshot).equals(encodeSnapshot(state))) {
      found('the snapshot is the fold of the log', `they differ at record ${bySnapshot.last_seq}`)
    }
    checkDelivered(log, found)
    if (isRecovered) checkAtRest(store, state, damage !== undefined, found)
  } finally {
    log.close()
  }
}

function checkAtRest(store: FileStore, state: State, hasTornTail: boolean, found: Found): void {
  if (hasTornTail) found('a torn tail is cut by the first writer', 'the log ends in half a batch')
  if (store.isAgentHeld(state.id)) return
  if (state.state === 'active') found('no session is active without a holder', `state is ${state.state}`)
  checkMailAtRest(store, state, found)
}
