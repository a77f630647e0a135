/**
 * The order of the fields in a snapshot, and a fast reader that does not parse all of an idle agent's snapshot.
 *
 * Invariant: only this module writes and reads that order. JSON escapes a quote within a text, so no text can pass for the
 * fields after it.
 */
import type { Run, RunStatus, State } from './state.js'

/** A text without an escape. With one, the caller parses the whole snapshot. */
const CHARACTERS = '[^"\\\\]*'
/** The same, of characters that are the same byte in Latin-1 and UTF-8. */
const ASCII_ONLY = '[^"\\\\\\x80-\\xff]*'
const TEXT = `"${CHARACTERS}"`
const NUMBER = '\\d+'
const FLAG = 'true|false'
const OBJECT = '\\{[^{}]*\\}'
/** The values of these fields in an idle agent. */
const GATE = { isGated: false, permits: 0 }
const RECOVERY = { last_boot_seen: null, interruption: null, barren_attempts: 0, unanswered_requests: 0 }
const NO_GATE = JSON.stringify(GATE).replace(/[{}]/g, '\\$&')
/** A cancelled run is not among them: lists also show its reason, which is further on. */
const ENDED = `\\{"run_id":${TEXT},"boot_id":${TEXT},"status":"(completed|failed|interrupted)"`

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
  | 'allow'
  | 'created_at'
  | 'updated_at'
  | 'last_seq'
  | 'last_offset'
  | 'log_bytes'
  | 'run'
  | 'tokens'
  | 'delivered'
  | 'reminders'
  | 'schedules'
  | 'recovery'
  | 'refused'
  | 'budget'
  | 'moved'
> & {
  /** The status of the ended run, if `run` is null only because this is a summary. */
  ended?: RunStatus | undefined
}

/** The form of a field in an idle agent. */
interface Form {
  form: string
  /** Whether lists show it. */
  isShown: boolean
}

const hiddenField = (form: string): Form => ({ form: `(?:${form})`, isShown: false })
const shownField = (form: string): Form => ({ form, isShown: true })
const shownText = shownField(`"(${CHARACTERS})"`)
const shownTextOrNull = shownField(`(?:null|"(${CHARACTERS})")`)
const shownNumber = shownField(`(${NUMBER})`)
/** A field after `run`, which the fast reader does not match by itself. */
const later = null

/**
 * Every field of a state, in the order of the snapshot. `log_crc` describes the log, not the state. It comes
 * where the fast readers of earlier versions match no fields.
 */
const LAYOUT: Record<keyof State | 'log_crc', Form | null> = {
  format: hiddenField(NUMBER),
  id: shownText,
  name: shownTextOrNull,
  title: shownTextOrNull,
  parent: shownTextOrNull,
  path: shownText,
  state: shownText,
  hold: shownField(`(${FLAG})`),
  gate: hiddenField(NO_GATE),
  isPoked: hiddenField(FLAG),
  metadata: hiddenField(OBJECT),
  provider_name: shownText,
  options: hiddenField(OBJECT),
  model: shownTextOrNull,
  workspace: shownText,
  instructions: hiddenField(`null|${TEXT}|${OBJECT}`),
  /** In ASCII, so that the entries read the same in Latin-1. */
  allow: shownField('\\[([^\\][\\x80-\\uffff]*)\\]'),
  created_at: shownText,
  updated_at: shownText,
  suspended_at: hiddenField(`null|${TEXT}`),
  provider_state: hiddenField(`null|${TEXT}`),
  seed: hiddenField(`null|${OBJECT}`),
  isSeedDue: hiddenField(FLAG),
  last_seq: shownNumber,
  last_offset: shownNumber,
  log_bytes: shownNumber,
  context_offset: hiddenField(NUMBER),
  context_seq: hiddenField(NUMBER),
  compaction: hiddenField(`null|${OBJECT}`),
  run: shownField(`(?:null|${ENDED})`),
  log_crc: later,
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
  workspace_host: later,
  warm: later,
  lost: later,
  imported: later,
  outbound: later,
  channel: later,
  timed_out: later,
  refused: later,
  grants: later,
  on_unknown: later,
  context: later,
  schedules: later,
  budget: later,
  moved: later,
}

const NAMES = Object.keys(LAYOUT) as (keyof typeof LAYOUT)[]

/**
 * `recovery`, `usage` and `workspace_host` close last, so these are fields of the state itself. A boot id, a usage and a host name
 * have no braces in them. In version 7 `recovery` is the last field.
 */
const END_BEGINS = ',"reminders":[],'
const END = new RegExp(
  `,"reminders":\\[\\],"watchers":\\[\\],"recovery":\\{(?:"last_boot_seen":(?:null|${TEXT}),)?"interruption":null,"barren_attempts":0,"unanswered_requests":0\\}(?:,"usage":(?:null|\\{[^{}]*\\}))?(?:,"workspace_host":\\{[^{}]*\\})?$`,
  'y',
)
/** Longer than the end of an idle agent's snapshot, unless its boot id or host name is very long. */
const END_CHARACTERS_MAX = 900

