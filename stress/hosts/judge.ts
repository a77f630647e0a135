/** The promises of a home that several hosts used, as sentences about those that are broken. */
import { SubstratError } from '../../src/errors.js'
import type { Postgres } from '../../test/support/postgres.js'
import { type AgentSeen, audit, HomeView } from '../support/home-view.js'
import type { Broken } from '../support/promises.js'
import { takenOnce, takenWithoutReply } from '../support/promises.js'
import { isReplaced, type Message } from './storm.js'

/** Each message was answered once, or replaced and never answered. Each printed reply is the one in the log. */
export function* answeredOnce(home: HomeView, messages: Message[]): Broken {
  for (const message of messages) {
    const { agent, content, told } = message
    yield* isReplaced(message)
      ? takenWithoutReply(home.agent(agent), content)
      : takenOnce(home.agent(agent), content, 'done')
    for (const { code, stdout } of told)
      if (code === 0 && stdout !== 'done\n')
        yield `a printed reply is the reply in the log: ${content} printed ${JSON.stringify(stdout)}`
  }
}

/** A lease whose holder was replaced never writes again. */
export async function onlyOneWriter(server: Postgres, database: string): Promise<string[]> {
  const rows = await server.query(
    database,
    'select agent_id, lease from substrat.batch where lease is not null order by agent_id, first_byte',
  )
  const broken: string[] = []
  const over = new Map<unknown, Set<unknown>>()
  let last: Record<string, unknown> | undefined
  for (const row of rows) {
    const before = over.get(row.agent_id) ?? new Set()
    over.set(row.agent_id, before)
    if (last?.agent_id === row.agent_id && last?.lease !== row.lease) before.add(last?.lease)
    if (before.has(row.lease))
      broken.push(`an agent has one writer at a time: ${row.lease} wrote after another lease`)
    last = row
  }
  return broken
}

/** Logs only grow, also while hosts and the server fail. */
export class Growth {
  private before = new Map<string, Buffer>()
  readonly broken: string[] = []

  look(home: string): void {
    for (const { state, log } of agentsIn(home)) {
      const was = this.before.get(state.id)
      if (was !== undefined && !log.subarray(0, was.length).equals(was))
        this.broken.push(`a log keeps its first ${was.length} bytes: that of ${state.path} does not`)
      this.before.set(state.id, log)
    }
  }
}

/** None while the server is down. */
function agentsIn(home: string): AgentSeen[] {
  try {
    return HomeView.read(home).agents
  } catch (error) {
    if (error instanceof SubstratError) return []
    throw error
  }
}

export function isSound(home: string): string[] {
  return audit(home, true)
}
