/** Markers, stop requests, waits, hosts, moves and searches. */
import type {
  Changes,
  Contents,
  EndedMoves,
  GoneHost,
  GoneHosts,
  Holder,
  RemovedAgent,
  RemovedAgents,
  Requests,
  Visits,
  Waits,
} from 'substrat/store'
import { requestsIn, requestWord } from './agent-lease.js'
import { bytesOf } from './client.js'
import { openRemoteLog } from './log.js'
import { call, HeldRight, isDeadHere, ownHolder, type Shared } from './rights.js'
import { uptimeMs } from './uptime.js'

export function visitsOf(shared: Shared): Visits {
  const first = (name: string, ...values: unknown[]): unknown =>
    call(shared, undefined, (client) => client.list(name, ...values))[0]
  const write = (name: string, ...values: unknown[]): unknown =>
    call(shared, undefined, (client) => client.call(name, values))[0]?.[name]
  return {
    mark: (agentId) => void write('mark', agentId),
    isMarked: (agentId) => first('is_marked', agentId) === true,
    markedIds: () => {
      const ids = call(
        shared,
        undefined,
        (client) => client.takeAhead<string[]>('marked') ?? client.list<string>('marked_ids'),
      )
      shared.pages.noteMarked(ids)
      return ids
    },
    get isComplete() {
      return (shared.client.takeAhead<boolean>('is complete') ?? first('has_all_marks')) === true
    },
    markComplete: () => void write('mark_complete'),
    get lastTick() {
      return (first('last_tick') ?? undefined) as string | undefined
    },
    markTick: (at) => void write('mark_tick', at),
    unmarkAbsent: (agentId) => void write('unmark_absent', agentId),
    sweep: () => Number(write('sweep')),
  }
}

export function requestsOf(shared: Shared): Requests {
  const requestsTo: Requests['requestsTo'] = (agentId) =>
    requestsIn(call(shared, agentId, (client) => client.list('requests', agentId)))
  return {
    put: (agentId, runId, verb, by) =>
      void call(shared, agentId, (client) =>
        client.call('put_request', [agentId, runId, requestWord(verb, by)]),
      ),
    requestsTo,
    remove(agentId, runId, verb) {
      for (const asked of requestsTo(agentId)) {
        if (asked.runId !== runId || asked.verb !== verb) continue
        const word = requestWord(verb, asked.by)
        call(shared, agentId, (client) => client.call('remove_request', [agentId, runId, word]))
      }
    },
    watch: (agentId, onRequests) => {
      const watch = shared.client.keeper.watch(agentId, () => onRequests(requestsTo(agentId)))
      const cached = shared.client.cachedMail(agentId)
      onRequests(cached === undefined ? requestsTo(agentId) : requestsIn(cached.requests))
      return watch
    },
  }
}

interface Edge {
  recipient: string | null
  holder: Holder
  since: Date
}

export function waitsOf(shared: Shared): Waits {
  const add = async (kind: string, agentId: string, recipient: string | null, command: string) => {
    const lease = shared.kit.randomUuid()
    const values = [lease, kind, agentId, recipient, ownHolder(shared, command), shared.client.ttlMs]
    const sentMs = uptimeMs()
    call(shared, agentId, (client) => client.call('add_edge', values))
    return new HeldRight(shared, 'edge', agentId, lease, sentMs)
  }
  const edges = (kind: string, agentId: string): Edge[] => {
    const rows = call(shared, agentId, (client) => client.read('edges', kind, agentId))
    return (rows as unknown as Edge[]).filter(({ holder }) => !isDeadHere(shared, holder))
  }
  return {
    add: (waiterId, recipientId, command) => add('wait', waiterId, recipientId, command),
    edgesOf: (agentId) => [...new Set(edges('wait', agentId).map(({ recipient }) => recipient as string))],
    arrive: (agentId, command) => add('arrival', agentId, null, command),
    arrivals: (agentId) => edges('arrival', agentId).map(({ since }) => since.toISOString()),
  }
}

