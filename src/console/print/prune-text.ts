/** The output of `prune` without `--json`. */
import type { PruneResult } from '../../schema/output-overview.js'

export function pruneText({ dry_run, removed, kept, messages }: PruneResult): string {
  const lines = [
    ...removed.map(({ path }) => `${path} ${dry_run ? 'would be' : 'is'} removed`),
    ...kept.map(({ path, why }) => `${path} is not removed: ${why}`),
    ...(messages === 0
      ? []
      : [
          `${messages} delivered ${messages === 1 ? 'message' : 'messages'} ${dry_run ? 'would be' : messages === 1 ? 'is' : 'are'} removed`,
        ]),
  ]
  return lines.join('\n') || 'nothing is old enough to remove'
}
