import { OPERATOR } from '../../format.js'
import { randomUuid } from '../../start/random.js'
import {
  append,
  demand,
  isEqual,
  type NewHome,
  restingAgent,
  type StoreCase,
  storeCase,
  taken,
  textsOf,
} from './case.js'

/** Messages: each is there once, and no holder misses one. */
export function mailCases(newHome: NewHome): StoreCase[] {
  return [
    storeCase(newHome, 'a message is stored once, and read back', async (home) => {
      const store = home.open()
      const agentId = await restingAgent(store)
      const id = randomUuid()
      demand(store.mail.put(agentId, id, { message_id: id, content: 'ü' }), 'it is new')
      demand(
        !home.open().mail.put(agentId, id, { message_id: id, content: 'other' }),
        'a second time it is known',
      )
      const other = home.open()
      demand(isEqual(other.mail.ids(agentId), [id]), 'it is listed once')
      const read = other.mail.read(agentId, id)
      demand(read !== undefined && 'object' in read && read.object.content === 'ü', 'the first content stays')
      demand(other.mail.read(agentId, randomUuid()) === undefined, 'another message is undefined')
    }),
    storeCase(
      newHome,
      'a message marks its recipient, and its holder does not remove the mark',
      async (home) => {
        const store = home.open()
        const agentId = await restingAgent(store)
        const lease = await taken(store, agentId)
        home.open().mail.put(agentId, randomUuid(), { content: 'hi' })
        await lease.rest({ snapshot: undefined, needsVisit: false })
        demand(home.open().visits.isMarked(agentId), 'the agent is marked')
      },
    ),
    storeCase(
      newHome,
      'a sender and a holder that ends the agent at once do not miss each other',
      async (home) => {
        // The holder writes its last record and then reads the inbox; the sender stores the message and then reads the log.
        for (const isSenderFirst of [true, false]) {
          const agentId = await restingAgent(home.open())
          const lease = await taken(home.open(), agentId)
          const id = randomUuid()
          if (isSenderFirst) home.open().mail.put(agentId, id, { content: 'hi' })
          append(lease, 'terminated')
          if (!isSenderFirst) home.open().mail.put(agentId, id, { content: 'hi' })
          const isSeenByHolder = lease.mailIds.includes(id)
          const isSeenBySender = textsOf(home.open(), agentId)?.includes('terminated') === true
          demand(isSeenByHolder && isSeenBySender, 'each sees what the other did before')
          await lease.release()
        }
      },
    ),
    storeCase(newHome, 'a removed message is gone, and may be stored again', async (home) => {
      const store = home.open()
      const agentId = await restingAgent(store)
      const id = randomUuid()
      store.mail.put(agentId, id, { content: 'hi' })
      demand(home.open().mail.remove(agentId, id), 'it was there')
      demand(!store.mail.remove(agentId, id), 'a second removal finds nothing')
      store.mail.syncRemovals(agentId)
      demand(isEqual(home.open().mail.ids(agentId), []), 'it is gone')
      demand(
        store.mail.put(agentId, id, { content: 'hi' }),
        'a log decides whether it is known, not the inbox',
      )
    }),
    storeCase(newHome, 'a message is replaced whole', async (home) => {
      const store = home.open()
      const agentId = await restingAgent(store)
      const id = randomUuid()
      store.mail.put(agentId, id, { content: 'old' })
      store.mail.replace(agentId, id, { content: 'new' })
      const read = home.open().mail.read(agentId, id)
      demand(
        read !== undefined && 'object' in read && read.object.content === 'new',
        'it has the new content',
      )
      demand(isEqual(store.mail.ids(agentId), [id]), 'it is there once')
    }),
    storeCase(newHome, 'a message to return cannot be withdrawn by its sender', async (home) => {
      const store = home.open()
      const agentId = await restingAgent(store)
      const id = randomUuid()
      store.mail.put(agentId, id, { content: 'hi' })
      demand(store.mail.setToReturn(agentId, id), 'it is set apart')
      demand(!home.open().mail.remove(agentId, id), 'its sender finds it gone')
      demand(!store.mail.setToReturn(agentId, id), 'it is set apart once')
      demand(isEqual(home.open().mail.idsToReturn(agentId), [id]), 'it is listed for return')
      const read = store.mail.readToReturn(agentId, id)
      demand(read !== undefined && 'object' in read && read.object.content === 'hi', 'it has its content')
      store.mail.keepUnreturned(agentId, id)
      demand(isEqual(store.mail.ids(agentId), [id]), 'an unreadable one goes back to the inbox')
      store.mail.setToReturn(agentId, id)
      store.mail.removeReturned(agentId, id)
      demand(
        isEqual([store.mail.idsToReturn(agentId), store.mail.ids(agentId)], [[], []]),
        'a returned one is gone',
      )
    }),
    storeCase(newHome, 'a message that was withdrawn is not returned', async (home) => {
      const store = home.open()
      const agentId = await restingAgent(store)
      const id = randomUuid()
      store.mail.put(agentId, id, { content: 'hi' })
      store.mail.remove(agentId, id)
      demand(!store.mail.setToReturn(agentId, id), 'only one of the two has it')
    }),
    storeCase(newHome, 'a message that the operator took is known', async (home) => {
      const store = home.open()
      const id = randomUuid()
      demand(store.mail.put(OPERATOR, id, { content: 'hi' }), 'it is new')
      store.mail.take(id)
      demand(isEqual(home.open().mail.ids(OPERATOR), []), 'it has left the inbox')
      demand(!home.open().mail.put(OPERATOR, id, { content: 'hi' }), 'it is not stored again')
      demand(store.mail.forgetTaken(0, false) === 0, 'a young one is not forgotten')
      demand(store.mail.forgetTaken(Number.MAX_SAFE_INTEGER, true) === 1, 'a dry run counts it')
      demand(!home.open().mail.put(OPERATOR, id, { content: 'hi' }), 'and does not forget it')
      demand(store.mail.forgetTaken(Number.MAX_SAFE_INTEGER, false) === 1, 'it is forgotten')
      demand(home.open().mail.put(OPERATOR, id, { content: 'hi' }), 'then it is new')
    }),
    storeCase(newHome, 'a message that is set aside leaves the inbox', async (home) => {
      const store = home.open()
      const agentId = await restingAgent(store)
      const id = randomUuid()
      store.mail.put(agentId, id, { content: 'hi' })
      demand(store.mail.setAside(agentId, id) !== '', 'its place is named')
      demand(isEqual(home.open().mail.ids(agentId), []), 'it is not in the inbox')
    }),
  ]
}
