import { randomUuid } from '../../start/random.js'
import type { Birth, Store } from '../store.js'
import {
  append,
  codeOf,
  created,
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

/** Creation, reading and removal of agents. */
export function agentCases(newHome: NewHome): StoreCase[] {
  return [
    storeCase(
      newHome,
      'a new agent has its first batch and snapshot, and is held and marked',
      async (home) => {
        const store = home.open()
        const lease = await created(store)
        const other = home.open()
        demand(isEqual(textsOf(other, lease.agentId), ['born']), 'another process reads the first batch')
        demand(other.hasAgent(lease.agentId), 'the agent exists')
        demand(isEqual(other.agentIds(), [lease.agentId]), 'the agent is listed once')
        demand(other.isHeld(lease.agentId), 'its creator holds it')
        demand(other.visits.isMarked(lease.agentId), 'it is marked')
        const opened = other.open(lease.agentId)
        demand(
          opened !== undefined && 'object' in opened.snapshot && opened.snapshot.object.of === 'birth',
          'it has its snapshot',
        )
        opened?.log.close()
        await lease.release()
      },
    ),
    storeCase(newHome, 'an agent is not created without the right to its name', async (home) => {
      const store = home.open()
      const agentId = randomUuid()
      const code = await codeOf(() =>
        store.create({
          agentId,
          log: linesOf(agentId, 1, ['born'], 0),
          snapshot: {},
          blobs: [],
          command: OPTIONS.command,
          assertNameHeld: () => {
            throw Object.assign(new Error('the name was lost'), { code: 'LOST' })
          },
        }),
      )
      demand(code === 'LOST', `the error of the check is thrown: ${code}`)
      demand(!store.hasAgent(agentId) && isEqual(store.agentIds(), []), 'no agent exists')
    }),
    storeCase(newHome, 'an agent is created once', async (home) => {
      const agentId = randomUuid()
      const birth = (text: string): Birth => ({
        agentId,
        log: linesOf(agentId, 1, [text], 0),
        snapshot: {},
        blobs: [],
        command: OPTIONS.command,
      })
      const [one, two] = [home.open(), home.open()]
      const codes: string[] = []
      const lease = await Promise.any(
        [one.create(birth('first')), two.create(birth('second'))].map(async (made) => {
          try {
            return await made
          } catch (error) {
            codes.push((error as { code: string }).code)
            throw error
          }
        }),
      )
      const [text] = textsOf(one, agentId) ?? []
      demand(text === 'first' || text === 'second', 'one of two processes creates it')
      for (const _ of [1, 2])
        demand((await codeOf(() => home.open().create(birth('third')))) === 'LOCKED', 'then it is refused')
      demand(isEqual(codes, ['LOCKED']), `the other one is refused: ${codes}`)
      demand(isEqual(textsOf(home.open(), agentId), [text as string]), 'the agent is unchanged')
      demand(home.open().visits.isMarked(agentId) && home.open().isHeld(agentId), 'it is marked and held')
      await lease.release()
      demand(isEqual(home.open().agentIds(), [agentId]), 'nothing else is listed')
    }),
    storeCase(newHome, 'a blob of the first batch is read back', async (home) => {
      const store = home.open()
      const agentId = randomUuid()
      const content = Buffer.from('large content')
      const log = linesOf(agentId, 1, ['born'], 0)
      const lease = await store.create({ agentId, log, snapshot: {}, blobs: [content], command: 'x' })
      const reference = lease.writeBlob(content)
      demand(home.open().readBlob(agentId, reference).equals(content), 'the blob has its content')
      const missing = { blob: '0'.repeat(64), bytes: 1 }
      demand(
        (await codeOf(() => store.readBlob(agentId, missing))) === 'CORRUPT',
        'a missing blob is reported',
      )
      await lease.release()
    }),
    storeCase(newHome, 'an opened log keeps its size while its holder appends', async (home) => {
      const store = home.open()
      const agentId = await restingAgent(store)
      const lease = await taken(store, agentId)
      const opened = home.open().open(agentId)
      append(lease, 'later')
      const size = opened?.log.size()
      demand(size !== undefined && size < lease.log.size(), 'the opened log ends where it ended')
      demand(opened?.log.read(0, lease.log.size()).length === size, 'nothing after its end is read')
      opened?.log.sync()
      opened?.log.close()
      await lease.release()
    }),
    storeCase(newHome, 'an opened agent shows its inbox and whether it is held', async (home) => {
      const store = home.open()
      const agentId = await restingAgent(store)
      const before = store.open(agentId)
      demand(before?.isHeld === false && isEqual(before.mailIds, []), 'it is free, without mail')
      before?.log.close()
      const lease = await taken(store, agentId)
      const messageId = randomUuid()
      store.mail.put(agentId, messageId, { message_id: messageId })
      const after = home.open().open(agentId)
      demand(after?.isHeld === true && isEqual(after.mailIds, [messageId]), 'it is held, and has a message')
      after?.log.close()
      await lease.release()
    }),
    storeCase(newHome, 'a removed agent is gone whole', async (home) => {
      const store = home.open()
      const agentId = await restingAgent(store)
      const held = await store.hold(agentId, OPTIONS)
      demand(held !== undefined, 'an agent that no process holds can be held')
      if (held !== undefined) store.remove(agentId, held)
      await held?.release()
      store.visits.unmarkAbsent(agentId)
      const other = home.open()
      demand(!other.hasAgent(agentId) && other.open(agentId) === undefined, 'it does not exist')
      demand(!other.visits.isMarked(agentId) && isEqual(other.agentIds(), []), 'nothing of it is listed')
      demand(
        (await codeOf(() => other.take(agentId, OPTIONS))) === 'AGENT_NOT_FOUND',
        'taking it fails by name',
      )
    }),
    storeCase(newHome, 'an agent is not removed without the right to it', async (home) => {
      const store = home.open()
      const agentId = await restingAgent(store)
      const held = await store.hold(agentId, OPTIONS)
      await held?.release()
      demand((await codeOf(() => held && store.remove(agentId, held))) === 'LOCKED', 'the removal is refused')
      demand(isEqual(textsOf(store, agentId), ['born']), 'the agent is unchanged')
    }),
    storeCase(newHome, 'an agent that does not exist is undefined to readers', async (home) => {
      const store: Store = home.open()
      const id = randomUuid()
      demand(store.open(id) === undefined && store.openLog(id) === undefined, 'it cannot be opened')
      demand(!store.hasAgent(id) && !store.isHeld(id), 'it is not there')
    }),
  ]
}
