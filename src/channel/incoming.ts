/**
 * Messages of the platform: recorded with the cursor in one batch, then passed on to the agents of their threads.
 *
 * Invariants: nothing is passed on before it is in the log. Each message is passed on once: the key of a message is its id on the
 * platform, and the log of its agent remembers the key. The platform may forget a message once the next cursor is passed to it,
 * and that cursor is durable by then.
 *
 * On disk after a crash: the messages and the cursor, or neither; then messages that are still pending, perhaps passed on. Passing
 * them on again changes nothing.
 */
import type { Context } from '../dispatch/context.js'
import { idOfKey } from '../dispatch/keyed-message.js'
import { endOfLatestWait, endText } from '../dispatch/last-decision.js'
import { SubstratError } from '../errors.js'
import { isTime } from '../format.js'
import { readClock } from '../host/identity.js'
import { limits } from '../limits.js'
import { post } from '../mail/post.js'
import { type DecisionRequest, decide } from '../operations/decide.js'
import type { ChannelOutcome } from '../schema/words.js'
import { deriveId } from '../session/ids.js'
import { isSameKey } from '../session/key-hashes.js'
import { findKey } from '../session/key-index.js'
import { openDurable } from '../session/load.js'
import { readableState } from '../session/peek-state.js'
import { readRecord, readText } from '../session/read.js'
import type { NewRecord, SessionRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { ChannelState, State } from '../session/state.js'
import { openWait, waitIsGood } from '../session/status.js'
import { spawnAgent } from './agents.js'
import { type ChannelConfig, includesPerson } from './config.js'
import type { IncomingMessage, Received } from './contract.js'
import { NO_CHANNEL } from './log.js'
import { oneLine, senderActor } from './sender.js'
import {
  attachmentsText,
  codeOf,
  decisionIn,
  ENDED_TEXT,
  FULL_TEXT,
  LOST_TEXT,
  NOT_ANSWERER_TEXT,
  NOT_APPROVER_TEXT,
  staleCodeText,
  unknownText,
} from './texts.js'

/** `ignored`: the people whose messages were not taken. */
export interface Taken {
  received: number
  ignored: string[]
}

/** One batch: the new messages of allowed senders, and the cursor. */
export function recordMessages(
  ctx: Context,
  session: Session,
  { senders }: ChannelConfig,
  { messages, cursor }: Received,
): Taken {
  const channel = session.state.channel ?? NO_CHANNEL
  const known = new Set(channel.received)
  const agents = new Map<string, string>()
  const ignored: string[] = []
  const records: NewRecord[] = []
  for (const message of messages.map(bounded)) {
    const message_id = deriveId(session.id, 'message', message.id)
    if (known.has(message_id)) continue
    if (!includesPerson(senders, message.sender)) {
      ignored.push(message.sender)
      continue
    }
    known.add(message_id)
    const { thread } = message
    const agent_id = agents.get(thread) ?? agentOf(ctx, session.id, channel, thread)
    agents.set(thread, agent_id)
    records.push(receivedRecord(message, message_id, agent_id))
  }
  const isNew = records.length > 0 || cursor !== channel.cursor
  if (isNew) session.append([...records, { kind: 'channel.cursor', cursor }])
  return { received: records.length, ignored }
}

/** The agent of the thread. After its end, the thread gets another one. */
function agentOf(ctx: Context, channelId: string, { threads }: ChannelState, thread: string): string {
  const before = threads.filter((entry) => entry.thread === thread)
  const latest = before.at(-1)?.agent_id
  if (latest !== undefined && readableState(ctx.store, latest)?.state !== 'terminated') return latest
  return deriveId(channelId, 'thread', thread, String(before.length))
}

function receivedRecord(message: IncomingMessage, message_id: string, agent_id: string): NewRecord {
  const { id, thread, sender, text, sentAt, attachments = [], context, senderName } = message
  return {
    kind: 'channel.received',
    ...{ message_id, remote_id: id, thread, sender, agent_id, content: text },
    ...(senderName === undefined ? {} : { sender_name: senderName }),
    ...(context === undefined ? {} : { context }),
    ...(attachments.length === 0 ? {} : { attachments }),
    ...(isTime(sentAt) ? { sent_at: sentAt } : {}),
  }
}

/** Shortens what a plugin says besides the text, so that each record fits in a line. A text that is too long is refused. */
function bounded(message: IncomingMessage): IncomingMessage {
  const { channelFieldCharactersMax: max, messageBytesMax } = limits
  const { text, attachments = [] } = message
  const isTooLong = Buffer.byteLength(text) > messageBytesMax
  const files = attachments.slice(0, 20).map((name) => name.slice(0, 200))
  return {
    ...message,
    text: isTooLong ? '' : text,
    attachments: isTooLong ? [...files, `a text of ${text.length} characters`] : files,
    ...(message.senderName === undefined ? {} : { senderName: oneLine(message.senderName).slice(0, 100) }),
    ...(message.context === undefined ? {} : { context: message.context.slice(0, max) }),
  }
}

/** For the turns that a decision continues. */
export interface Decisions {
  ctx: Context
  /** The whole work of a decision, which ends after its turn. */
  track(work: Promise<void>): void
}

/** The fate of a message, and the sentences that its sender receives. `undecided`: it stays pending for now. */
export type Passed = { outcome: ChannelOutcome; says: string[] } | 'undecided'

/** Passes one message on. Resolves once that is durable. A decision runs the agent's turn, whose end is reported by mail. */
export async function passOn(
  ctx: Context,
  decisions: Decisions,
  { channel, config }: { channel: State; config: ChannelConfig },
  record: SessionRecord<'channel.received'>,
): Promise<Passed> {
  try {
    return await route(ctx, decisions, { channel, config }, record)
  } catch (error) {
    if (!(error instanceof SubstratError)) throw error
    switch (error.code) {
      case 'LOCKED':
      case 'NO_SLOT':
        return 'undecided'
      case 'STORAGE_FAILED':
      case 'SYNC_FAILED':
      case 'UNEXPECTED':
        throw error
      case 'QUEUE_FULL':
        return { outcome: 'refused', says: [FULL_TEXT] }
      case 'UNDELIVERABLE':
        return { outcome: 'refused', says: [ENDED_TEXT] }
      case 'CORRUPT':
      case 'UNKNOWN_FORMAT':
        ctx.reporter.note(error.message)
        return { outcome: 'refused', says: [LOST_TEXT] }
      default:
        ctx.reporter.note(`a message from ${record.sender} is refused: ${error.message}`)
        return { outcome: 'refused', says: [unknownText(error.message)] }
    }
  }
}

async function route(
  ctx: Context,
  decisions: Decisions,
  { channel, config }: { channel: State; config: ChannelConfig },
  record: SessionRecord<'channel.received'>,
): Promise<Passed> {
  const { agent_id: agentId, remote_id, sender, attachments = [] } = record
  if (!ctx.store.hasAgent(agentId)) await spawnAgent(ctx, { channel, config }, record)
  const state = (openDurable(ctx.store, agentId) as { state: State }).state
  const key = `${channel.id} ${remote_id}`
  if (state.tokens.some((token) => token.key !== undefined && isSameKey(token.key, key)))
    return { outcome: 'decided', says: [] }
  const before = findKey(ctx.store, state, key)
  if (before === 'lost') return { outcome: 'refused', says: [LOST_TEXT] }
  if (before !== undefined) return { outcome: 'delivered', says: [] }
  const text = readText(ctx.store, channel.id, record.content).trim()
  const says = attachments.length === 0 ? [] : [attachmentsText(attachments)]
  if (text === '') return { outcome: 'refused', says }
  const wait = openWait(state)
  const by = { actor: senderActor(channel, record) }
  const isApprover = includesPerson(config.approvers, sender)
  const isGood = wait !== null && waitIsGood(state, wait, readClock())
  const written = decisionIn(text)
  if (written !== undefined) {
    const { decision, code, reason } = written
    if (!isApprover) return { outcome: 'refused', says: [NOT_APPROVER_TEXT] }
    if (!isGood || wait.kind !== 'approval' || code !== codeOf(agentId, wait))
      return { outcome: 'refused', says: [staleCodeText(code, decidedText(ctx, state))] }
    return decided(decisions, { ...by, agentId, decision, text: reason, key, tokenId: wait.resume_token_id })
  }
  if (isGood && wait.kind === 'input') {
    if (isApprover)
      return decided(decisions, {
        ...{ ...by, agentId, decision: 'input', text, key },
        tokenId: wait.resume_token_id,
      })
    says.push(NOT_ANSWERER_TEXT)
  }
  deliver(ctx, channel, record, { key, text })
  return { outcome: 'delivered', says }
}

/** Two people may decide at once: the second one learns who was first. */
function decidedText({ store }: Context, { id, run }: State): string {
  const end = run === null ? undefined : endOfLatestWait(store, id, run.run_id)
  // The reader is the person in the chat, and not the user of this process.
  return end === undefined ? '' : endText(end, {})
}

function deliver(
  ctx: Context,
  channel: State,
  record: SessionRecord<'channel.received'>,
  { key, text: content }: { key: string; text: string },
): void {
  const { agent_id: to, sender, sender_name } = record
  const who = sender_name === undefined ? oneLine(sender) : `${sender_name}, ${oneLine(sender)}`
  post(
    ctx.store,
    {
      message_id: idOfKey(to, key),
      from: channel.id,
      from_path: `${channel.path} (${who})`,
      to,
      kind: 'request',
      content,
      key,
      actor: senderActor(channel, record),
    },
    { isRepeat: true },
  )
}

/** Resolves when the turn that continues has ended or is parked again. */
async function decided(
  { ctx, track }: Decisions,
  request: Pick<DecisionRequest, 'actor' | 'agentId' | 'decision' | 'text' | 'key' | 'tokenId'>,
): Promise<Passed> {
  await new Promise<void>((resolve, reject) => {
    track(decide(ctx, { token: null, ...request }, () => resolve()).then(resolve, reject))
  })
  return { outcome: 'decided', says: [] }
}

/** The record of a pending message. */
export function pendingRecord(
  ctx: Context,
  channelId: string,
  { at }: ChannelState['pending'][number],
): SessionRecord<'channel.received'> {
  const record = readRecord(ctx.store, channelId, at)
  if (record?.kind === 'channel.received') return record
  throw new SubstratError('CORRUPT', 'the log of the channel lost a message', {
    hint: 'substrat doctor',
    facts: { agent_id: channelId, seq: at.seq },
  })
}
