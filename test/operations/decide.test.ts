/** Decisions about a parked turn: the secret of its token decides once. Later events can revoke the token. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../src/dispatch/outcome.js'
import { cancelAgents } from '../../src/operations/cancel.js'
import { type DecisionRequest, decide, rotateToken } from '../../src/operations/decide.js'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import { openForRead } from '../../src/session/load.js'
import type { State } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { mintToken } from '../../src/turn/tokens.js'
import { contextAt } from '../support/contexts.js'
import { sendRequest } from '../support/send-request.js'
import { beginning, newSession } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const bounds = { slotsMax: 4, waitMs: 3_600_000, turnTimeoutMs: 3_600_000, tokenLifetimeMs: 3_600_000 }
const FUTURE = '2999-01-01T00:00:00.000Z'

interface Parked {
  store: FileStore
  id: string
  secret: string
  tokenId: string
}

/** An agent whose model has called one tool that needs approval. */
async function parked(tool = 'read_skill', expiresAt = FUTURE): Promise<Parked> {
  const store = tempStore()
  const session = await newSession(store)
  const run = randomUUID()
  const { token, secret } = mintToken(expiresAt)
  const call = { call_id: 'c1', name: tool, input: { question: 'well?' } }
  session.append([...beginning(session, run, 'go'), { kind: 'model.requested', run_id: run }])
  session.append([{ kind: 'model.responded', run_id: run, stop: 'tool_calls', calls: [call] }])
  session.append([
    { kind: 'token.minted', run_id: run, ...token },
    {
      kind: 'run.waiting',
      run_id: run,
      wait: tool === 'ask_operator' ? 'input' : 'approval',
      asks: [{ call_id: 'c1', tool, input: call.input }],
      token_id: token.token_id,
      deadline_at: FUTURE,
    },
    { kind: 'session.suspended', reason: 'idle' },
  ])
  await session.close(() => true)
  return { store, id: session.id, secret, tokenId: token.token_id }
}

async function decided(
  { store, id, secret }: Parked,
  over: Partial<DecisionRequest> = {},
  caller: string | null = null,
): Promise<Outcome> {
  const { ctx } = contextAt(store, { bounds, caller })
  const request = {
    agentId: id,
    token: secret,
    tokenId: null,
    decision: 'deny',
    text: 'no',
    ...over,
  } as const
  const outcomes: Outcome[] = []
  await decide(ctx, request, (outcome) => outcomes.push(outcome))
  expect(outcomes).toHaveLength(1)
  return outcomes[0] as Outcome
}

const stateOf = ({ store, id }: Parked): State => openForRead(store, id)?.state as State
const statusOf = (agent: Parked, tokenId = agent.tokenId): string | undefined =>
  stateOf(agent).tokens.find(({ token_id }) => token_id === tokenId)?.status
const recordsOf = ({ store, id }: Parked): number => store.openLog(id)?.size() ?? 0

describe('changed arguments', () => {
  const edits = [{ call_id: 'c1', input: { name: 'other' } }]

  test('are part of the approval: the same decision is acknowledged again, another is refused', async () => {
    const agent = await parked()
    await decided(agent, { decision: 'approve', text: '', edits })
    const end = recordsOf(agent)
    await decided(agent, { decision: 'approve', text: '', edits })
    expect(recordsOf(agent)).toBe(end)
    await expect(decided(agent, { decision: 'approve', text: '' })).rejects.toMatchObject({
      code: 'TOKEN_CONSUMED',
    })
  })

  test('are refused for a call that is not pending, and nothing is decided', async () => {
    const agent = await parked()
    const unknown = [{ call_id: 'c2', input: {} }]
    await expect(decided(agent, { decision: 'approve', text: '', edits: unknown })).rejects.toMatchObject({
      code: 'USAGE',
    })
    expect(statusOf(agent)).toBe('minted')
  })
})

describe('a token', () => {
  test('is used once: repeating the decision returns its outcome and changes nothing', async () => {
    const agent = await parked()
    const first = await decided(agent)
    expect([first.result.run?.status, statusOf(agent)]).toEqual(['completed', 'consumed'])
    const before = recordsOf(agent)
    const again = await decided(agent)
    expect([again.result.reply, recordsOf(agent)]).toEqual([first.result.reply, before])
  })

  test.each<[string, Partial<DecisionRequest>]>([
    ['another decision', { decision: 'approve', text: '' }],
    ['other words', { text: 'not now' }],
  ])('that was used is refused for %s', async (_, over) => {
    const agent = await parked()
    await decided(agent)
    await expect(decided(agent, over)).rejects.toMatchObject({ code: 'TOKEN_CONSUMED' })
  })

  test('that has expired is refused, and its run waits for another', async () => {
    const agent = await parked('read_skill', '2001-01-01T00:00:00.000Z')
    await expect(decided(agent)).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' })
  })

  test('that was replaced stops working, and the new one works', async () => {
    const agent = await parked()
    const { ctx } = contextAt(agent.store, { bounds })
    const { secret } = await rotateToken(ctx, agent.id)
    expect(statusOf(agent)).toBe('revoked')
    await expect(decided(agent)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
    expect((await decided({ ...agent, secret })).result.run?.status).toBe('completed')
  })

  test('from another wait does not match', async () => {
    const agent = await parked()
    await expect(decided(agent, { token: null, tokenId: randomUUID() })).rejects.toMatchObject({
      code: 'TOKEN_NOT_FOUND',
    })
    expect(stateOf(agent).run?.wait).not.toBeNull()
  })

  test('stops working if its turn is cancelled', async () => {
    const agent = await parked()
    const { ctx } = contextAt(agent.store, { bounds })
    await cancelAgents(ctx, { all: false, agents: [agent.id], isRecursive: false, isForced: false })
    expect([stateOf(agent).run?.status, statusOf(agent)]).toEqual(['cancelled', 'revoked'])
  })

  test('stops working if a message supersedes its turn', async () => {
    const agent = await parked()
    const { ctx } = contextAt(agent.store, { bounds })
    await deliverMessage(ctx, sendRequest(agent.id), () => undefined)
    expect([stateOf(agent).run?.status, statusOf(agent)]).toEqual(['completed', 'revoked'])
  })
})

describe('a decision', () => {
  test.each<[string, string, Partial<DecisionRequest>]>([
    ['that approves a question', 'ask_operator', { decision: 'approve', text: '' }],
    ['that answers what asks for approval', 'read_skill', { decision: 'input' }],
  ])('%s is refused', async (_, tool, over) => {
    const agent = await parked(tool)
    await expect(decided(agent, over)).rejects.toMatchObject({ code: 'USAGE' })
    expect(statusOf(agent)).toBe('minted')
  })

  test('is made by a person, not by an agent', async () => {
    const agent = await parked()
    await expect(decided(agent, {}, agent.id)).rejects.toMatchObject({ code: 'TREE_RULES' })
    expect(statusOf(agent)).toBe('minted')
  })
})