const ALL_AGENTS = '00000000-0000-0000-0000-000000000000'
const LOOK_MS = 2000

/** A writer sends notifications only while a row says that a process follows the agent. */
export function changesOf(shared: Shared): Changes {
  return {
    everyMs: LOOK_MS,
    follow: (agentId, onChange) => {
      const lease = shared.kit.randomUuid()
      const thing = agentId ?? ALL_AGENTS
      const values = [lease, 'follow', thing, null, ownHolder(shared, 'follow'), shared.client.ttlMs]
      const sentMs = uptimeMs()
      const right = unlessForbidden(() => {
        call(shared, agentId ?? undefined, (client) => client.call('add_edge', values))
        return new HeldRight(shared, 'edge', thing, lease, sentMs)
      })
      const watch = shared.client.keeper.watch(thing, onChange)
      return {
        close: () => {
          watch.close()
          void right?.release()
        },
      }
    },
  }
}

/** A role that may only read hears of nothing, and its process looks every `everyMs`. */
function unlessForbidden<T>(act: () => T): T | undefined {
  try {
    return act()
  } catch (error) {
    if ((error as { facts?: { sqlstate?: string } }).facts?.sqlstate === '42501') return undefined
    throw error
  }
}

export function hostsOf(shared: Shared): GoneHosts {
  const all = (): GoneHost[] => call(shared, undefined, (client) => client.list('gone_hosts'))
  return {
    has: (kernelBootId) => all().some(({ kernel_boot_id }) => kernel_boot_id === kernelBootId),
    all,
    declare: (host) =>
      void call(shared, undefined, (client) => client.call('declare_gone', [host.kernel_boot_id, host])),
  }
}

export function movesOf(shared: Shared): EndedMoves {
  return {
    has: (agentId, moveId) =>
      call(shared, agentId, (client) => client.list('has_move', agentId, moveId))[0] === true,
    add: (agentId, moveIds) => {
      if (moveIds.length > 0) call(shared, agentId, (client) => client.call('add_moves', [agentId, moveIds]))
    },
  }
}

export function removedOf(shared: Shared): RemovedAgents {
  const { kit } = shared
  return {
    put: (removed) =>
      void call(shared, removed.agent_id, (client) =>
        client.call('put_removed', [removed.agent_id, kit.frame(removed)]),
      ),
    all: () =>
      call(shared, undefined, (client) => client.read('removed_agents')).map(({ agent_id, bytes }) => {
        const line = kit.unframeFile(bytesOf(bytes))
        const agentId = agent_id as string
        return 'damage' in line ? { agentId } : { agentId, removed: line.object as unknown as RemovedAgent }
      }),
  }
}

export function contentsOf(shared: Shared): Contents {
  const blob = (agentId: string, name: string): Buffer[] =>
    call(shared, agentId, (client) => client.list('read_blob', agentId, name)).map(bytesOf)
  const { kit } = shared
  return {
    recordsWith: (agentIds, needle) => {
      const finder = kit.finderOf(needle)
      return kit.oneByOne(agentIds, (agentId) => recordsOf(agentId, finder))
    },
    blobParts: (agentId, { blob: name }) => blob(agentId, name),
  }

  function* recordsOf(
    agentId: string,
    finder: ReturnType<typeof kit.finderOf>,
  ): ReturnType<typeof kit.recordsFound> {
    const [row] = call(shared, agentId, (client) => client.read('open_agent', agentId))
    if (row === undefined) return
    const log = openRemoteLog(shared, agentId, Number(row.log_bytes), { from: 0, bytes: Buffer.alloc(0) })
    const names = call(shared, agentId, (client) => client.list<string>('blob_names', agentId))
    const found = names.filter((name) => kit.contains(blob(agentId, name), finder))
    yield* kit.recordsFound(log, finder, new Set(found))
  }
}
