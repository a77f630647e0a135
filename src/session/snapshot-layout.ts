/**
 * The order of the fields in a snapshot, and a fast reader that does not parse all of an idle agent's snapshot.
 *
 * Invariant: only this module writes and reads that order. JSON escapes a quote within a text, so no text can pass for the
 * fields after it.
 */
import type { Run, State } from './state.js'

/** A text without an escape. With one, the caller parses the whole snapshot. */
const TEXT = '"[^"\\\\]*"'
const NUMBER = '\\d+'
const FLAG = 'true|false'
const OBJECT = '\\{[^{}]*\\}'
/** The values of these fields in an idle agent. */
const GATE = { isGated: false, permits: 0 }
const RECOVERY = { last_boot_seen: null, interruption: null, barren_attempts: 0, unanswered_requests: 0 }
const NO_GATE = JSON.stringify(GATE).replace(/[{}]/g, '\\$&')
const ENDED = `\\{"run_id":${TEXT},"boot_id":${TEXT},"status":"(?:completed|failed|cancelled|interrupted)"`

/** The fields that lists show. For an idle agent `run` is null, because no column depends on an ended run. */
export type AgentSummary = Pick<
  State,
  | 'id'
  | 'name'
  | 'title'
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

/** The form of a field in an idle agent. */
interface Form {
  form: string
  /** Whether lists show it. */
  isShown: boolean
}

const hiddenField = (form: string): Form => ({ form, isShown: false })
const shownField = (form: string): Form => ({ form, isShown: true })
/** A field after `run`, which the fast reader does not match by itself. */
const later = null

/** Every field of a state, in the order of the snapshot. */
const LAYOUT: Record<keyof State, Form | null> = {
  format: hiddenField(NUMBER),
  id: shownField(TEXT),
  name: shownField(`null|${TEXT}`),
  title: shownField(`null|${TEXT}`),
  parent: shownField(`null|${TEXT}`),
  path: shownField(TEXT),
  state: shownField(TEXT),
  hold: shownField(FLAG),
  gate: hiddenField(NO_GATE),
  isPoked: hiddenField(FLAG),
  metadata: hiddenField(OBJECT),
  provider_name: shownField(TEXT),
  options: hiddenField(OBJECT),
  model: shownField(`null|${TEXT}`),
  workspace: shownField(TEXT),
  instructions: hiddenField(`null|${TEXT}|${OBJECT}`),
  allow: hiddenField('\\[[^\\][]*\\]'),
  created_at: shownField(TEXT),
  updated_at: shownField(TEXT),
  suspended_at: hiddenField(`null|${TEXT}`),
  provider_state: hiddenField(`null|${TEXT}`),
  seed: hiddenField(`null|${OBJECT}`),
  isSeedDue: hiddenField(FLAG),
  last_seq: shownField(NUMBER),
  last_offset: shownField(NUMBER),
  log_bytes: shownField(NUMBER),
  context_offset: hiddenField(NUMBER),
  context_seq: hiddenField(NUMBER),
  compaction: hiddenField(`null|${OBJECT}`),
  run: hiddenField(`null|${ENDED}`),
  reply: later,
  keys: later,
  keys_since: later,
  tokens: later,
  delivered: later,
  delivered_forgotten: later,
  owes: later,
  isDone: later,
  reminders: later,
  watchers: later,
  recovery: later,
  usage: later,
  warm: later,
  lost: later,
}

const NAMES = Object.keys(LAYOUT) as (keyof State)[]

const BEGINNING = new RegExp(
  `^${Object.entries(LAYOUT)
    .flatMap(([name, of]) => (of === null ? [] : [`"${name}":(${of.isShown ? '' : '?:'}${of.form})`]))
    .join(',')},`,
)
/**
 * `recovery` and `usage` close last, so these are fields of the state itself. A boot id and a usage have no braces in them. In
 * version 7 `recovery` is the last field.
 */
const END = new RegExp(
  `,"reminders":\\[\\],"watchers":\\[\\],"recovery":\\{(?:"last_boot_seen":(?:null|${TEXT}),)?"interruption":null,"barren_attempts":0,"unanswered_requests":0\\}(?:,"usage":(?:null|\\{[^{}]*\\}))?$`,
)
/** Longer than the end of an idle agent's snapshot, unless its boot id is very long. */
const END_CHARACTERS_MAX = 600

/** The position of each shown field in a match of `BEGINNING`. */
const PLACES = Object.fromEntries(
  NAMES.filter((name) => LAYOUT[name]?.isShown).map((name, place) => [name, place]),
) as Record<keyof State, number>

/** The fields of a state in the order of the snapshot, without undefined ones. */
export function snapshotFields(state: State): object {
  const fields: Partial<Record<keyof State, unknown>> = {}
  for (const name of NAMES) if (state[name] !== undefined) fields[name] = state[name]
  const { gate, run, recovery } = state
  fields.gate = { isGated: gate.isGated, permits: gate.permits }
  if (run !== null) fields.run = beginning(run)
  const { last_boot_seen, interruption, barren_attempts, unanswered_requests } = recovery
  fields.recovery = { last_boot_seen, interruption, barren_attempts, unanswered_requests }
  return fields
}

function beginning({ run_id, boot_id, status, ...rest }: Run): object {
  return { run_id, boot_id, status, ...rest }
}

/**
 * Reads the fields that lists show from a snapshot without its head and its checksum. Undefined if the agent is not idle, or
 * if a text has an escape.
 */
export function idleSummary(text: string): AgentSummary | undefined {
  const found = END.test(text.slice(-END_CHARACTERS_MAX)) ? BEGINNING.exec(text) : null
  if (found === null) return undefined
  // Parsed, because a substring would keep the whole text in memory.
  const values = JSON.parse(`[${found.slice(1).join(',')}]`)
  // biome-ignore lint/suspicious/noExplicitAny: the pattern has checked the form of each field.
  const shown = (name: keyof State): any => values[PLACES[name]]
  // A literal, because building the object field by field takes longer than all the code above.
  return {
    id: shown('id'),
    name: shown('name'),
    title: shown('title'),
    parent: shown('parent'),
    path: shown('path'),
    state: shown('state'),
    hold: shown('hold'),
    gate: GATE,
    provider_name: shown('provider_name'),
    model: shown('model'),
    workspace: sharedText(shown('workspace')),
    created_at: shown('created_at'),
    updated_at: shown('updated_at'),
    last_seq: shown('last_seq'),
    last_offset: shown('last_offset'),
    log_bytes: shown('log_bytes'),
    run: null,
    tokens: NONE,
    delivered: NONE,
    reminders: NONE,
    recovery: RECOVERY,
  }
}

const NONE: never[] = []
let latest = ''

/** Shares one copy of a text among consecutive agents that have the same. */
function sharedText(text: string): string {
  if (text !== latest) latest = text
  return latest
}
