/** Checks mail: deliveries, replies and notices to send, and the markers by which recovery finds pending work. */
import { damagedMail, damagedOperatorMail, unknownMail } from '../mail/inbox.js'
import { messagesIn } from '../mail/stored-messages.js'
import { unknownText } from '../mail/unknown-mail.js'
import { reasonToVisit } from '../recovery/visit-reason.js'
import { isDeferred } from '../session/fold/mail.js'
import type { State } from '../session/state.js'
import type { Store } from '../storage/store.js'
import type { AddFinding } from './finding.js'

/** Damaged messages. A crash leaves none, because the sender reports success only after it has stored the message. */
export function checkPending(store: Store, state: State, found: AddFinding): void {
  for (const { path } of damagedMail(store, state))
    found('a file in an inbox is a message', `${path} is not a complete message`, path)
  checkKinds(store, state, found)
}

export function checkOperatorMail(store: Store, found: AddFinding): void {
  for (const { path } of damagedOperatorMail(store))
    found('a file in an inbox is a message', `${path} is not a complete message`, path)
  checkKinds(store, undefined, found)
}

function checkKinds(store: Store, to: State | undefined, found: AddFinding): void {
  for (const message of unknownMail(store, to))
    found('a message has a known kind', unknownText(message), message.path)
}

/** Call it for an agent without a holder. Recovery clears each of these findings. */
export function checkIdleMail(store: Store, state: State, found: AddFinding): void {
  const left = store.mail.ids(state.id).filter((id) => state.delivered.includes(id))
  if (left.length > 0)
    found('delivered mail has left the inbox', `the inbox still has delivered mail: ${left.join(', ')}`)
  const due = state.owes.filter((owed) => !isDeferred(state, owed))
  if (due.length > 0)
    found(
      'replies and failure notices of ended turns are sent',
      `not sent: ${due.map(({ kind, to }) => `${kind} to ${to}`).join(', ')}`,
    )
  const pending = [...messagesIn(store, state.id)].filter(
    ({ message_id }) => !state.delivered.includes(message_id),
  )
  const controls = pending.filter(({ kind }) => kind === 'control')
  if (controls.length > 0)
    found(
      'control messages to an agent are applied',
      `pending control messages: ${controls.map(({ message_id }) => message_id).join(', ')}`,
    )
  const toReturn = store.mail.idsToReturn(state.id)
  const unanswered = [...pending.map(({ message_id }) => message_id), ...toReturn]
  if (state.state === 'terminated' && unanswered.length > 0)
    found('mail to a terminated agent is returned', `mail not returned: ${unanswered.join(', ')}`)
  checkMarker(store, state, found)
}

/** After recovery has visited every agent once since boot, it visits only marked agents. */
function checkMarker(store: Store, state: State, found: AddFinding): void {
  const needsVisit = reasonToVisit(store, state) !== undefined
  if (needsVisit && store.visits.isComplete && !store.visits.isMarked(state.id))
    found('an agent with pending work is marked', 'the agent has pending work, but no marker')
}
