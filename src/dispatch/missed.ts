/** The words about refused messages, the same in `show`, in `list` and on the page. */
import type { ShownAgent } from '../schema/output.js'
import type { Refusal } from '../schema/snapshot.js'

/** The keys whose messages never ran, oldest first, each once. `hasMore`: there are others that the list has no room for. */
export function missedKeys(refused: Refusal[]): { keys: string[]; hasMore: boolean } {
  const keys = refused.flatMap(({ key }) => (key === null ? [] : [key]))
  return { keys: [...new Set(keys)], hasMore: refused.some(({ more }) => more) }
}

const SHOWN_KEYS_MAX = 16

/** `n1, n2, n3`, or `n1, …, n15 and 84 more, the newest n99`. */
export function keysText(refused: Refusal[]): string {
  const { keys, hasMore } = missedKeys(refused)
  if (keys.length <= SHOWN_KEYS_MAX && !hasMore) return keys.join(', ')
  const shown = keys.slice(0, SHOWN_KEYS_MAX - 1)
  const more = keys.length - shown.length
  return `${shown.join(', ')} and ${hasMore ? `at least ${more + 1}` : more} more, the newest ${keys.at(-1)}`
}

/** How many messages never began because of a waiting turn, or with a key for any cause. Null if there are none. */
export function missedCount(refused: Refusal[]): string | null {
  const { keys, hasMore } = missedKeys(refused)
  const others = refused.filter(({ cause, key }) => cause === 'waiting' && key === null).length
  const count = keys.length + others
  return count === 0 ? null : `${count}${hasMore ? '+' : ''}`
}

/** The cause in the past tense once it is gone. Whether a provider would run now is known only to `substrat check`. */
export function refusalText(
  { cause, message, past }: Refusal,
  { hold, gate, agent }: Pick<ShownAgent, 'hold' | 'gate'> & { agent: Pick<ShownAgent['agent'], 'status'> },
): string {
  if (cause === 'hold' && !hold) return 'it was on hold; it is not now'
  if (cause === 'gate' && !gate.gated) return 'it was gated; it is not now'
  if (cause === 'waiting' && (past === true || agent.status !== 'waiting'))
    return `${message.replace(' is waiting', ' was waiting')}; it is over`
  return message
}
