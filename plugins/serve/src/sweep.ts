/** The sweep before the server listens: it runs `recover --all --continue none`. */
import type { Commands } from '../../shared/src/face/commands.js'

interface Recovered {
  outcome: string
  run: { status: string } | null
  path?: string
}

/**
 * Interrupted turns are marked before the first client can ask about them. No turn runs: a person or a client decides that.
 * Returns a sentence for the operator. The others can be read also if one agent cannot be repaired.
 */
export async function sweep(commands: Commands): Promise<string | undefined> {
  const { ended } = commands.start(['recover', '--all', '--continue', 'none', '--json'])
  const { results, error } = await ended
  // The home itself cannot be used.
  if (error !== undefined && results.length === 0) throw error
  const recovered = results as Recovered[]
  // After a reboot every agent is visited. One that waits for a decision is repaired too, and not interrupted.
  const interrupted = recovered.filter(
    ({ outcome, run }) => outcome === 'marked' && run?.status === 'interrupted',
  )
  const failed = recovered.filter(({ outcome }) => outcome === 'failed')
  const parts = [
    [interrupted.length, 'interrupted'],
    [failed.length, 'not recovered (substrat doctor)'],
  ].filter(([number]) => number !== 0)
  return parts.length === 0 ? undefined : `agents: ${parts.map((part) => part.join(' ')).join(', ')}`
}
