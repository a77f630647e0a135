/** Checks the files beside the logs that only help commands: stop requests, recorded waits, kept servers, markers. */
import type { State } from '../session/state.js'
import type { Store } from '../storage/store.js'
import { checkOperatorMail } from './check-mail.js'
import { type AddFinding, addFindingTo, type Finding, unlessUnreadable } from './finding.js'

export function checkBesideLog(store: Store, state: State, found: AddFinding): void {
  const openRun = state.run?.status === 'open' ? state.run.run_id : undefined
  for (const { runId, verb } of store.requests.requestsTo(state.id)) {
    // The holder removes the requests as it unmarks the agent. Otherwise the next holder does, and the marker leads to it.
    if (runId !== openRun && !store.isHeld(state.id) && !store.visits.isMarked(state.id))
      found(
        'a stop request names the open run',
        `a request to ${verb} run ${runId} is left, but the run has ended`,
        store.upkeep.requestPath(state.id, runId, verb),
      )
  }
  for (const path of store.upkeep.waitsLeft(state.id))
    found('a recorded wait has its process', `the process that recorded ${path} has died`, path)
  if (state.warm === undefined && store.upkeep.hasServerFiles(state.id) && !store.isHeld(state.id))
    found('a recorded server has its agent', 'a server is recorded, but not in the log of the agent')
}

/** Checks the operator's mail, the markers and the recorded servers, which belong to the home. */
export function checkOperatorAndMarkers(store: Store, findings: Finding[]): void {
  const found = addFindingTo(findings, null)
  unlessUnreadable(store.address, found, () => checkOperatorMail(store, found))
  unlessUnreadable(store.address, found, () => checkMarkers(store, found))
}

/** A spawn creates its staging directory, its marker and its agent, in this order. */
function checkMarkers(store: Store, found: AddFinding): void {
  const isThere = (id: string): boolean => store.upkeep.isSpawning(id) || store.hasAgent(id)
  for (const id of store.visits.markedIds())
    if (!isThere(id)) found('a marker belongs to an agent', `agent ${id} is marked, but does not exist`)
  for (const { agentId } of store.local.keptServers.uses())
    if (!isThere(agentId))
      found('a recorded server has its agent', `agent ${agentId} has a recorded server, but does not exist`)
}
