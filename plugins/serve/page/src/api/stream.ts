/**
 * Server-sent events by fetch, because EventSource cannot send the token in a header. A stream that ends
 * is opened again with the number of the last event, so that nothing is missing and nothing comes twice.
 */
import { connection } from '../state/connection.js'
import { request } from './client.js'
import { Problem } from './problem.js'

export interface ServerEvent {
  event: string
  id: string | undefined
  data: string
}

export interface Following {
  signal: AbortSignal
  onEvent: (event: ServerEvent) => void
  /** The stream failed for a reason that will not pass, such as an agent that does not exist. */
  onProblem?: (problem: Problem) => void
}

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 4000

/** Ends when the signal is aborted, or after a problem that will not pass. `pathFrom`: the path that continues after an id. */
export async function follow(
  pathFrom: (lastId: string | undefined) => string,
  following: Following,
): Promise<void> {
  const { signal, onEvent, onProblem } = following
  let lastId: string | undefined
  let pauseMs = FIRST_PAUSE_MS
  while (!signal.aborted) {
    try {
      const response = await request(pathFrom(lastId), { headers: { accept: 'text/event-stream' }, signal })
      connection.set('live')
      for await (const event of eventsIn(response.body as ReadableStream<Uint8Array>)) {
        lastId = event.id ?? lastId
        // A server that only says why it closes the stream is asked less and less often.
        if (event.event !== 'closed') pauseMs = FIRST_PAUSE_MS
        onEvent(event)
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof Problem && !error.isTemporary) {
        onProblem?.(error)
        return
      }
    }
    if (signal.aborted) return
    connection.set('lost')
    await pause(pauseMs, signal)
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
  }
}

/** A snapshot of many agents is one very long line, so pieces of a line are joined only once. */
async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>
  const reader = body.pipeThrough(decoder).getReader()
  let pieces: string[] = []
  let fields: [string, string][] = []
  for (;;) {
    const { value, done } = await reader.read()
    // An event without its end was cut off: the server sends it again.
    if (done) return
    const [first = '', ...others] = value.split('\n')
    pieces.push(first)
    for (const next of others) {
      const line = pieces.join('')
      pieces = [next]
      if (line !== '') fields.push(fieldOf(line))
      else {
        const event = eventOf(fields)
        if (event !== undefined) yield event
        fields = []
      }
    }
  }
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)]
}

function eventOf(fields: [string, string][]): ServerEvent | undefined {
  const last = (wanted: string): string | undefined => fields.findLast(([name]) => name === wanted)?.[1]
  const data = last('data')
  return data === undefined ? undefined : { event: last('event') ?? 'message', id: last('id'), data }
}

/** Ends early when the device is online again, or the reader looks at the page. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      removeEventListener('online', end)
      document.removeEventListener('visibilitychange', end)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    addEventListener('online', end)
    document.addEventListener('visibilitychange', end)
    signal.addEventListener('abort', end)
  })
}
