/** The output of `outbox` and `notify test` without `--json`. */
import { readableTime } from '../../clock.js'
import type { NotifyTested } from '../../schema/output-home.js'
import type { OutboxMessage, OutboxView } from '../../schema/output-overview.js'

export function outboxText({ messages }: OutboxView): string {
  return messages.length === 0 ? 'no messages' : messages.map(messageText).join('\n\n')
}

function messageText(message: OutboxMessage): string {
  const { path, event, target, at, text } = message
  const head = `${event} of ${path} to ${target}, ${readableTime(at)}: ${stateText(message)}`
  return `${head}\n    ${text.trimEnd().replaceAll('\n', '\n    ')}`
}

function stateText({ state, attempts, next_at, reason, why }: OutboxMessage): string {
  if (state === 'dropped') return `dropped, ${reason}${why === null ? '' : `: ${why}`}`
  if (attempts === 0) return 'pending'
  const next = next_at === null ? '' : `; next attempt from ${readableTime(next_at)}`
  return `failed ${attempts === 1 ? 'once' : `${attempts} times`}${why === null ? '' : `: ${why}`}${next}`
}

export function testedText({ targets }: NotifyTested): string {
  return targets
    .map(({ target, accepted, why }) => `${target}: ${accepted ? 'accepted' : `failed: ${why}`}`)
    .join('\n')
}
