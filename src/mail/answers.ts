/**
 * What ended turns owe to others, sent: replies, errors, and notices to those who watch. And what a terminated agent can
 * no longer take, sent back.
 *
 * What is on disk if we die: the run with what it owes in its own log, and some of the messages. Their ids follow from
 * what they answer, so the next visit sends the rest, and nothing twice; then `mail.answered` says that all are sent, but
 * for the errors of a turn that a later command continues.
 */
import { SubstratError } from '../errors.js'
import { OPERATOR } from '../format.js'
import { isDeferred } from '../session/fold/mail.js'
import { deriveId } from '../session/ids.js'
import type { Session } from '../session/session.js'
import type { OutboxEntry, State } from '../session/state.js'
import { troubleOf } from '../session/trouble.js'
import type { FileStore } from '../storage/store.js'
import { messagesIn } from './inbox.js'
import { decodeMessage, type Message } from './message.js'
import { type Draft, post } from './post.js'

export interface AnswerOptions {
  /** Whether a process that is gone may have sent some of it. */
  isRepeat: boolean
  note(text: string): void
}

/** Whom something was sent to. What cannot be sent now stays owed, and is tried at the next visit. */
export function sendOutbox(session: Session, { isRepeat, note }: AnswerOptions): string[] {
  const { store, state } = session
  const due = state.owes.filter((owed) => !isDeferred(state, owed))
  if (due.length === 0) return []
  const recipients: string[] = []
  let isAllSent = true
  for (const owed of due) {
    try {
      post(store, draftOf(session, owed), { isRepeat })
      recipients.push(owed.to)
    } catch (error) {
      if (!(error instanceof SubstratError) || isStorageFailure(error)) throw error
      // Nobody is there to be told: it counts as told.
      if (error.code === 'UNDELIVERABLE')
        note(`the ${owed.kind} of ${state.path} reaches nobody: ${error.message}`)
      else isAllSent = false
    }
  }
  if (isAllSent) session.append([{ kind: 'mail.answered' }])
  return recipients
}

/**
 * Of a terminated agent: each message that waits is answered with an error, and then gone. Says whom it told.
 *
 * What is on disk if we die: the message under its own name, or under another by which only we can have it, and its answer
 * or not. Its sender, who may just find the agent terminated, takes it back by its own name: it is refused, or answered.
 */
export function returnMail(store: FileStore, state: State, note: (text: string) => void): string[] {
  for (const message of messagesIn(store, state.id)) {
    // The file of a message that was taken may still be there, or there again (row K).
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

function messageToReturn(store: FileStore, agentId: string, messageId: string): Message | undefined {
  const stored = store.mail.readToReturn(agentId, messageId)
  const message = stored === undefined ? undefined : decodeMessage(stored, messageId)
  return message?.to === agentId ? message : undefined
}

function tell(store: FileStore, state: State, message: Message, note: (text: string) => void): boolean {
  const content = `${state.path} was terminated before it took this ${message.kind}: ${message.content}`
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
    note(`a ${message.kind} to ${state.path} can be answered to nobody: ${error.message}`)
    return false
  }
}

/** An answer to an answer would have no end. */
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

/** The reply to a request is one, whichever run it comes from; anything else is of the moment that it tells of. */
function idOf({ kind, reply_to, run_id, seq, to }: OutboxEntry): string {
  return kind === 'response' && reply_to !== null
    ? replyId(reply_to)
    : deriveId(run_id, String(seq), kind, to, reply_to ?? '')
}

export function replyId(requestId: string): string {
  return deriveId(requestId, 'response')
}

function contentOf(session: Session, { status, reply, trouble, to }: OutboxEntry): string {
  const { path } = session.state
  if (status !== null) return `${path} is ${status} now.`
  if (trouble === null) {
    const record = reply === null ? undefined : session.recordAt(reply)
    return record?.kind === 'message.agent' ? session.text(record.content) : ''
  }
  const next = to === OPERATOR ? `substrat show ${path}` : 'inspect_agent shows it, and poke tries it again'
  return `The turn of ${path} ${trouble.status === 'open' ? 'stopped' : `was ${VERBS[trouble.status]}`}: ${troubleOf(trouble) ?? 'nobody knows why'}. (${next})`
}

const VERBS = {
  completed: 'completed',
  failed: 'a failure',
  cancelled: 'cancelled',
  interrupted: 'interrupted',
}
