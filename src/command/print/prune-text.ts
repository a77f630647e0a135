/** What `prune` did, for a person. */
import type { PruneResult } from '../../operations/prune.js'

export function pruneText({ dry_run, removed, kept, messages }: PruneResult): string {
  const lines = [
    ...removed.map(({ path }) => `${path} ${dry_run ? 'would be' : 'is'} removed`),
    ...kept.map(({ path, why }) => `${path} stays: ${why}`),
    ...(messages === 0
      ? []
      : [
          `${messages} taken ${messages === 1 ? 'message' : 'messages'} ${dry_run ? 'would be' : messages === 1 ? 'is' : 'are'} forgotten`,
        ]),
  ]
  return lines.join('\n') || 'nothing is that old'
}
