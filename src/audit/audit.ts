/**
 * The audit that `doctor` runs. Other commands may be writing, and the home may need recovery. The audit takes no lock and
 * writes nothing.
 *
 * A check may see a writer's step half done. A finding therefore counts only if a second check finds it again, and the
 * agent's log has not grown in between.
 */
import { sleep } from '../clock.js'
import type { State } from '../session/state.js'
import type { Holder, Store } from '../storage/store.js'
import { readForest } from '../tree/forest.js'
import { checkAgent, checkAgentQuickly } from './check-agent.js'
import { checkOperatorAndMarkers } from './check-beside.js'
import { checkFiles } from './check-files.js'
import { checkIndexes } from './check-names.js'
import { checkRows } from './check-rows.js'
import { checkTree } from './check-tree.js'
import type { Finding } from './finding.js'

const SECOND_LOOK_MS = 300

export interface AuditReport {
  findings: Finding[]
  /** The states of the agents that could be read. */
  states: Map<string, State>
  agents: number
  /** How many agents' logs were read completely. */
  whole: number
  held: { agent_id: string; holder: Holder | undefined }[]
}

/** `isWhole`: read every log completely. Otherwise only the logs of marked agents are read completely. */
export async function auditHome(
  store: Store,
  isWhole: boolean,
  secondLookMs = SECOND_LOOK_MS,
  onChecked: (done: number, total: number) => void = () => undefined,
): Promise<AuditReport> {
  const ids = store.agentIds()
  const marked = new Set(store.visits.markedIds())
  const states = new Map<string, State>()
  const sections = sectionsOf(store, (id) => isWhole || marked.has(id), states, onChecked)
  const found = sections.map((look) => look(ids))
  const held = ids.filter((id) => marked.has(id) && isHeld(store, id))
  return {
    findings: found.every((each) => each.length === 0)
      ? []
      : await lookAgain(sections, found, ids, secondLookMs),
    states,
    agents: ids.length,
    whole: isWhole ? ids.length : ids.filter((id) => marked.has(id)).length,
    held: held.map((id) => ({ agent_id: id, holder: store.holder(id) })),
  }
}

/** False if the lock has the wrong file type: `checkFiles` reports that. */
function isHeld(store: Store, agentId: string): boolean {
  try {
    return store.isHeld(agentId)
  } catch {
    return false
  }
}

/** One part of the audit. It checks only the agents in `ids`. */
type Section = (ids: string[]) => Finding[]

function sectionsOf(
  store: Store,
  isWhole: (id: string) => boolean,
  states: Map<string, State>,
  onChecked: (done: number, total: number) => void,
): Section[] {
  return [
    gather((findings, ids) => {
      for (const [index, id] of ids.entries()) {
        onChecked(index, ids.length)
        const state = (isWhole(id) ? checkAgent : checkAgentQuickly)(store, id, findings)
        if (state !== undefined) states.set(id, state)
      }
    }),
    gather((findings) => checkOperatorAndMarkers(store, findings)),
    gather((findings) => checkTree(store, findings, readForest(store))),
    gather((findings, ids) => checkIndexes(store, ids, findings)),
    gather((findings) => checkFiles(store.upkeep.survey(), store.upkeep, findings)),
    gather((findings) => checkRows(store, findings)),
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
  // A section that could not be read has not had its first check yet.
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
    // An agent that is now unreadable may still have its finding, so the read error is reported.
    return again.filter((finding) => known.has(keyOf(finding)) || isUnread(finding))
  })
}

function isUnread({ invariant }: Finding): boolean {
  return invariant === 'all files of a home can be read'
}

function keyOf({ agent_id, invariant, path, detail, last_seq }: Finding): string {
  return JSON.stringify([agent_id, invariant, path ?? detail, last_seq])
}
