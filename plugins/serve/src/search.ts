/** `GET /v1/search`: runs `substrat search`, which reads every log, in a process of its own. */
import type { Server } from './server.js'

interface Search {
  text: string
  agent?: string | undefined
  since?: string | undefined
  limit: number
}

export async function searchWith(
  { commands, core }: Server,
  { text, agent, since, limit }: Search,
  signal: AbortSignal,
): Promise<object> {
  const args = [
    'search',
    '--json',
    ...(agent === undefined ? [] : [`--agent=${agent}`]),
    ...(since === undefined ? [] : [`--since=${since}`]),
    '--',
    text,
  ]
  // One more than asked shows whether there are more.
  const { ended } = commands.start(args, { resultsMax: limit + 1, signal })
  const { results, error, exit, said } = await ended
  // A damaged log does not hide the matches in the others.
  const isDamaged = exit === core.EXIT_STATUS.CORRUPT
  if (error !== undefined && !isDamaged) throw error
  return {
    matches: results.slice(0, limit),
    is_end: results.length <= limit,
    damage: isDamaged ? (said ?? null) : null,
  }
}
