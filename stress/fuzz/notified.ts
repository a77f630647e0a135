/** Notifications while commands die: a target that fails one time in three, and the promises about what has left. */
import { NOTIFY_EVENTS } from '../../src/schema/words.js'
import type { AgentInWorld, World } from './world.js'

/** An event that the target has taken. */
export interface Left {
  id: string
  agent: string
}

/** The setting `notify`, with this target. */
export function notifySetting(target: { url: string } | { run: string[] }): string {
  return JSON.stringify([{ name: 'watcher', on: NOTIFY_EVENTS, ...target }])
}

const ANSWER_MS_MAX = 1500

let current: SimulatedTarget | undefined

/** A target of the simulated machine. It takes the place of the network. */
export class SimulatedTarget {
  static readonly url = 'http://watcher.invalid/'
  readonly left: Left[] = []

  constructor(private readonly chance: () => number) {
    current = this
    globalThis.fetch = ((_url: string, init: { body: string; signal: AbortSignal }) =>
      (current as SimulatedTarget).answer(init)) as unknown as typeof fetch
  }

  private async answer({ body, signal }: { body: string; signal: AbortSignal }): Promise<Response> {
    await new Promise<void>((resolve, reject) => {
      setTimeout(resolve, this.chance() * ANSWER_MS_MAX)
      signal.addEventListener('abort', () => reject(new Error('aborted')))
    })
    const fate = Math.floor(this.chance() * 9)
    if (fate < 7) this.left.push(leftIn(body))
    // It has taken the event, but its answer is lost.
    if (fate === 6) throw new TypeError('fetch failed')
    const status = fate < 6 ? 204 : fate === 7 ? 503 : 429
    const headers = { get: () => (fate === 8 ? '3' : null) }
    return { ok: status === 204, status, headers, body: null } as unknown as Response
  }
}

/** `event`: its JSON. */
export function leftIn(event: string): Left {
  const { id, agent } = JSON.parse(event)
  return { id, agent }
}

/** Nothing is lost, nothing leaves before it is in the log, and the events of an agent leave in their order. */
export function* leftByRule({ agents }: World, left: Left[]): Iterable<string> {
  for (const agent of agents) {
    const own = left.filter((each) => each.agent === agent.state.id).map(({ id }) => id)
    yield* ofAgent(agent, [...new Set(own)])
  }
}

function* ofAgent({ state, records }: AgentInWorld, left: string[]): Iterable<string> {
  const queued: string[] = []
  const ends = new Map<string, string>()
  for (const record of records) {
    if (record.kind === 'outbound.queued') queued.push(record.outbound_id)
    if (record.kind !== 'outbound.sent' && record.kind !== 'outbound.dropped') continue
    const { outbound_id: id } = record
    if (ends.has(id)) yield `a notification has one end: ${id} of ${state.path} has two`
    ends.set(id, record.kind)
    if (record.kind === 'outbound.sent' && !left.includes(id))
      yield `a notification counts as sent once its target has it: ${id} of ${state.path}`
  }
  for (const id of queued)
    if (!ends.has(id)) yield `a notification is sent or dropped: ${id} of ${state.path} is not`
  for (const id of left)
    if (!queued.includes(id))
      yield `a notification leaves once it is durable: ${id} of ${state.path} left before`
  const inOrder = queued.filter((id) => left.includes(id))
  if (inOrder.join() !== left.join()) yield `the notifications of ${state.path} leave in order`
}
