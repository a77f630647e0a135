/**
 * The content of a home in a form that two histories can be compared by: the agents, their prompts and replies. Ids,
 * times and the number of interruptions are left out.
 */
import { existsSync } from 'node:fs'
import { OPERATOR } from '../../src/format.js'
import { messagesIn } from '../../src/mail/stored-messages.js'
import type { SessionRecord } from '../../src/session/records.js'
import { FileStore } from '../../src/storage/file-store.js'
import { type AgentSeen, HomeView } from '../support/home-view.js'

/** Returns one line of text for each fact. */
export function viewOf(home: string): string[] {
  const store = existsSync(home) ? FileStore.openForRead(home) : undefined
  if (store === undefined) return []
  const { agents } = HomeView.read(home)
  const lines = agents.flatMap((agent) => linesOf(agent))
  const mail = [...messagesIn(store, OPERATOR)].map(
    ({ from_path, kind, content }) => `operator: ${kind} from ${from_path}: ${content}`,
  )
  const config = store.readConfig()?.toString('utf8') ?? 'none'
  return [...lines, ...mail.filter((line) => !line.startsWith('operator: error')), `settings: ${config}`]
    .map(withoutIds)
    .sort()
}

function linesOf({ state, records, text, pending }: AgentSeen): string[] {
  const { path } = state
  const turns = [...turnsOf(records).values()].map((turn) => lineOf(turn, textOrDamage(text)))
  return [
    `${path}: ${state.state}${state.hold ? ', on hold' : ''}${state.gate.isGated ? ', gated' : ''}, ${state.provider_name}, ${state.title ?? ''}`,
    `${path}: ${state.outbound?.length ?? 0} outbound messages, ${pending.length} wait, ${state.tokens.filter(({ status }) => status === 'minted').length} tokens`,
    ...turns.filter((line) => line !== undefined).map((line) => `${path}: ${line}`),
  ]
}

/** The records of a run and of its continuations, by the id of the first. */
function turnsOf(records: SessionRecord[]): Map<string, SessionRecord[]> {
  const first = new Map<string, string>()
  const turns = new Map<string, SessionRecord[]>()
  for (const record of records) {
    if (!('run_id' in record) || record.run_id === undefined) continue
    if (record.kind === 'run.started')
      first.set(record.run_id, first.get(record.continues ?? '') ?? record.run_id)
    const turn = first.get(record.run_id) ?? record.run_id
    turns.set(turn, [...(turns.get(turn) ?? []), record])
  }
  return turns
}

const ENDS = ['run.completed', 'run.failed', 'run.cancelled', 'run.interrupted', 'run.waiting']

/** Undefined for a turn that only reports another agent's interruption to its agent. A fault causes some of those. */
function lineOf(turn: SessionRecord[], text: (record: SessionRecord) => string): string | undefined {
  const prompts = turn.filter(
    (record) =>
      (record.kind === 'message.user' && record.origin !== 'continuation') ||
      (record.kind === 'mail.delivered' && record.call_id === undefined),
  )
  const isError = (record: SessionRecord): boolean =>
    record.kind === 'mail.delivered' && record.mail_kind === 'error'
  if (prompts.length > 0 && prompts.every(isError)) return undefined
  const asked = prompts.filter((record) => !isError(record)).map((record) => promptOf(record, text))
  const replies = turn.filter(({ kind }) => kind === 'message.agent').map(text)
  const end = turn.findLast(({ kind }) => ENDS.includes(kind))
  return JSON.stringify({ asked, replies, end: endOf(end) })
}

function promptOf(record: SessionRecord, text: (record: SessionRecord) => string): string {
  if (record.kind !== 'mail.delivered') return short(text(record))
  return `${record.mail_kind} from ${record.from_path ?? record.from}: ${short(text(record))}`
}

function endOf(end: SessionRecord | undefined): string {
  if (end === undefined) return 'open'
  return end.kind === 'run.waiting' ? `waits for ${end.wait}` : end.kind
}

function short(text: string): string {
  return text.length > 100 ? `${text.slice(0, 40)}… (${text.length})` : text
}

function withoutIds(text: string): string {
  return text.replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, '<id>')
}

/** Continues past a damaged blob, whose text is missing from the view. */
function textOrDamage(text: (record: SessionRecord) => string): (record: SessionRecord) => string {
  return (record) => {
    try {
      return text(record)
    } catch {
      return 'damaged'
    }
  }
}
