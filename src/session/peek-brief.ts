/**
 * What lists show of an agent, for very many of them: of one at rest the beginning and the end of its snapshot are
 * enough, and parsing the rest would take longer than reading it. Whatever is not exactly as of an agent at rest is
 * left to `peekState`.
 *
 * Invariant: the derived status of a brief is that of the whole state.
 */
import type { FileStore } from '../storage/store.js'
import { peekState } from './peek-state.js'
import { SNAPSHOT_HEAD } from './snapshot.js'
import { shownAtRest } from './snapshot-layout.js'
import type { State } from './state.js'

/** Of an agent at rest `run` is null: its latest turn is over, and nothing that is shown comes of it. */
export type Brief = Pick<
  State,
  | 'id'
  | 'name'
  | 'parent'
  | 'path'
  | 'state'
  | 'hold'
  | 'gate'
  | 'provider_name'
  | 'model'
  | 'workspace'
  | 'created_at'
  | 'updated_at'
  | 'last_seq'
  | 'last_offset'
  | 'log_bytes'
  | 'run'
  | 'tokens'
  | 'delivered'
  | 'reminders'
  | 'recovery'
>

/** Undefined where there is no such agent. Of mail that was delivered it knows nothing: only where none waits. */
export function peekBrief(store: FileStore, agentId: string): Brief | undefined {
  const text = store.snapshots.peek(agentId, SNAPSHOT_HEAD)
  const shown = text === undefined ? undefined : shownAtRest(text)
  const brief = shown === undefined ? undefined : briefOf(shown, agentId)
  return brief !== undefined && store.snapshots.isEndOfLog(brief) ? brief : peekState(store, agentId)
}

const GATE = { isGated: false, permits: 0 }
const RECOVERY = { interruption: null, barren_attempts: 0, unanswered_requests: 0 }
const NONE: never[] = []

/** Of the fields that are shown, in the order of the layout. */
function briefOf(shown: unknown[], agentId: string): Brief | undefined {
  let at = 0
  // biome-ignore lint/suspicious/noExplicitAny: the layout has the form of each.
  const nextShown = (): any => shown[at++]
  if (nextShown() !== agentId) return undefined
  // Written out: an object that is put together field by field takes longer than all before it.
  return {
    id: agentId,
    name: nextShown(),
    parent: nextShown(),
    path: nextShown(),
    state: nextShown(),
    hold: nextShown(),
    gate: GATE,
    provider_name: nextShown(),
    model: nextShown(),
    workspace: patternOnce(nextShown()),
    created_at: nextShown(),
    updated_at: nextShown(),
    last_seq: nextShown(),
    last_offset: nextShown(),
    log_bytes: nextShown(),
    run: null,
    tokens: NONE,
    delivered: NONE,
    reminders: NONE,
    recovery: RECOVERY,
  }
}

let latest = ''

/** Very many agents have the same one: it is kept once. */
function patternOnce(text: string): string {
  if (text !== latest) latest = text
  return latest
}
