/** What the tools that write to other agents have in common: whom they may mean, what is sent once, and the wait for a reply. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { FileStore } from '../../../src/storage/store.js'
import type { ToolContext } from '../../../src/turn/tools/tool.js'
import {
  awaitReply,
  childOf,
  earlierReply,
  recipientOf,
  sendFrom,
} from '../../../src/turn/tools/tree/correspondence.js'
import { mailOf, posted } from '../../support/mail.js'
import { clearFaults, recordOperations } from '../../support/operations.js'
import { newAgent, reopen } from '../../support/sessions.js'
import { tempStore } from '../../support/temp.js'
import { treePorts } from '../../support/tree.js'

interface Family {
  store: FileStore
  lead: string
  child: string
  grandchild: string
  other: string
}

async function family(): Promise<Family> {
  const store = tempStore()
  const lead = await newAgent(store, { name: 'lead' })
  const child = await newAgent(store, { name: 'child', parent: lead })
  const grandchild = await newAgent(store, { name: 'grandchild', parent: child })
  return { store, lead, child, grandchild, other: await newAgent(store, { name: 'other' }) }
}

/** Of a call in a turn of that agent; it lets the agent go when it is over. */
async function inCallOf<T>(
  store: FileStore,
  id: string,
  work: (context: ToolContext) => T | Promise<T>,
  isRepeat = false,
): Promise<T> {
  const session = await reopen(store, id)
  const call = { run_id: randomUUID(), call_id: 'c1', made_at: `${id}/1/c1`, allow: [], isRepeat }
  const tree = treePorts(session)
  const context = { call, tree, signal: new AbortController().signal } as unknown as ToolContext
  try {
    return await work(context)
  } finally {
    await session.abandon()
  }
}

describe('an agent writes', () => {
  test('to its parent, its children and its siblings; a root to the operator', async () => {
    const { store, lead, child } = await family()
    await inCallOf(store, lead, (context) => {
      expect(recipientOf({ to: 'child' }, context)).toBe(child)
      expect(recipientOf({ to: 'operator' }, context)).toBe('operator')
    })
    await inCallOf(store, child, (context) => expect(recipientOf({ to: 'parent' }, context)).toBe(lead))
  })

  test.each([
    ['lead', 'lead/child/grandchild', 'TREE_RULES'],
    ['lead', 'other', 'TREE_RULES'],
    ['lead', 'lead', 'TREE_RULES'],
    ['child', 'operator', undefined],
  ] as const)('from %s to %s it does not', async (from, to, code) => {
    const house = await family()
    await inCallOf(house.store, house[from], (context) => {
      expect(() => recipientOf({ to }, context)).toThrow(
        code === undefined ? /only a root may write to the operator/ : expect.objectContaining({ code }),
      )
    })
  })

  test('its commands to its direct children alone', async () => {
    const { store, lead, child } = await family()
    await inCallOf(store, lead, (context) => {
      expect(childOf({ agent: 'child' }, context, 'gate').id).toBe(child)
      for (const agent of ['other', 'lead', 'lead/child/grandchild'])
        expect(() => childOf({ agent }, context, 'gate')).toThrow(
          expect.objectContaining({ code: 'TREE_RULES' }),
        )
    })
  })
})

test('a call that is made again after a crash sends its message once', async () => {
  const { store, lead, child } = await family()
  const message = { to: child, kind: 'request', content: 'hi' } as const
  const first = await inCallOf(store, lead, (context) => sendFrom(context, message))
  const again = await inCallOf(store, lead, (context) => sendFrom(context, message), true)
  expect(again).toBe(first)
  expect(mailOf(store, child).map(({ content }) => content)).toEqual(['hi'])
})

describe('a wait for a reply', () => {
  test('is on disk before anybody looks for a cycle: of two that begin at once one sees the other', async () => {
    const { store, lead, child } = await family()
    await inCallOf(store, lead, async (context) => {
      const operations = recordOperations()
      await awaitReply(context, child, () => randomUUID())
      clearFaults()
      const edge = operations.findIndex(
        ({ path, point }) => point === 'lock.open' && path.includes('/waits/'),
      )
      const look = operations.findIndex(({ point }) => point === 'edge.list')
      expect(edge).toBeGreaterThanOrEqual(0)
      expect(look).toBeGreaterThan(edge)
    })
    expect(store.waits.edgesOf(lead)).toEqual([])
  })

  test('for one that waits for the waiter is refused, before anything is sent', async () => {
    const { store, lead, child } = await family()
    const edge = await store.waits.add(child, lead, 'test')
    let isSent = false
    await inCallOf(store, lead, async (context) => {
      const wait = awaitReply(context, child, () => {
        isSent = true
        return randomUUID()
      })
      await expect(wait).rejects.toMatchObject({ code: 'DEADLOCK' })
    })
    expect(isSent).toBe(false)
    await edge.release()
  })

  test('has the reply with the record of its delivery, for one batch with the result', async () => {
    const { store, lead, child } = await family()
    await inCallOf(store, lead, async (context) => {
      const request = randomUUID()
      const message_id = posted(store, lead, 'yes', { from: child, kind: 'response', reply_to: request })
      const answer = await awaitReply(context, child, () => request)
      expect(answer).toMatchObject({
        content: 'yes',
        records: [{ kind: 'mail.delivered', message_id, call_id: 'c1', reply_to: request }],
      })
    })
  })

  test('that a crash cut short finds the reply that came meanwhile; a first call looks for none', async () => {
    const { store, lead, child } = await family()
    const request = await inCallOf(store, lead, (context) =>
      sendFrom(context, { to: child, kind: 'request', content: 'hi' }),
    )
    posted(store, lead, 'yes', { from: child, kind: 'response', reply_to: request })
    expect(await inCallOf(store, lead, earlierReply)).toBeUndefined()
    expect(await inCallOf(store, lead, earlierReply, true)).toMatchObject({ content: 'yes' })
  })
})
