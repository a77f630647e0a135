import { randomUuid } from '../../start/random.js'
import type { Store } from '../store.js'
import { created, demand, isEqual, type NewHome, restingAgent, type StoreCase, storeCase } from './case.js'

/** Names: each name has one agent, the first that reserves it. */
export function nameCases(newHome: NewHome): StoreCase[] {
  return [
    storeCase(
      newHome,
      'a reserved name leads to its agent, in any case and form of its letters',
      async (home) => {
        const store = home.open()
        const agentId = await restingAgent(store)
        await reserve(store, null, 'Éclair', agentId)
        const names = home.open().names(null)
        for (const name of ['Éclair', 'éCLAIR', 'e\u0301clair'])
          demand(names.lookUp(name) === agentId && names.find(name) === agentId, `${name} is found`)
        demand(names.find('eclair') === 'none', 'another name is not')
        demand(names.nameOf(agentId) === 'Éclair', 'its entry has the name as it was given')
        demand(isEqual([names.ids(), names.count()], [[agentId], 1]), 'it is listed once')
      },
    ),
    storeCase(newHome, 'a name of an agent that was never created is unknown', async (home) => {
      const store = home.open()
      const agentId = randomUuid()
      await reserve(store, null, 'ghost', agentId)
      const names = home.open().names(null)
      demand(names.lookUp('ghost') === agentId, 'the entry is there')
      demand(names.find('ghost') === 'unknown', 'but leads to no agent')
    }),
    storeCase(newHome, 'two processes that create an agent of one name at once create one', async (home) => {
      const create = async (store: Store): Promise<string | undefined> => {
        const names = store.names(null)
        const lock = await names.lock('conformance')
        try {
          if (names.lookUp('build') !== undefined) return undefined
          const agentId = randomUuid()
          names.reserve('build', agentId)
          await (await created(store, agentId)).release()
          return agentId
        } finally {
          await lock.release()
        }
      }
      const made = await Promise.all([home, home, home].map((each) => create(each.open())))
      const [first, ...others] = made.filter((id) => id !== undefined)
      demand(first !== undefined && others.length === 0, `one is created: ${made.length}`)
      demand(home.open().names(null).find('build') === first, 'the name leads to it')
    }),
    storeCase(newHome, 'the names below each agent are its own', async (home) => {
      const store = home.open()
      const parent = await restingAgent(store)
      const [child, root] = [await restingAgent(store), await restingAgent(store)]
      await reserve(store, parent, 'a', child)
      await reserve(store, null, 'a', root)
      demand(home.open().names(parent).find('a') === child, 'below the parent')
      demand(home.open().names(null).find('a') === root, 'and among the roots')
    }),
    storeCase(
      newHome,
      'a forgotten name is free, and a later reservation replaces an earlier one',
      async (home) => {
        const store = home.open()
        const [first, second] = [await restingAgent(store), await restingAgent(store)]
        await reserve(store, null, 'a', first)
        await reserve(store, null, 'a', second)
        demand(home.open().names(null).find('a') === second, 'the later agent has it')
        const names = store.names(null)
        const lock = await names.lock('conformance')
        demand(home.open().names(null).isHeld, 'the lock is visible')
        names.forget('a')
        await lock.release()
        demand(home.open().names(null).find('a') === 'none', 'no agent has it')
        demand(!home.open().names(null).isHeld, 'the lock is free')
      },
    ),
    storeCase(newHome, 'a discarded entry is gone', async (home) => {
      const store = home.open()
      await reserve(store, null, 'ghost', randomUuid())
      const names = store.names(null)
      const lock = await names.lock('conformance')
      for (const entry of names.entries()) names.discard(entry)
      names.markComplete()
      await lock.release()
      demand(home.open().names(null).find('ghost') === 'none', 'the name is free')
    }),
  ]
}

async function reserve(store: Store, parent: string | null, name: string, agentId: string): Promise<void> {
  const names = store.names(parent)
  const lock = await names.lock('conformance')
  names.reserve(name, agentId)
  await lock.release()
}
