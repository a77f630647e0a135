/** What stands beside the logs and is nobody's truth: requests, edges of waits, servers that are kept, markers. */
import type { State } from '../session/state.js'
import type { FileStore } from '../storage/store.js'
import { checkOperatorMail } from './check-mail.js'
import { type AddFinding, addFindingTo, type Finding, unlessUnreadable } from './finding.js'

export function checkBesideLog(store: FileStore, state: State, found: AddFinding): void {
  const openRun = state.run?.status === 'open' ? state.run.run_id : undefined
  for (const { runId, verb } of store.requests.requestsTo(state.id)) {
    // A holder takes them away when its run is over, or the next one does.
    if (runId !== openRun && !store.isAgentHeld(state.id))
      found(
        'a stop request names the open run',
        `to ${verb} run ${runId}, which is over`,
        store.upkeep.requestPath(state.id, runId, verb),
      )
  }
  for (const path of store.waits.leftBy(state.id))
    found('a recorded wait between agents has its process', 'its process is gone', path)
  if (state.warm === undefined && store.upkeep.hasServerFiles(state.id) && !store.isAgentHeld(state.id))
    found('a recorded server has its agent', 'the agent has no server')
}

/** What is no agent's: the operator's mail, and the lists of agents. */
export function checkOperatorAndMarkers(store: FileStore, findings: Finding[]): void {
  const found = addFindingTo(findings, null)
  unlessUnreadable(store.root, found, () => checkOperatorMail(store, found))
  unlessUnreadable(store.root, found, () => checkMarkers(store, found))
}

/** A spawn makes its staging directory, its marker and its agent, in this order. */
function checkMarkers(store: FileStore, found: AddFinding): void {
  const isThere = (id: string): boolean => store.isSpawning(id) || store.hasAgent(id)
  for (const id of store.markedIds())
    if (!isThere(id)) found('a marker belongs to an agent', `there is no agent ${id}`)
  for (const { agentId } of store.keptServers.uses())
    if (!isThere(agentId)) found('a recorded server has its agent', `there is no agent ${agentId}`)
}
