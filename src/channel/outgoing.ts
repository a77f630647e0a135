/**
 * The agents' mail to the channel, their waits, and the time limits that their tools exceeded, become outbound messages of the channel.
 *
 * Invariants: a message is taken from the inbox in the batch that queues it. Messages of one thread keep their order. Nothing is
 * taken while the queue is full, so nothing is dropped for that.
 *
 * On disk after a crash: the message is still in the inbox, or it is queued.
 */
import { clock, readableTime } from '../clock.js'
import { idOfKey } from '../dispatch/keyed-message.js'
import { SubstratError, shellWord } from '../errors.js'
import { readClock } from '../host/identity.js'
import { limits } from '../limits.js'
import { replyId } from '../mail/answers.js'
import { listPending, syncBeforeForgetting } from '../mail/inbox.js'
import type { Message } from '../mail/message.js'
import { post } from '../mail/post.js'
import type { OutboundTarget } from '../outbound/target.js'
import type { Button } from '../schema/types.js'
import { deriveId } from '../session/ids.js'
import { readContinuedRun } from '../session/past-run.js'
import { readableState } from '../session/peek-state.js'
import { readRecord } from '../session/read.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { ChannelState, State, Wait } from '../session/state.js'
import { openWait, waitIsGood } from '../session/status.js'
import type { Store } from '../storage/store.js'
import { timeoutSignal } from '../timeout-signal.js'
import type { ChannelConfig } from './config.js'
import type { ChannelConnection } from './contract.js'
import { failureOf } from './load.js'
import { ChannelLog, NO_CHANNEL } from './log.js'
import { partsOf } from './parts.js'
import { codeOf, ENDED_TEXT, failureText, TIMED_OUT_TEXT, unknownText, waitText } from './texts.js'

/** Limit of one attempt. */
const SEND_MS_MAX = 60_000

export interface Saying {
  config: ChannelConfig
  textCharactersMax: number
  mayShowTwice: boolean
}

type Thread = ChannelState['threads'][number]

/** The outbound messages of one text. `cause`: their ids follow from it. */
export function saidRecords(
  { config, textCharactersMax }: Saying,
  channelId: string,
  { thread, latest }: Pick<Thread, 'thread' | 'latest'>,
  { cause, text, buttons }: { cause: string; text: string; buttons?: Button[] | undefined },
): NewRecord[] {
  const parts = partsOf(text, textCharactersMax, limits.channelPartsMax)
  const expires_at = new Date(clock.now() + config.lifetimeMs).toISOString()
  return parts.map((content, index) => ({
    kind: 'outbound.queued' as const,
    outbound_id: deriveId(channelId, 'outbound', cause, String(index)),
    target: config.name,
    event: 'message' as const,
    thread,
    content,
    replies_to: latest,
    ...(buttons === undefined || index < parts.length - 1 ? {} : { buttons }),
    expires_at,
  }))
}

/** Queues the mail of the agents, as much as there is room for. */
function relayMail(store: Store, session: Session, saying: Saying, note: (text: string) => void): void {
  const records: NewRecord[] = []
  const { state } = session
  const late = new Set<string>()
  let room = ChannelLog.roomIn(state)
  let count = 0
  for (const message of listPending(store, state)) {
    const thread = threadOf(session, message.from)
    const text = thread === undefined ? undefined : textOf(store, message)
    // Before the reply, whose turn may have ended since the last look.
    const timeout =
      thread === undefined || late.has(thread.agent_id) ? [] : timeoutRecords(store, session, saying, thread)
    const said =
      text === undefined || thread === undefined
        ? []
        : saidRecords(saying, session.id, thread, { cause: message.message_id, text })
    if (timeout.length + said.length > room || count === limits.mailsTakenMax) break
    if (thread === undefined)
      note(`a ${message.kind} from ${message.from_path} belongs to no thread; it is dropped`)
    if (message.kind === 'request') answerRequest(store, state, message, thread !== undefined)
    room -= timeout.length + said.length
    count += 1
    late.add(message.from)
    records.push(...timeout, { kind: 'channel.taken', message_id: message.message_id }, ...said)
  }
  if (records.length === 0) return
  syncBeforeForgetting(session, count)
  session.append(records)
}

/** Queues the message about an exceeded time limit. */
function announceTimeout(store: Store, session: Session, saying: Saying, thread: Thread): void {
  const records = timeoutRecords(store, session, saying, thread)
  if (records.length <= ChannelLog.roomIn(session.state)) session.append(records)
}

/** Empty if the thread knows it. The message does not wait for the reply: the turn may take long. */
function timeoutRecords(store: Store, { id }: Session, saying: Saying, thread: Thread): NewRecord[] {
  const { agent_id } = thread
  const state = readableState(store, agent_id)
  if (state?.timed_out === undefined || !isLate(state, thread)) return []
  const cause = deriveId(agent_id, 'timeout', String(state.timed_out))
  return [
    { kind: 'channel.announced', agent_id, since_seq: state.timed_out },
    ...saidRecords(saying, id, thread, { cause, text: TIMED_OUT_TEXT }),
  ]
}

function isLate({ timed_out = 0 }: State, { announced }: Thread): boolean {
  return timed_out > announced
}

/** A channel takes no turn, so it has no other answer. A crash before the batch repeats it with the same id. */
function answerRequest(store: Store, { id, path }: State, message: Message, isPosted: boolean): void {
  try {
    post(
      store,
      {
        message_id: replyId(message.message_id),
        from: id,
        from_path: path,
        to: message.from,
        kind: 'response',
        content: isPosted
          ? 'Posted to the conversation. An answer comes as a new message.'
          : `${path} is a channel; only the agents of its threads can write to it.`,
        reply_to: message.message_id,
      },
      { isRepeat: true },
    )
  } catch (error) {
    if (!(error instanceof SubstratError) || error.code !== 'UNDELIVERABLE') throw error
  }
}

