/** The output of `log` without `--json`: one entry per record. Messages are printed in full, other records in one line. */
import { readableTime } from '../../clock.js'
import { callText } from '../../dispatch/call-text.js'
import { actorText, isReader, type Reader } from '../../schema/actors.js'
import type { Actor, Content } from '../../schema/types.js'
import { refillText } from '../../session/budget/caps.js'
import { type EntryOf, entryOf } from '../../session/entries.js'
import type { SessionRecord } from '../../session/records.js'

/** Returns the content of a message. */
type ReadText = (content: Content) => string

/**
 * Whether `log` prints an entry for the record. `all`: also the life of tokens, which matters only to those who look for it. The
 * records come in the order of the log, or in reverse.
 */
export function shownFilter(all = false): (record: SessionRecord) => boolean {
  let latestWait = ''
  return (record) => {
    const entry = entryOf(record)
    if (entry.type === 'resumption') latestWait = ''
    if (entryText(record, () => '') === undefined) return false
    if (all) return true
    if (entry.type !== 'wait') return entry.type !== 'token' && entry.type !== 'expiry'
    // A new token for the same wait.
    const { run_id, wait, asks = [], not_before } = entry
    const key = JSON.stringify([run_id, wait, not_before, asks.map(({ call_id }) => call_id)])
    const isNew = key !== latestWait
    latestWait = key
    return isNew
  }
}

/** Undefined for a record without an entry. */
export function describeRecord(record: SessionRecord, text: ReadText, reader?: Reader): string | undefined {
  const what = entryText(record, text, reader)
  if (what === undefined) return undefined
  const head = `${readableTime(record.ts)}  `
  return head + what.replaceAll('\n', `\n${' '.repeat(head.length)}`)
}

