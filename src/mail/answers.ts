/**
 * Sends the outbox of an agent: the replies and errors of its ended turns, and the notices to its watchers. Answers the
 * mail that a terminated agent can no longer receive.
 *
 * On disk after a crash: the ended run with its outbox in the log, and some of the messages. Each message id is derived
 * from what it answers, so the next visit sends the rest and nothing twice. `mail.answered` then records that the
 * outbox is empty, except for deferred errors: those of a turn that a later command or `resume` continues. The next batch of the session
 * carries it. A crash before that batch is durable leaves the outbox as it was, and its messages are sent again.
 */
import { SubstratError } from '../errors.js'
import { OPERATOR } from '../format.js'
import { isDeferred } from '../session/fold/mail.js'
import { deriveId } from '../session/ids.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { OutboxEntry, State } from '../session/state.js'
import { howEnded, isPaused } from '../session/status.js'
import { endOfTurn, troubleOf } from '../session/trouble.js'
import type { Store } from '../storage/store.js'
import { decodeMessage, type Message } from './message.js'
import { type Draft, post } from './post.js'
import { messagesIn } from './stored-messages.js'

export interface AnswerOptions {
  /** True if a process that died may have sent part of the outbox. */
  isRepeat: boolean
  note(text: string): void
}

/** A message of the outbox that its recipient has. */
export interface Sent extends Pick<OutboxEntry, 'kind' | 'to' | 'run_id'> {
  message_id: string
}

/** A message that cannot be sent now stays in the outbox until the next visit. */
export function sendOutbox(session: Session, { isRepeat, note }: AnswerOptions): Sent[] {
  const { store, state } = session
  // Every batch has the carried record, so an outbox whose record is not yet in the log has not grown since it was sent.
  const isSent = session.isCarrying('mail.answered')
  const due = isSent ? [] : state.owes.filter((owed) => !isDeferred(state, owed))
  if (due.length === 0) return []
  const sent: Sent[] = []
  let isAllSent = true
  for (const owed of due) {
    try {
      const draft = draftOf(session, owed)
      post(store, draft, { isRepeat, sender: state })
      sent.push({ ...owed, message_id: draft.message_id })
    } catch (error) {
      if (!(error instanceof SubstratError) || isStorageFailure(error)) throw error
      // The recipient no longer exists or is terminated: the message counts as sent.
      if (error.code === 'UNDELIVERABLE')
        note(`the ${owed.kind} from ${state.path} was dropped: ${error.message}`)
      else isAllSent = false
    }
  }
  if (isAllSent) session.carry(answeredRecord(state))
  return sent
}

function answeredRecord(state: State): NewRecord<'mail.answered'> {
  const isDeferring = isPaused(state) && state.owes.some((owed) => isDeferred(state, owed))
  return { kind: 'mail.answered', ...(isDeferring ? { deferred: true } : {}) }
}

/**
 * Answers each pending message of a terminated agent with an error, then removes it. Returns the senders that received
 * one.
 *
 * Each message is renamed before it is answered. Its sender may find the agent terminated at the same moment and remove
 * the message by its first name. Only one of the two succeeds, so the message is either refused or answered. On disk
 * after a crash: the message under one of the two names, with or without its answer.
 */
export function returnMail(store: Store, state: State, note: (text: string) => void): string[] {
  for (const message of messagesIn(store, state.id)) {
    // The file of a delivered message may not be removed yet, or a power cut restored it (row K).
    const isTaken = state.delivered.includes(message.message_id)
    if (!isTaken && isAnswerable(message)) store.mail.setToReturn(state.id, message.message_id)
    else store.mail.remove(state.id, message.message_id)
  }
  const told: string[] = []
  for (const id of store.mail.idsToReturn(state.id)) {
    const message = messageToReturn(store, state.id, id)
    if (message === undefined) store.mail.keepUnreturned(state.id, id)
    else {
      if (tell(store, state, message, note)) told.push(message.from)
      store.mail.removeReturned(state.id, id)
    }
  }
  return told
}

