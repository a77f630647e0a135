/** The order of messages in an inbox. */
import type { Message } from './message.js'

type InOrder = Pick<Message, 'message_id' | 'sequence'>

/** By the sender's counter. The order between senders is arbitrary but stable. */
export function inOrder(a: InOrder, b: InOrder): number {
  return a.sequence - b.sequence || (a.message_id < b.message_id ? -1 : 1)
}

/**
 * Order of the operator's inbox: by counter for one sender, by sending time between senders. Older versions stored a
 * time instead of the counter; those messages come first.
 */
export function sortForOperator(messages: Iterable<Message>): Message[] {
  const latest = new Map<string, string>()
  return [...messages]
    .sort((a, b) => Number(isTimed(b)) - Number(isTimed(a)) || inOrder(a, b))
    .map((message) => {
      const { from, created_at } = message
      const before = latest.get(from) ?? ''
      // A clock that was set back must not move a message before an earlier one of the same sender.
      const at = created_at > before ? created_at : before
      latest.set(from, at)
      return { message, at }
    })
    .sort((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)))
    .map(({ message }) => message)
}

/** A larger `sequence` is a time in milliseconds: no log has as many records. */
const EARLIEST_TIMED_PLACE = Date.parse('2020-01-01T00:00:00Z')

function isTimed({ sequence }: Message): boolean {
  return sequence >= EARLIEST_TIMED_PLACE
}
