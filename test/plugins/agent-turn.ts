/** Runs one turn of an agent provider, and collects its events. */
import type { AgentEvent, AgentSession } from '../../src/provider/contract.js'

export interface Turn {
  events: AgentEvent[]
  error: unknown
}

export interface TurnGiven {
  allow?: string[]
  signal?: AbortSignal
  onEvent?: (event: AgentEvent) => void
}

/** Runs a turn to its end, whether it succeeds or fails. */
export function turn(session: AgentSession, prompt: string, given: TurnGiven = {}): Promise<Turn> {
  return gathered(session.send(prompt, optionsOf(given)), given)
}

export function optionsOf({ allow = [], signal = new AbortController().signal }: TurnGiven): {
  allow: string[]
  signal: AbortSignal
} {
  return { allow, signal }
}

export async function gathered(
  stream: AsyncIterable<AgentEvent>,
  { onEvent }: TurnGiven = {},
): Promise<Turn> {
  const events: AgentEvent[] = []
  try {
    for await (const event of stream) {
      events.push(event)
      onEvent?.(event)
    }
    return { events, error: undefined }
  } catch (error) {
    return { events, error }
  }
}

/** Throws unless the turn has exactly one `done`, as its last event. */
export function replyIn({ events, error }: Turn): string {
  if (error !== undefined) throw error
  const last = events.at(-1)
  if (last?.type !== 'done' || events.filter(({ type }) => type === 'done').length !== 1) {
    throw new Error(`there is no one done at the end: ${JSON.stringify(events).slice(0, 1000)}`)
  }
  return last.reply
}

export function typesOf({ events }: Turn): string[] {
  return events.map(({ type }) => type)
}
