/** One turn of an agent provider, and what it gave. */
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

/** A turn to its end, whichever it is. */
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

/** Throws unless the turn has one `done`, and at its end. */
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
