/** Shared parts of the tools that write to other agents: allowed recipients, sending once, and the wait for a reply. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { FileStore } from '../../../src/storage/file-store.js'
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

/** The context of a call in a turn of that agent, which is closed after the test. */
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

describe('an agent', () => {
  test('may write to its parent, children and siblings; a root to the operator', async () => {
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
  ] as const)('named %s may not write to %s', async (from, to, code) => {
    const house = await family()
    await inCallOf(house.store, house[from], (context) => {
      expect(() => recipientOf({ to }, context)).toThrow(
        code === undefined ? /only a root may write to the operator/ : expect.objectContaining({ code }),
      )
    })
  })

  test('may send controls only to its direct children', async () => {
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

test('a call made again after a crash sends its message once', async () => {
  const { store, lead, child } = await family()
  const message = { to: child, kind: 'request', content: 'hi' } as const
  const first = await inCallOf(store, lead, (context) => sendFrom(context, message))
  const again = await inCallOf(store, lead, (context) => sendFrom(context, message), true)
  expect(again).toBe(first)
  expect(mailOf(store, child).map(({ content }) => content)).toEqual(['hi'])
})

describe('a wait for a reply', () => {
  test('is on disk before the search for a cycle: of two that begin at once, one sees the other', async () => {
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

  test('for an agent that waits for the caller is refused before the request is sent', async () => {
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

  test('returns the reply with the record of its delivery, for one batch with the result', async () => {
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

  test('that a crash interrupted finds a reply that arrived meanwhile; a first call does not search', async () => {
    const { store, lead, child } = await family()
    const request = await inCallOf(store, lead, (context) =>
      sendFrom(context, { to: child, kind: 'request', content: 'hi' }),
    )
    posted(store, lead, 'yes', { from: child, kind: 'response', reply_to: request })
    expect(await inCallOf(store, lead, earlierReply)).toBeUndefined()
    expect(await inCallOf(store, lead, earlierReply, true)).toMatchObject({ content: 'yes' })
  })
})
