/**
 * What lists show of an agent, for very many of them: of one at rest the beginning and the end of its snapshot are
 * enough, and parsing the rest would take longer than reading it. Whatever is not exactly as of an agent at rest is
 * left to `glance`.
 *
 * Invariant: the derived status of a brief is that of the whole state.
 */
import type { FileStore } from '../storage/store.js'
import { glance } from './glance.js'
import { SNAPSHOT_HEAD } from './snapshot.js'
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
export function briefly(store: FileStore, agentId: string): Brief | undefined {
  const text = store.snapshots.peek(agentId, SNAPSHOT_HEAD)
  const brief = text === undefined ? undefined : atRest(text, agentId)
  return brief !== undefined && store.snapshots.isEndOfLog(brief) ? brief : glance(store, agentId)
}

/** One with an escape in it is left to the parser. */
const TEXT = '"[^"\\\\]*"'
const NUMBER = '\\d+'
const FLAG = 'true|false'
const OBJECT = '\\{[^{}]*\\}'
const NO_GATE = '\\{"isGated":false,"permits":0\\}'
const ENDED = `\\{"run_id":${TEXT},"boot_id":${TEXT},"status":"(?:completed|failed|cancelled|interrupted)"`

/**
 * The fields as the fold writes them, in order, to the latest turn; those that are shown are true. A quote within a text
 * is escaped, so that no text can pass for what follows it.
 */
const FIELDS: [name: string, form: string, isShown?: true][] = [
  ['format', NUMBER],
  ['id', TEXT, true],
  ['name', `null|${TEXT}`, true],
  ['title', `null|${TEXT}`],
  ['parent', `null|${TEXT}`, true],
  ['path', TEXT, true],
  ['state', TEXT, true],
  ['hold', FLAG, true],
  ['gate', NO_GATE],
  ['isPoked', FLAG],
  ['metadata', OBJECT],
  ['provider_name', TEXT, true],
  ['options', OBJECT],
  ['model', `null|${TEXT}`, true],
  ['workspace', TEXT, true],
  ['instructions', `null|${TEXT}|${OBJECT}`],
  ['allow', '\\[[^\\][]*\\]'],
  ['created_at', TEXT, true],
  ['updated_at', TEXT, true],
  ['suspended_at', `null|${TEXT}`],
  ['provider_state', `null|${TEXT}`],
  ['seed', `null|${OBJECT}`],
  ['isSeedDue', FLAG],
  ['last_seq', NUMBER, true],
  ['last_offset', NUMBER, true],
  ['log_bytes', NUMBER, true],
  ['context_offset', NUMBER],
  ['context_seq', NUMBER],
  ['compaction', `null|${OBJECT}`],
  ['run', `null|${ENDED}`],
]
const BEGINNING = new RegExp(
  `^${FIELDS.map(([name, form, isShown]) => `"${name}":${isShown === true ? `(${form})` : `(?:${form})`}`).join(',')},`,
)
/** Of the line without its checksum: the last brace is that of `recovery`, so these are fields of the state itself. */
const END =
  ',"reminders":[],"watchers":[],"recovery":{"interruption":null,"barren_attempts":0,"unanswered_requests":0}'

const GATE = { isGated: false, permits: 0 }
const RECOVERY = { interruption: null, barren_attempts: 0, unanswered_requests: 0 }
const NONE: never[] = []

function atRest(text: string, agentId: string): Brief | undefined {
  // Not by endsWith, which compares letter by letter.
  const found = text.slice(-END.length) === END ? BEGINNING.exec(text) : null
  return found === null ? undefined : briefOf(found.slice(1), agentId)
}

/** Of the fields that are shown, in their order. Parsed, not cut out: a piece of a text keeps all of it in memory. */
function briefOf(shown: string[], agentId: string): Brief | undefined {
  const values = JSON.parse(`[${shown.join(',')}]`)
  let at = 0
  const next = () => values[at++]
  if (next() !== agentId) return undefined
  // Written out: an object that is put together field by field takes longer than all before it.
  return {
    id: agentId,
    name: next(),
    parent: next(),
    path: next(),
    state: next(),
    hold: next(),
    gate: GATE,
    provider_name: next(),
    model: next(),
    workspace: again(next()),
    created_at: next(),
    updated_at: next(),
    last_seq: next(),
    last_offset: next(),
    log_bytes: next(),
    run: null,
    tokens: NONE,
    delivered: NONE,
    reminders: NONE,
    recovery: RECOVERY,
  }
}

let latest = ''

/** Very many agents have the same one: it is kept once. */
function again(text: string): string {
  if (text !== latest) latest = text
  return latest
}