/** Undefined: the thread does not get it. */
function textOf(store: Store, message: Message): string | undefined {
  if (message.kind !== 'error') return message.content.trim() === '' ? undefined : message.content
  // A failure of a turn that no person in the thread asked for, such as one of the operator.
  if (message.reply_to === null) return undefined
  const state = readableState(store, message.from)
  if (state === undefined) return unknownText(message.content)
  if (state.state === 'terminated') return ENDED_TEXT
  const run = runOf(store, state, message.reply_to)
  return run === undefined ? unknownText(message.content) : failureText(run)
}

function runOf(store: Store, state: State, requestId: string) {
  const { run } = state
  if (run?.requests.some(({ message_id }) => message_id === requestId) === true) return run
  const entry = state.keys.findLast(({ key }) => idOfKey(state.id, key) === requestId)
  return entry === undefined ? undefined : readContinuedRun(store, state.id, entry)
}

/** The wait of an agent of which its thread was not told. */
interface NewWait {
  agentId: string
  wait: Wait
  text: string
  buttons?: Button[]
}

/** The events that threads have not heard of yet. */
export interface News {
  /** Those with a tool that exceeded its time limit. */
  late: Thread[]
  waits: NewWait[]
}

/** Undefined without news. */
export function newsOf(store: Store, { threads }: ChannelState, agentIds: Set<string>): News | undefined {
  const late: Thread[] = []
  const waits: NewWait[] = []
  for (const thread of threads) {
    const state = agentIds.has(thread.agent_id) ? readableState(store, thread.agent_id) : undefined
    if (state === undefined) continue
    if (isLate(state, thread)) late.push(thread)
    const wait = newWait(store, state, thread)
    if (wait !== undefined) waits.push(wait)
  }
  return late.length + waits.length === 0 ? undefined : { late, waits }
}

function newWait(store: Store, state: State, { agent_id: agentId, announced }: Thread): NewWait | undefined {
  const wait = openWait(state)
  if (wait === null || wait.since_seq === announced || !waitIsGood(state, wait, readClock())) return undefined
  const record = readRecord(store, agentId, wait.at)
  const asks = record?.kind === 'run.waiting' ? (record.asks ?? []) : []
  const said = waitText(wait, asks, codeOf(agentId, wait))
  return said === undefined ? undefined : { agentId, wait, ...said }
}

/** Queues the news and the mail of the agents, as much as there is room for. */
export function queueNews(
  store: Store,
  session: Session,
  saying: Saying,
  news: News | undefined,
  note: (text: string) => void,
): void {
  for (const { agent_id } of news?.late ?? []) {
    const thread = threadOf(session, agent_id)
    if (thread !== undefined) announceTimeout(store, session, saying, thread)
  }
  relayMail(store, session, saying, note)
  for (const wait of news?.waits ?? []) announce(session, saying, wait)
}

function threadOf({ state }: Session, agentId: string | undefined): Thread | undefined {
  return (state.channel ?? NO_CHANNEL).threads.find(({ agent_id }) => agent_id === agentId)
}

/** Queues the message about the wait. */
function announce(session: Session, saying: Saying, { agentId, wait, text, buttons }: NewWait): void {
  const thread = threadOf(session, agentId)
  if (thread === undefined || thread.announced === wait.since_seq) return
  const cause = deriveId(agentId, 'wait', String(wait.since_seq))
  const said = saidRecords(saying, session.id, thread, { cause, text, buttons })
  if (said.length > ChannelLog.roomIn(session.state)) return
  session.append([{ kind: 'channel.announced', agent_id: agentId, since_seq: wait.since_seq }, ...said])
}

/** Says that replies are left to a later run. Undefined if none is. */
export function pendingNote({ path, outbound = [] }: State): string | undefined {
  if (outbound.length === 0) return undefined
  const [first] = outbound.flatMap(({ not_before }) => not_before ?? []).sort()
  const replies = outbound.length === 1 ? '1 reply is' : `${outbound.length} replies are`
  const run = first === undefined ? 'the next run' : `a run after ${readableTime(first)}`
  return `${replies} still pending; ${run} tries again: substrat outbox ${shellWord(path)}`
}

/** The platform, as the sender of outbound messages sees it. */
export function channelTarget(
  connection: ChannelConnection,
  { config, mayShowTwice }: Saying,
): OutboundTarget {
  return {
    triesMax: config.triesMax,
    mayShowTwice,
    room: () => Number.POSITIVE_INFINITY,
    async send(message, signal) {
      const { thread, text, outbound_id: idempotencyId, replies_to, buttons } = message
      if (thread === null || replies_to === undefined) return { outcome: 'refused', why: 'it has no thread' }
      const { remote_id: id, ...reply } = replies_to
      const ends = AbortSignal.any([signal, timeoutSignal(SEND_MS_MAX)])
      try {
        const said = { thread, text, idempotencyId, replyTo: { id, ...reply } }
        const sent = await connection.send({ ...said, ...(buttons === undefined ? {} : { buttons }) }, ends)
        return { outcome: 'accepted', ...(sent.id === undefined ? {} : { remoteId: sent.id }) }
      } catch (error) {
        const { permanent, why, retryAfterMs, notShown: isNotShown = false } = failureOf(error)
        // An attempt that was recorded and showed nothing needs a result, or it would count as one of unknown outcome.
        if (signal.aborted && !(mayShowTwice && isNotShown)) return { outcome: 'unknown' }
        if (permanent) return { outcome: 'refused', why }
        const pause = retryAfterMs === undefined ? {} : { retryAfterMs }
        return { outcome: 'failed', why, isNotShown, ...pause }
      }
    },
  }
}
