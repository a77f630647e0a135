import { randomUuid } from '../../start/random.js'
import { BatchLines } from '../store.js'
import {
  afterThis,
  append,
  created,
  demand,
  isEqual,
  type NewHome,
  restingAgent,
  type StoreCase,
  storeCase,
} from './case.js'

/** Slots, waits, stop requests, markers, hosts and settings. */
export function otherCases(newHome: NewHome): StoreCase[] {
  return [
    storeCase(
      newHome,
      'a pool has as many slots as asked for, and a released one is free again',
      async (home) => {
        const take = () => home.open().takeSlot('pool', 2, 'conformance')
        const [first, second, third] = [await take(), await take(), await take()]
        demand(first !== undefined && second !== undefined, 'two are free')
        demand(third === undefined, 'a third is not')
        demand(
          (await home.open().takeSlot('other', 1, 'conformance')) !== undefined,
          'another pool has its own',
        )
        await first?.release()
        await afterThis()
        const again = await take()
        demand(again !== undefined, 'the released one is free')
      },
    ),
    storeCase(
      newHome,
      'one process at a time sends the outbound messages of an agent, also while another holds the agent',
      async (home) => {
        const lease = await created(home.open())
        const take = () => home.open().takeSender(lease.agentId, 'conformance')
        const first = await take()
        demand(first !== undefined, 'the right is free')
        demand((await take()) === undefined, 'a second process does not get it')
        await first?.release()
        demand((await take()) !== undefined, 'the released right is free')
        demand(
          (await home.open().takeSender(randomUuid(), 'conformance')) === undefined,
          'no agent, no right',
        )
      },
    ),
    storeCase(
      newHome,
      'a search finds texts as JSON writes them, in each case, and in blobs',
      async (home) => {
        const store = home.open()
        const lease = await created(store)
        append(lease, 'He said "Größe 5"')
        const content = Buffer.from(`${'x'.repeat(100)} the "needle" is here`)
        const { blob } = lease.writeBlob(content)
        const batch = [3, 3]
        const lines = new BatchLines(lease.log.size())
        lines.add({ seq: 3, ts: '', kind: 'message.user', batch, content: { blob, bytes: content.length } })
        const { bytes } = lines
        lease.append({
          id: randomUuid(),
          offset: lease.log.size(),
          bytes,
          blobs: [content],
          isUpgrade: false,
        })
        const { agentId } = lease
        await lease.rest({ snapshot: undefined, needsVisit: false })
        const { contents } = home.open()
        const found = async (text: string, ignoresCase: boolean): Promise<unknown[]> => {
          const seqs: unknown[] = []
          const ids = [await restingAgent(store), agentId]
          for await (const { agentId: id, record } of contents.recordsWith(ids, { text, ignoresCase }))
            seqs.push(id === agentId ? record?.seq : id)
          return seqs
        }
        demand(isEqual(await found('"Größe', false), [2]), 'a text with quotes')
        demand(isEqual(await found('grösse', true), []), 'no other text')
        demand(isEqual(await found('GRÖßE 5', true), [2]), 'in every case')
        demand(isEqual(await found('größe', false), []), 'in this case only')
        demand(isEqual(await found('"needle"', false), [3]), 'in a blob')
        const parts = [...contents.blobParts(agentId, { blob, bytes: content.length })]
        demand(Buffer.concat(parts).equals(content), 'the parts of a blob are its content')
      },
    ),
    storeCase(newHome, 'a wait between agents is seen by all until it ends', async (home) => {
      const store = home.open()
      const [waiter, recipient] = [await restingAgent(store), await restingAgent(store)]
      const edge = await store.waits.add(waiter, recipient, 'conformance')
      demand(isEqual(home.open().waits.edgesOf(waiter), [recipient]), 'it is there')
      demand(isEqual(home.open().waits.edgesOf(recipient), []), 'it has a direction')
      await edge.release()
      demand(isEqual(home.open().waits.edgesOf(waiter), []), 'it ends')
    }),
    storeCase(
      newHome,
      'a process that waits with a message is seen by all until it stops waiting',
      async (home) => {
        const store = home.open()
        const agentId = await restingAgent(store)
        const before = new Date().toISOString()
        const waits = [await store.waits.arrive(agentId, 'a'), await store.waits.arrive(agentId, 'b')]
        const seen = home.open().waits.arrivals(agentId)
        demand(seen.length === 2 && seen.every((since) => since >= before), `both, with their times: ${seen}`)
        demand(isEqual(home.open().waits.edgesOf(agentId), []), 'the agent itself does not wait')
        for (const wait of waits) await wait.release()
        demand(isEqual(home.open().waits.arrivals(agentId), []), 'it ends')
      },
    ),
    storeCase(newHome, 'a stop request is there once, and its watcher learns of it', async (home) => {
      const store = home.open()
      const agentId = await restingAgent(store)
      const runId = randomUuid()
      let told: (() => void) | undefined
      const noticed = new Promise<void>((resolve) => {
        told = resolve
      })
      const watch = store.requests.watch(agentId, (requests) => requests.length > 0 && told?.())
      const by = { face: 'cli', claims: { name: 'Ana “\u2028” 東京' } }
      home.open().requests.put(agentId, runId, 'suspend', by)
      home.open().requests.put(agentId, runId, 'suspend', by)
      await noticed
      watch.close()
      const asked = [{ runId, verb: 'suspend', by }]
      demand(isEqual(store.requests.requestsTo(agentId), asked), 'it is there once, with who asked')
      store.requests.remove(agentId, runId, 'suspend')
      demand(isEqual(home.open().requests.requestsTo(agentId), []), 'it is removed')
      home.open().requests.put(agentId, runId, 'cancel')
      demand(isEqual(store.requests.requestsTo(agentId), [{ runId, verb: 'cancel' }]), 'without it, too')
      store.requests.remove(agentId, runId, 'cancel')
      demand(isEqual(home.open().requests.requestsTo(agentId), []), 'it is removed')
    }),
    storeCase(newHome, 'the time of the last tick is known to every process', async (home) => {
      demand(home.open().visits.lastTick === undefined, 'none at first')
      home.open().visits.markTick('2026-11-20T10:00:00.000Z')
      home.open().visits.markTick('2026-11-20T10:01:00.000Z')
      demand(home.open().visits.lastTick === '2026-11-20T10:01:00.000Z', 'the latest')
    }),
    storeCase(newHome, 'a marker without an agent can be removed, one with an agent stays', async (home) => {
      const store = home.open()
      const agentId = await restingAgent(store)
      const ghost = randomUuid()
      store.visits.mark(agentId)
      store.visits.mark(ghost)
      for (const id of [agentId, ghost]) store.visits.unmarkAbsent(id)
      demand(isEqual(home.open().visits.markedIds(), [agentId]), 'the agent stays marked')
    }),
    storeCase(newHome, 'markers are complete once a recovery has said so', async (home) => {
      demand(!home.open().visits.isComplete, 'not at first')
      home.open().visits.markComplete()
      demand(home.open().visits.isComplete, 'then for every process')
      demand(home.open().visits.sweep() === 0, 'a home without dead writers has nothing to sweep')
    }),
    storeCase(newHome, 'a host that was declared gone is known by its boot', async (home) => {
      const host = { kernel_boot_id: 'boot-1', host_id: 'host-1', host_name: 'old', declared_at: '' }
      home.open().hosts.declare(host)
      demand(home.open().hosts.has('boot-1') && !home.open().hosts.has('boot-2'), 'only that boot is gone')
      demand(home.open().hosts.all()[0]?.host_name === 'old', 'it has its name')
    }),
    storeCase(newHome, 'the ended moves of a removed agent are remembered', async (home) => {
      const [agentId, other, first, second] = [randomUuid(), randomUuid(), randomUuid(), randomUuid()]
      const { moves } = home.open()
      moves.add(agentId, [])
      demand(!moves.has(agentId, first), 'none at first')
      moves.add(agentId, [first])
      moves.add(agentId, [first, second])
      const has = (agent: string, move: string): boolean => home.open().moves.has(agent, move)
      demand(has(agentId, first) && has(agentId, second), 'each of them, for every process')
      demand(!has(other, first) && !has(first, agentId), 'only those of that agent')
    }),
    storeCase(newHome, 'the usage of a removed agent stays, and a repetition replaces it', async (home) => {
      const usage = { input_tokens: 1, output_tokens: 2, runs: 1, runs_with_usage: 1, runs_with_cost: 0 }
      const removed = (agent_id: string, path: string) => ({
        ...{ agent_id, path, parent_id: null, created_at: '', removed_at: '' },
        usage: { total: usage, models: [{ model: null, ...usage }], days: [] },
      })
      const [one, other] = [randomUuid(), randomUuid()].sort() as [string, string]
      demand(isEqual(home.open().removed.all(), []), 'none at first')
      for (const [id, path] of [
        [other, 'b'],
        [one, 'old'],
        [one, 'a'],
      ] as const)
        home.open().removed.put(removed(id, path))
      const wanted = [
        { agentId: one, removed: removed(one, 'a') },
        { agentId: other, removed: removed(other, 'b') },
      ]
      demand(isEqual(home.open().removed.all(), wanted), 'each once, in the order of the ids')
    }),
    storeCase(newHome, 'settings are read as they were written', async (home) => {
      demand(home.open().readConfig() === undefined, 'a new home has none')
      home.open().writeConfig('{"provider":"scripted"}')
      demand(home.open().readConfig()?.toString() === '{"provider":"scripted"}', 'every process reads them')
    }),
    storeCase(newHome, 'a home has one id', async (home) => {
      const { homeId } = home.open()
      demand(homeId !== '' && homeId === home.open().homeId, 'for every process')
    }),
  ]
}