/** The capture of each shown field. */
const AT = Object.fromEntries(
  NAMES.filter((name) => LAYOUT[name]?.isShown).map((name, index) => [name, index + 1]),
) as Record<keyof State, number>

/** The fields of a snapshot in their order, without undefined ones. */
export function snapshotFields(state: State, log_crc: string | undefined): object {
  const known = { ...state, log_crc }
  const fields: Partial<Record<keyof typeof LAYOUT, unknown>> = {}
  for (const name of NAMES) if (known[name] !== undefined) fields[name] = known[name]
  const { gate, run, recovery } = state
  fields.gate = { isGated: gate.isGated, permits: gate.permits }
  if (run !== null) fields.run = beginning(run)
  fields.recovery = orderedRecovery(recovery)
  const { moved } = state
  if (moved !== undefined)
    fields.moved = {
      ...moved,
      run: moved.run === null ? null : beginning(moved.run),
      recovery: orderedRecovery(moved.recovery),
    }
  return fields
}

function orderedRecovery(recovery: State['recovery']): State['recovery'] {
  const { last_boot_seen, interruption, barren_attempts, unanswered_requests } = recovery
  return { last_boot_seen, interruption, barren_attempts, unanswered_requests }
}

function beginning({ run_id, boot_id, status, ...rest }: Run): object {
  return { run_id, boot_id, status, ...rest }
}

/**
 * Reads the fields that lists show from that agent's snapshot, given without its head and its checksum, and decoded as Latin-1.
 * Undefined if the agent is not idle, or if a text has an escape.
 */
export function idleSummary(latin1: string, agentId: string): AgentSummary | undefined {
  const found = matchOfIdle(latin1)
  if (found?.[AT.id] !== agentId) return undefined
  const [path, title, parent] = [found[AT.path] as string, found[AT.title], found[AT.parent]]
  const [created, updated] = [found[AT.created_at], found[AT.updated_at]] as [string, string]
  const [name, model] = [found[AT.name], found[AT.model]]
  // One short copy: the parts of a match keep the whole snapshot in memory.
  const copy = `${path}${created}${updated}${title ?? ''}${parent ?? ''}${name ?? ''}`
  const createdAt = path.length
  const updatedAt = createdAt + created.length
  const titleAt = updatedAt + updated.length
  const parentAt = titleAt + (title?.length ?? 0)
  const nameAt = parentAt + (parent?.length ?? 0)
  // A literal, because building the object field by field, or with JSON.parse, takes longer than all the code above.
  return {
    id: agentId,
    name: name === undefined ? null : copy.slice(nameAt),
    title: title === undefined ? null : copy.slice(titleAt, parentAt),
    parent: parent === undefined ? null : copy.slice(parentAt, nameAt),
    path: copy.slice(0, createdAt),
    state: STATE.shared(found[AT.state] as string) as State['state'],
    hold: found[AT.hold] === 'true',
    gate: GATE,
    provider_name: PROVIDER.shared(found[AT.provider_name] as string),
    model: model === undefined ? null : MODEL.shared(model),
    workspace: WORKSPACE.shared(found[AT.workspace] as string),
    allow: found[AT.allow] === '' ? NONE : JSON.parse(`[${found[AT.allow]}]`),
    created_at: copy.slice(createdAt, updatedAt),
    updated_at: copy.slice(updatedAt, titleAt),
    last_seq: Number(found[AT.last_seq]),
    last_offset: Number(found[AT.last_offset]),
    log_bytes: Number(found[AT.log_bytes]),
    run: null,
    ended: found[AT.run] as RunStatus | undefined,
    tokens: NONE,
    delivered: NONE,
    reminders: NONE,
    recovery: RECOVERY,
  }
}

const NONE: never[] = []

/** Shares one copy of a text among consecutive agents that have the same. */
class Latest {
  private text = ''

  shared(text: string): string {
    if (text !== this.text) this.text = Buffer.from(text).toString()
    return this.text
  }
}

const [STATE, PROVIDER, MODEL, WORKSPACE] = [new Latest(), new Latest(), new Latest(), new Latest()]

let patterns: { ofAscii: RegExp; ofAny: RegExp } | undefined

/** A capture for each shown field, undefined for null. */
function matchOfIdle(latin1: string): RegExpExecArray | null {
  END.lastIndex = latin1.indexOf(END_BEGINS, latin1.length - END_CHARACTERS_MAX)
  if (END.lastIndex < 0 || !END.test(latin1)) return null
  patterns ??= { ofAscii: beginningWith(ASCII_ONLY), ofAny: beginningWith(CHARACTERS) }
  return patterns.ofAscii.exec(latin1) ?? patterns.ofAny.exec(Buffer.from(latin1, 'latin1').toString())
}

function beginningWith(characters: string): RegExp {
  const fields = Object.entries(LAYOUT).flatMap(([name, of]) => (of === null ? [] : [`"${name}":${of.form}`]))
  return new RegExp(`^${fields.join(',').replaceAll(`(${CHARACTERS})`, `(${characters})`)},`)
}
