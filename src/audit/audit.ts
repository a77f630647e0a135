/**
 * The audit as `doctor` runs it: beside living writers, on a home that nobody may have recovered. It takes no lock and writes
 * nothing.
 *
 * What is seen while somebody writes may be half of a step, so whatever is found is looked for once more: it counts where it
 * is there both times, and where the agent's log has not gone on meanwhile.
 */
import { sleep } from '../clock.js'
import type { State } from '../session/state.js'
import { FileStore, type Holder } from '../storage/store.js'
import { readForest } from '../tree/forest.js'
import { checkAgent, checkAgentQuickly } from './check-agent.js'
import { checkOperatorAndMarkers } from './check-beside.js'
import { checkFiles } from './check-files.js'
import { checkIndexes } from './check-names.js'
import { checkTree } from './check-tree.js'
import type { Finding } from './finding.js'

const SECOND_LOOK_MS = 300

export interface AuditReport {
  findings: Finding[]
  /** Of each agent that can be read. */
  states: Map<string, State>
  agents: number
  /** How many were read to the last byte of their logs. */
  whole: number
  held: { agent_id: string; holder: Holder | undefined }[]
}

/** `isWhole`: every agent to the last byte; else only those that a writer has left, or is in. */
export async function auditHome(
  store: FileStore,
  isWhole: boolean,
  secondLookMs = SECOND_LOOK_MS,
): Promise<AuditReport> {
  const ids = store.agentIds()
  const marked = new Set(store.markedIds())
  const states = new Map<string, State>()
  const sections = sectionsOf(store, (id) => isWhole || marked.has(id), states)
  const found = sections.map((look) => look(ids))
  const held = ids.filter((id) => marked.has(id) && isHeld(store, id))
  return {
    findings: found.every((each) => each.length === 0)
      ? []
      : await lookAgain(sections, found, ids, secondLookMs),
    states,
    agents: ids.length,
    whole: isWhole ? ids.length : ids.filter((id) => marked.has(id)).length,
    held: held.map((id) => ({ agent_id: id, holder: store.agentHolder(id) })),
  }
}

/** What stands in the place of a lock and cannot be one is found by its kind. */
function isHeld(store: FileStore, agentId: string): boolean {
  try {
    return store.isAgentHeld(agentId)
  } catch {
    return false
  }
}

/** Given the agents that it is to look at. */
type Section = (ids: string[]) => Finding[]

function sectionsOf(
  store: FileStore,
  isWhole: (id: string) => boolean,
  states: Map<string, State>,
): Section[] {
  return [
    gather((findings, ids) => {
      for (const id of ids) {
        const state = (isWhole(id) ? checkAgent : checkAgentQuickly)(store, id, findings)
        if (state !== undefined) states.set(id, state)
      }
    }),
    gather((findings) => checkOperatorAndMarkers(store, findings)),
    gather((findings) => checkTree(store, findings, readForest(store))),
    gather((findings, ids) => checkIndexes(store, ids, findings)),
    gather((findings) => checkFiles(FileStore.survey(store.root), store.upkeep, findings)),
  ]
}

function gather(look: (findings: Finding[], ids: string[]) => void): Section {
  return (ids) => {
    const findings: Finding[] = []
    look(findings, ids)
    return findings
  }
}

async function lookAgain(
  sections: Section[],
  found: Finding[][],
  ids: string[],
  pauseMs: number,
): Promise<Finding[]> {
  await sleep(pauseMs)
  // What could not be read at first has not been looked at once.
  const first = sections.map((look, index) => {
    const before = found[index] ?? []
    return before.some(isUnread) ? look(ids) : before
  })
  if (found.some((each) => each.some(isUnread))) await sleep(pauseMs)
  return sections.flatMap((look, index) => {
    const before = first[index] ?? []
    if (before.length === 0) return []
    const known = new Set(before.map(keyOf))
    const of = new Set(before.map(({ agent_id }) => agent_id))
    const again = look(before.some(isUnread) ? ids : [...of].filter((id) => id !== null))
    // What cannot be looked at any more may still be as it was found.
    return again.filter((finding) => known.has(keyOf(finding)) || isUnread(finding))
  })
}

function isUnread({ invariant }: Finding): boolean {
  return invariant === 'all files of a home can be read'
}

function keyOf({ agent_id, invariant, path, detail, last_seq }: Finding): string {
  return JSON.stringify([agent_id, invariant, path ?? detail, last_seq])
}