function messageToReturn(store: Store, agentId: string, messageId: string): Message | undefined {
  const stored = store.mail.readToReturn(agentId, messageId)
  const message = stored === undefined ? undefined : decodeMessage(stored, messageId)
  return message?.to === agentId ? message : undefined
}

function tell(store: Store, state: State, message: Message, note: (text: string) => void): boolean {
  const why = state.moved === undefined ? 'was terminated' : howEnded(state)
  const content = `${state.path} ${why} before it received this ${message.kind}: ${message.content}`
  try {
    post(
      store,
      {
        message_id: deriveId(message.message_id, 'undelivered'),
        from: state.id,
        from_path: state.path,
        to: message.from,
        kind: 'error',
        content,
        reply_to: message.message_id,
      },
      { isRepeat: true },
    )
    return true
  } catch (error) {
    if (!(error instanceof SubstratError) || isStorageFailure(error)) throw error
    note(`the sender of a ${message.kind} to ${state.path} was not informed: ${error.message}`)
    return false
  }
}

/** Answers are not answered: that would never end. */
function isAnswerable({ kind }: Message): boolean {
  return kind === 'request' || kind === 'notification'
}

function isStorageFailure({ code }: SubstratError): boolean {
  return ['STORAGE_FAILED', 'SYNC_FAILED', 'UNEXPECTED'].includes(code)
}

function draftOf(session: Session, owed: OutboxEntry): Draft {
  const { state } = session
  const { to, kind, reply_to } = owed
  return {
    message_id: idOf(owed),
    from: state.id,
    from_path: state.path,
    to,
    kind,
    reply_to,
    content: contentOf(session, owed),
  }
}

/**
 * A request has one reply, so its id depends only on the request. Other messages also depend on their run and record.
 */
function idOf({ kind, reply_to, run_id, seq, to }: OutboxEntry): string {
  return kind === 'response' && reply_to !== null
    ? replyId(reply_to)
    : deriveId(run_id, String(seq), kind, to, reply_to ?? '')
}

export function replyId(requestId: string): string {
  return deriveId(requestId, 'response')
}

const QUOTED_CHARACTERS_MAX = 500

/** The end of the sentence that the agent is waiting: the question, or the calls that need approval. */
function asked(session: Session, runId: string): string {
  const { run } = session.state
  const wait = run?.run_id === runId ? run.wait : null
  const record = wait === null ? undefined : session.recordAt(wait.at)
  const asks = (record?.kind === 'run.waiting' ? record.asks : undefined) ?? []
  const question = asks.find(({ tool }) => tool === 'ask_operator')?.input.question
  if (typeof question === 'string') {
    const isLong = question.length > QUOTED_CHARACTERS_MAX
    return `: it asks "${question.slice(0, QUOTED_CHARACTERS_MAX)}${isLong ? '…' : ''}"`
  }
  const tools = [...new Set(asks.map(({ tool }) => tool))]
  return wait?.kind === 'approval' && tools.length > 0 ? `: it asks to run ${tools.join(', ')}.` : '.'
}

function contentOf(session: Session, { status, reply, trouble, to, run_id }: OutboxEntry): string {
  const { path, moved } = session.state
  if (status !== null) return `${path} is ${status} now${status === 'waiting' ? asked(session, run_id) : '.'}`
  if (trouble === null) {
    const record = reply === null ? undefined : session.recordAt(reply)
    return record?.kind === 'message.agent' ? session.text(record.content) : ''
  }
  if (trouble.reason === 'moved')
    return `${path} was moved to ${moved?.to ?? 'another home'} before it answered this request.`
  const next =
    to === OPERATOR ? `substrat show ${path}` : 'inspect_agent shows the details; poke retries the turn'
  return `The turn of ${path} ${endOfTurn(trouble)}: ${troubleOf(trouble) ?? 'the cause is unknown'}. (${next})`
}