/** The entry without its time. `reader`: is "you". */
export function entryText(record: SessionRecord, text: ReadText, reader: Reader = {}): string | undefined {
  const entry = entryOf(record)
  const by = (actor: Actor | undefined): string =>
    actor === undefined || isReader(actor, reader) ? '' : `, by ${actorText(actor, reader)}`
  switch (entry.type) {
    case 'prompt':
      return `${entry.actor === undefined ? entry.sender : actorText(entry.actor, reader)}: ${text(entry.content)}`
    case 'notice':
      return `${entry.sender}: ${text(entry.content)}`
    case 'mail':
      return entry.call_id === undefined ? `${sender(entry, reader)}: ${text(entry.content)}` : undefined
    case 'reply':
      return `agent: ${text(entry.content)}${entry.incomplete === undefined ? '' : `\n(this may be incomplete: ${entry.incomplete})`}`
    case 'request':
      return entry.process_group === undefined
        ? undefined
        : `program started, process group ${entry.process_group}`
    case 'failed_request':
      return `request failed: ${entry.why}${entry.retry_in_ms === null ? '' : `; retrying in ${entry.retry_in_ms / 1000} s`}`
    case 'response':
      return responseText(entry)
    case 'call':
      return `calls ${callText({ tool: entry.tool, input: entry.input })}`
    case 'edit':
      return `${entry.actor === undefined ? 'you' : actorText(entry.actor, reader)} changed the call: ${callText({ tool: entry.tool, input: entry.input })}`
    case 'deferral':
      return `${entry.tool} waits for its result from elsewhere: ${text(entry.content).trimEnd()}`
    case 'result':
      return `${entry.tool}${entry.is_error ? ' failed' : ''}: ${text(entry.content).trimEnd()}`
    case 'note':
      return `program: ${entry.content}`
    case 'output':
      return `${entry.stream}${entry.left_out === undefined ? '' : ` (its first ${entry.left_out} bytes are left out)`}: ${text(entry.content).trimEnd()}`
    case 'turn':
      return entry.how === undefined
        ? entry.fresh === true
          ? 'new conversation: the agent does not see the earlier one'
          : undefined
        : `continuing turn ${entry.continues?.slice(0, 8)}${entry.how}${by(entry.actor)}`
    case 'resumption':
      return entry.how === undefined
        ? undefined
        : `continuing the interrupted turn${entry.how}${by(entry.actor)}`
    case 'wait':
      return entry.wait === 'not_before'
        ? `waiting until ${readableTime(entry.not_before ?? '')}: ${entry.why ?? 'requested by the provider'}`
        : entry.wait === 'budget'
          ? `waiting for ${entry.why ?? 'a larger budget'}; ${refillText(entry.not_before ?? null)}`
          : waitingFor(entry)
    case 'decision':
      return `decided: ${entry.decision}${entry.actor === undefined ? '' : ` by ${actorText(entry.actor, reader)}`} (token ${entry.token_id.slice(0, 8)})`
    case 'token':
      return `${entry.text}${entry.expires_at === undefined ? '' : `, until ${readableTime(entry.expires_at)}`}`
    case 'expiry':
      return `token ${entry.token_id.slice(0, 8)} expired`
    case 'completion':
      return entry.terminates === true ? 'work completed; the agent terminates' : undefined
    case 'failure':
      return `${entry.said === undefined ? '' : `before refusing, the model said: ${text(entry.said)}\n`}turn failed: ${entry.why}`
    case 'stop':
      return `turn ${entry.how}: ${entry.why}${by(entry.actor)}`
    case 'creation':
      return `created${entry.name === null ? '' : ` as ${entry.name}`}, provider ${entry.provider}, in ${entry.workspace}${by(entry.actor)}`
    case 'seed':
      return `begins with the conversation of agent ${entry.from.slice(0, 8)}`
    case 'reminder':
      return `set a reminder for ${readableTime(entry.due_at)}${entry.every_ms === null ? '' : `, then every ${entry.every_ms / 1000} s`}: ${text(entry.content)}`
    case 'change': {
      const { text: change, more, actor } = entry
      // The actor says more than the sender of a command by mail.
      if (actor !== undefined && !isReader(actor, reader)) return `${change} by ${actorText(actor, reader)}`
      return more === undefined ? change : `${change} ${more}`
    }
    case 'settings':
      return `${entry.text}${by(entry.actor)}`
    case 'detail':
      return `${entry.text}${by(entry.actor)}`
    case 'trouble':
      return entry.text
    case 'call_start':
    case 'answer':
    case 'hidden':
      return undefined
  }
  entry satisfies never
}

/** Undefined if the entry of the reply shows everything. */
function responseText({
  calls = [],
  items,
  items_blob,
  items_refused,
}: EntryOf<'response'>): string | undefined {
  const bytes = items_blob?.bytes ?? (items === undefined ? 0 : Buffer.byteLength(JSON.stringify(items)))
  const lines = [
    ...(items_refused === true
      ? ['the service refused the reasoning of earlier responses; it was left out']
      : []),
    ...(bytes === 0 ? [] : [`reasoning: ${bytes} bytes, kept for the provider`]),
    ...calls.map(({ name, input }) => `calls ${callText({ tool: name, input })}`),
  ]
  return lines.length === 0 ? undefined : lines.join('\n')
}

function sender(
  { sender, from, mail_kind, reminder_id, schedule_id, actor }: EntryOf<'mail'>,
  reader: Reader,
): string {
  const who = actor === undefined ? (sender ?? from) : actorText(actor, reader)
  const isOwn = reminder_id !== undefined || schedule_id !== undefined
  return mail_kind === 'request' || isOwn ? who : `${who} (${mail_kind})`
}

/** Names only the tools: the entry above, with the calls of the response, has their input. */
function waitingFor({ wait, asks, deadline_at }: EntryOf<'wait'>): string {
  const calls = asks ?? []
  const tools = calls.map(({ tool }) => tool).join(', ')
  const result = calls.length > 1 ? `the results of ${calls.length} calls` : `the result of ${tools}`
  const what = wait === 'input' ? 'an answer' : wait === 'tool_result' ? result : `approval of ${tools}`
  return `waiting for ${what}, until ${readableTime(deadline_at ?? '')}`
}
