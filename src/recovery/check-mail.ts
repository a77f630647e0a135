/** The part of the audit that is about mail: what is delivered, what is owed, and what recovery finds by its marker. */
import { messagesIn } from '../mail/inbox.js'
import { recordsFrom } from '../session/load.js'
import type { State } from '../session/state.js'
import { isInterrupted } from '../session/status.js'
import type { FileStore, LogReader } from '../storage/store.js'
import type { Found } from './finding.js'

/** Over the whole log: the state remembers only the ids of late. */
export function checkDelivered(log: LogReader, found: Found): void {
  const delivered = new Set<string>()
  for (const { record } of recordsFrom(log, { seq: 1, offset: 0 })) {
    if (record.kind !== 'mail.delivered' && !record.kind.startsWith('agent.')) continue
    const { message_id } = record as { message_id: string }
    if (delivered.has(message_id)) found('a message is delivered, or obeyed, at most once', message_id)
    delivered.add(message_id)
  }
}

/** Of an agent that nobody holds, once recovery has run. */
export function checkMailAtRest(store: FileStore, state: State, found: Found): void {
  const left = store.mail.ids(state.id).filter((id) => state.delivered.includes(id))
  if (left.length > 0) found('delivered mail is not in the inbox', left.join(', '))
  if (state.owes.length > 0)
    found('what ended turns owe is sent', state.owes.map(({ kind, to }) => `${kind} to ${to}`).join(', '))
  const pending = [...messagesIn(store, state.id)].filter(
    ({ message_id }) => !state.delivered.includes(message_id),
  )
  const controls = pending.filter(({ kind }) => kind === 'control')
  if (controls.length > 0)
    found('what was asked of an agent is obeyed', controls.map(({ message_id }) => message_id).join(', '))
  if (state.state === 'terminated' && pending.length > 0)
    found('mail to a terminated agent is sent back', pending.map(({ message_id }) => message_id).join(', '))
  checkMarker(store, state, pending.length > 0, found)
}

/** Once every agent was looked at under this start of the kernel, recovery goes by the markers alone. */
function checkMarker(store: FileStore, state: State, hasMail: boolean, found: Found): void {
  const isOwed = hasMail || state.owes.length > 0 || state.run?.status === 'open' || isInterrupted(state)
  if (isOwed && store.boots.isScanned() && !store.isMarked(state.id))
    found('an agent that is owed something is marked', 'its marker is missing')
}
