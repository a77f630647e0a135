import { randomUuid } from '../../start/random.js'
import type { Batch, Lease } from '../store.js'
import {
  afterThis,
  codeOf,
  demand,
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

/** The requests that a store on another machine makes one: the batch that ends a turn, and the slot that comes with an agent. */
export function turnEndCases(newHome: NewHome): StoreCase[] {
  return [
    storeCase(newHome, 'the end of a turn is appended if its holder knows the inbox', async (home) => {
      const agentId = await restingAgent(home.open())
      const lease = await taken(home.open(), agentId)
      if (lease.endTurn === undefined) return lease.release()
      const batch = endOf(lease)
      const id = randomUuid()
      home.open().mail.put(agentId, id, { content: 'hi' })
      demand(!lease.endTurn(batch, { mailIds: [], snapshot: { of: 'end' } }), 'an unknown message refuses it')
      demand(isEqual(textsOf(home.open(), agentId), ['born']), 'then the log is unchanged')
      demand(isEqual(lease.mailIds, [id]), 'and the holder reads the message')
      demand(lease.endTurn(batch, { mailIds: [id], snapshot: undefined }), 'with it the batch is appended')
      demand(lease.endTurn(batch, { mailIds: [], snapshot: undefined }), 'a second time it is known')
      demand(isEqual(textsOf(home.open(), agentId), ['born', 'end']), 'and there once')
      demand(home.open().isHeld(agentId), 'the agent stays held')
      await lease.release()
    }),
    storeCase(newHome, 'the end of a turn can leave its agent', async (home) => {
      const agentId = await restingAgent(home.open())
      const lease = await taken(home.open(), agentId)
      if (lease.endTurn === undefined) return lease.release()
      demand(lease.endTurn(endOf(lease), { mailIds: [], snapshot: { of: 'end' } }), 'the batch is appended')
      demand(!home.open().isHeld(agentId), 'the agent is released')
      demand(!home.open().visits.isMarked(agentId), 'and not marked')
      const next = await taken(home.open(), agentId)
      demand('object' in next.snapshot && next.snapshot.object.of === 'end', 'the snapshot is stored')
      demand((await codeOf(() => lease.append(endOf(lease)))) === 'LOCKED', 'its last holder writes nothing')
      await lease.release()
      demand(home.open().isHeld(agentId), 'and does not release the next one')
      await next.release()
    }),
    storeCase(newHome, 'a lost lease ends no turn', async (home) => {
      const agentId = await restingAgent(home.open())
      const stale = await taken(home.open(), agentId)
      if (stale.endTurn === undefined) return stale.release()
      const batch = endOf(stale)
      await (home.lose?.(stale) ?? stale.release())
      const end = { mailIds: [], snapshot: { of: 'stale' } }
      demand((await codeOf(() => stale.endTurn?.(batch, end))) === 'LOCKED', 'it is refused')
      demand(isEqual(textsOf(home.open(), agentId), ['born']), 'the log is unchanged')
    }),
    storeCase(newHome, 'a slot that comes with an agent is one of its pool', async (home) => {
      const agentId = await restingAgent(home.open())
      const slots = { pool: 'pool', slots: 1 }
      const store = home.open()
      const lease = await store.take(agentId, { ...OPTIONS, slots })
      const slot = await store.takeSlot('pool', 1, OPTIONS.command)
      demand(slot !== undefined, 'the holder gets a slot')
      demand((await home.open().takeSlot('pool', 1, OPTIONS.command)) === undefined, 'no other process does')
      await slot?.release()
      await afterThis()
      const again = await home.open().takeSlot('pool', 1, OPTIONS.command)
      demand(again !== undefined, 'a released slot is free again')
      await again?.release()
      await afterThis()
      await lease?.release()
    }),
    storeCase(newHome, 'an unused slot is released with its agent', async (home) => {
      const slots = { pool: 'pool', slots: 1 }
      for (const leave of [
        (lease: Lease) => lease.rest({ snapshot: undefined, needsVisit: false }),
        (lease: Lease) => lease.release(),
      ]) {
        const lease = await home.open().take(await restingAgent(home.open()), { ...OPTIONS, slots })
        demand(lease !== undefined, 'the agent is free')
        if (lease !== undefined) await leave(lease)
        await afterThis()
        const slot = await home.open().takeSlot('pool', 1, OPTIONS.command)
        demand(slot !== undefined, 'the slot is free')
        await slot?.release()
        await afterThis()
      }
    }),
  ]
}

function endOf({ agentId, log }: Lease): Batch {
  const offset = log.size()
  const bytes = linesOf(agentId, 2, ['end'], offset)
  return { id: randomUuid(), offset, bytes, blobs: [], isUpgrade: false }
}
