import { randomUuid } from '../../start/random.js'
import type { Batch, Lease, Store } from '../store.js'
import {
  append,
  codeOf,
  demand,
  type HomeFixture,
  isEqual,
  linesOf,
  type NewHome,
  OPTIONS,
  restingAgent,
  type StoreCase,
  storeCase,
  taken,
  textsOf,
} from './case.js'

/** The lease of an agent: one writer, and nothing of a writer that has lost its right. */
export function leaseCases(newHome: NewHome): StoreCase[] {
  return [
    storeCase(newHome, 'an agent has one holder at a time', async (home) => {
      const store = home.open()
      const agentId = await restingAgent(store)
      const lease = await taken(store, agentId)
      demand((await home.open().take(agentId, OPTIONS)) === undefined, 'a second process does not get it')
      demand((await home.open().hold(agentId, OPTIONS)) === undefined, 'also not without its log')
      demand(home.open().holder(agentId)?.command === OPTIONS.command, 'its holder is named')
      await lease.release()
      demand(!home.open().isHeld(agentId), 'it is free after the release')
      await (await taken(home.open(), agentId)).release()
    }),
    storeCase(newHome, 'of many processes that take an agent at once, one at a time has it', async (home) => {
      const agentId = await restingAgent(home.open())
      let holders = 0
      let most = 0
      const takeAndAppend = async (text: string): Promise<void> => {
        const lease = await home.open().take(agentId, { command: text, waitMs: 10_000 })
        demand(lease !== undefined, 'each gets its turn')
        if (lease === undefined) return
        holders += 1
        most = Math.max(most, holders)
        append(lease, text)
        await new Promise((resolve) => setImmediate(resolve))
        holders -= 1
        await lease.release()
      }
      await Promise.all(['a', 'b', 'c', 'd'].map(takeAndAppend))
      const texts = textsOf(home.open(), agentId) ?? []
      demand(most === 1, 'two never hold it at once')
      demand(
        isEqual([...texts].sort(), ['a', 'b', 'born', 'c', 'd']),
        `no append is lost: ${texts.join(', ')}`,
      )
    }),
    storeCase(newHome, 'an appended batch is there for every process when append returns', async (home) => {
      const agentId = await restingAgent(home.open())
      const lease = await taken(home.open(), agentId)
      append(lease, 'one')
      demand(isEqual(textsOf(home.open(), agentId), ['born', 'one']), 'another process reads it')
      append(lease, 'two')
      demand(isEqual(textsOf(home.open(), agentId), ['born', 'one', 'two']), 'in the order of the appends')
      await lease.release()
    }),
    storeCase(newHome, 'a batch that is appended twice is there once', async (home) => {
      const agentId = await restingAgent(home.open())
      const lease = await taken(home.open(), agentId)
      const batch = batchAfter(lease, 2, 'one')
      lease.append(batch)
      lease.append(batch)
      demand(isEqual(textsOf(home.open(), agentId), ['born', 'one']), 'the second append changes nothing')
      await lease.release()
    }),
    storeCase(newHome, 'a batch for another end of the log is refused', async (home) => {
      const agentId = await restingAgent(home.open())
      const lease = await taken(home.open(), agentId)
      const batch = batchAfter(lease, 2, 'gap')
      const gap = { ...batch, offset: batch.offset + 1 }
      demand((await codeOf(() => lease.append(gap))) !== undefined, 'append throws')
      demand(isEqual(textsOf(home.open(), agentId), ['born']), 'the log is unchanged')
      await lease.release()
    }),
    storeCase(
      newHome,
      'a lost lease writes nothing, before and after the next holder has written',
      async (home) => {
        const agentId = await restingAgent(home.open())
        const stale = await taken(home.open(), agentId)
        const batch = batchAfter(stale, 2, 'stale')
        await lose(home, stale)
        demand((await codeOf(() => stale.assertHeld())) === 'LOCKED', 'the holder learns it')
        demand((await codeOf(() => stale.append(batch))) === 'LOCKED', 'an append is refused')
        const next = await taken(home.open(), agentId)
        demand((await codeOf(() => stale.append(batch))) === 'LOCKED', 'also while another process holds it')
        append(next, 'next')
        const late = batchAfter(next, 3, 'stale')
        demand((await codeOf(() => stale.append(late))) === 'LOCKED', 'also at the right end of the log')
        demand((await codeOf(() => stale.writeBlob(Buffer.from('x')))) === 'LOCKED', 'a blob is refused')
        const end = next.log.size()
        const tail = { synced: end, end, openRunId: null }
        demand((await codeOf(() => stale.repair(tail))) === 'LOCKED', 'a repair is refused')
        const code = await codeOf(() => stale.rest({ snapshot: { of: 'stale' }, needsVisit: false }))
        demand(code === 'LOCKED', 'a rest is refused')
        demand(snapshotOf(home.open(), agentId)?.of === 'birth', 'the snapshot is unchanged')
        demand(
          isEqual(textsOf(home.open(), agentId), ['born', 'next']),
          'the log has only the records of the next',
        )
        demand(home.open().isHeld(agentId), 'the next holder is not released')
        await next.release()
      },
    ),
    storeCase(newHome, 'a wait for a busy agent ends with its release', async (home) => {
      const agentId = await restingAgent(home.open())
      const lease = await taken(home.open(), agentId)
      const waiting = home.open().take(agentId, { command: 'waiting', waitMs: 60_000 })
      await lease.release()
      const next = await waiting
      demand(next !== undefined, 'the waiting process gets the agent')
      await next?.release()
    }),
    storeCase(
      newHome,
      'taking an agent marks it, and its holder unmarks it at the end if nothing is owed',
      async (home) => {
        const store = home.open()
        const agentId = await restingAgent(store)
        demand(!home.open().visits.isMarked(agentId), 'an idle agent is not marked')
        await (await taken(store, agentId)).release()
        demand(home.open().visits.isMarked(agentId), 'a holder that only releases it leaves it marked')
        const lease = await taken(store, agentId)
        await lease.rest({ snapshot: undefined, needsVisit: true })
        demand(
          isEqual(home.open().visits.markedIds(), [agentId]),
          'an agent that is owed a visit stays marked',
        )
        await (await taken(store, agentId)).rest({ snapshot: undefined, needsVisit: false })
        demand(isEqual(home.open().visits.markedIds(), []), 'another does not')
        demand(!home.open().isHeld(agentId), 'it is released')
      },
    ),
    storeCase(newHome, 'a snapshot is read as it was written, and the log with it', async (home) => {
      const agentId = await restingAgent(home.open())
      const lease = await taken(home.open(), agentId)
      append(lease, 'one')
      await lease.rest({ snapshot: { of: 'one', list: [1, 'ü', null] }, needsVisit: false })
      const opened = home.open().open(agentId)
      const snapshot =
        opened !== undefined && 'object' in opened.snapshot ? opened.snapshot.object : undefined
      demand(isEqual(snapshot?.list, [1, 'ü', null]) && snapshot?.of === 'one', 'readers get the snapshot')
      opened?.log.close()
      const next = await taken(home.open(), agentId)
      demand('object' in next.snapshot && next.snapshot.object.of === 'one', 'so does the next holder')
      await next.release()
    }),
    storeCase(
      newHome,
      'requests to a run that has ended are removed by repair, those to the open run stay',
      async (home) => {
        const store = home.open()
        const agentId = await restingAgent(store)
        const [open, ended] = [randomUuid(), randomUuid()]
        store.requests.put(agentId, open, 'suspend')
        store.requests.put(agentId, ended, 'cancel')
        const lease = await taken(store, agentId)
        demand(lease.requests.length === 2, 'the holder gets both')
        const end = lease.log.size()
        lease.repair({ synced: end, end, openRunId: open })
        const left = [{ runId: open, verb: 'suspend' }]
        demand(
          isEqual(home.open().requests.requestsTo(agentId), left),
          'only the request to the open run is left',
        )
        await lease.release()
      },
    ),
    storeCase(newHome, 'requests are removed as the agent is left unmarked', async (home) => {
      const agentId = await restingAgent(home.open())
      const runId = randomUuid()
      for (const needsVisit of [true, false]) {
        const lease = await taken(home.open(), agentId)
        home.open().requests.put(agentId, runId, 'cancel')
        await lease.rest({ snapshot: undefined, needsVisit })
        const left = home.open().requests.requestsTo(agentId)
        demand(left.length === (needsVisit ? 1 : 0), `requests left: ${left.length}`)
      }
    }),
  ]
}

/** A batch of one record at the end of the log. */
function batchAfter({ agentId, log }: Lease, seq: number, text: string): Batch {
  const offset = log.size()
  return {
    id: randomUuid(),
    offset,
    bytes: linesOf(agentId, seq, [text], offset),
    blobs: [],
    isUpgrade: false,
  }
}

function snapshotOf(store: Store, agentId: string): Record<string, unknown> | undefined {
  const opened = store.open(agentId)
  opened?.log.close()
  return opened !== undefined && 'object' in opened.snapshot ? opened.snapshot.object : undefined
}

function lose(home: HomeFixture, lease: Lease): Promise<void> {
  return home.lose?.(lease) ?? lease.release()
}
