/** The advice of an error: following it ends the command's work, and never does it twice. */
import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { describe, expect, test } from 'vitest'
import { withAdvice } from '../../src/console/advice.js'
import { asSubstratError } from '../../src/console/output.js'
import type { Context } from '../../src/dispatch/context.js'
import type { Outcome } from '../../src/dispatch/outcome.js'
import { RUN_AGAIN, SubstratError } from '../../src/errors.js'
import type { Operation } from '../../src/host/disk/operation.js'
import { cancelAgents } from '../../src/operations/cancel.js'
import { decide } from '../../src/operations/decide.js'
import { deliver } from '../../src/operations/deliver.js'
import { fork } from '../../src/operations/fork.js'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import { resume } from '../../src/operations/resume.js'
import { retry } from '../../src/operations/retry.js'
import { type SpawnRequest, spawn } from '../../src/operations/spawn.js'
import { openForRead } from '../../src/session/load.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { mintToken } from '../../src/turn/tokens.js'
import { contextAt } from '../support/contexts.js'
import { failing, withFaults } from '../support/faults.js'
import { clearFaults, failStep, type HowOften, recordOperations } from '../support/operations.js'
import { sendRequest } from '../support/send-request.js'
import { beginning, newAgent, newSession, recordsOf } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const bounds = { slotsMax: 4, waitMs: 3_600_000, turnTimeoutMs: 3_600_000, tokenLifetimeMs: 3_600_000 }

interface Command {
  name: string
  prepare(store: FileStore): Promise<string>
  run(ctx: Context, agentId: string, onOutcome: (outcome: Outcome) => void): Promise<unknown>
  /** How often its work was done. */
  count(store: FileStore, agentId: string): number
}

const plain = (store: FileStore): Promise<string> => newAgent(store, { name: 'a' })
const messages = (store: FileStore, id: string, content = 'hi'): number =>
  recordsOf(store, id).filter(
    (record) =>
      (record.kind === 'message.user' || record.kind === 'mail.delivered') && record.content === content,
  ).length
const agents = (store: FileStore): number => store.agentIds().length

const NEW: Omit<SpawnRequest, 'prompt'> = {
  name: null,
  parent: null,
  provider: 'scripted',
  model: null,
  instructions: null,
  workspace: tmpdir(),
  options: {},
  turn_timeout_ms: null,
  steps_max: null,
  allow: [],
  ifExists: 'fail',
}

const COMMANDS: Command[] = [
  {
    name: 'send',
    prepare: plain,
    run: (ctx, id, told) => deliverMessage(ctx, sendRequest(id, { content: 'hi' }), told),
    count: messages,
  },
  {
    name: 'send --queue',
    prepare: plain,
    run: (ctx, id, told) => deliverMessage(ctx, sendRequest(id, { content: 'hi', isQueued: true }), told),
    count: messages,
  },
  {
    name: 'send --from',
    prepare: async (store) => {
      const from = await newAgent(store, { name: 'lead' })
      return newAgent(store, { name: 'a', parent: from })
    },
    run: (ctx, id, told) =>
      deliverMessage(
        ctx,
        sendRequest(id, { from: openForRead(ctx.store, id)?.state.parent as string }),
        told,
      ),
    count: messages,
  },
  {
    name: 'spawn PROMPT',
    prepare: (store) => newAgent(store, { name: 'other' }),
    run: (ctx, _, onOutcome) => spawn(ctx, { ...NEW, prompt: 'hi' }, { onAgent: () => undefined, onOutcome }),
    count: (store) => agents(store) - 1,
  },
  {
    name: 'spawn',
    prepare: (store) => newAgent(store, { name: 'other' }),
    run: (ctx, _, onOutcome) => spawn(ctx, { ...NEW, prompt: null }, { onAgent: () => undefined, onOutcome }),
    count: (store) => agents(store) - 1,
  },
  {
    name: 'fork',
    prepare: async (store) => {
      const session = await newSession(store, { name: 'a' })
      session.append(beginning(session, randomUUID(), 'first'))
      await session.close(() => true)
      return session.id
    },
    run: (ctx, agentId) =>
      fork(ctx, { agentId, name: null, provider: null, model: null, workspace: null, options: {} }),
    count: (store) => agents(store) - 1,
  },
  {
    name: 'deny',
    prepare: parked,
    run: (ctx, agentId, told) =>
      decide(ctx, { agentId, token: null, tokenId: null, decision: 'deny', text: 'no' }, told),
    count: (store, id) => recordsOf(store, id).filter(({ kind }) => kind === 'token.consumed').length,
  },
  {
    name: 'retry',
    prepare: async (store) => {
      const session = await newSession(store, { name: 'a' })
      const run_id = randomUUID()
      session.append(beginning(session, run_id, 'hi'))
      session.append([
        { kind: 'run.failed', run_id, error: { type: 'unreachable', message: 'no route' } },
        { kind: 'session.suspended', reason: 'idle' },
      ])
      await session.close(() => false)
      return session.id
    },
    run: (ctx, id, told) => retry(ctx, id, told),
    count: (store, id) => recordsOf(store, id).filter(({ kind }) => kind === 'message.agent').length,
  },
]

const cancelling = (name: string, prepare: Command['prepare']): Command => ({
  name,
  prepare,
  run: (ctx, id) => cancelAgents(ctx, { all: false, agents: [id], isRecursive: false, isForced: false }),
  count: (store, id) => recordsOf(store, id).filter(({ kind }) => kind === 'run.cancelled').length,
})
// Repeating it is safe: it cancels nothing more.
COMMANDS.push(cancelling('cancel', parked), cancelling('cancel of an interrupted turn', interrupted))

async function interrupted(store: FileStore): Promise<string> {
  const session = await newSession(store, { name: 'a' })
  const run_id = randomUUID()
  session.append(beginning(session, run_id, 'hi'))
  session.append([
    { kind: 'run.interrupted', run_id, reason: 'suspended' },
    { kind: 'session.suspended', reason: 'requested' },
  ])
  await session.close(() => false)
  return session.id
}

async function parked(store: FileStore): Promise<string> {
  const session = await newSession(store, { name: 'a' })
  const run = randomUUID()
  const { token } = mintToken('2999-01-01T00:00:00.000Z')
  const call = { call_id: 'c1', name: 'read_skill', input: {} }
  session.append([...beginning(session, run, 'go'), { kind: 'model.requested', run_id: run }])
  session.append([{ kind: 'model.responded', run_id: run, stop: 'tool_calls', calls: [call] }])
  session.append([
    { kind: 'token.minted', run_id: run, ...token },
    {
      kind: 'run.waiting',
      run_id: run,
      wait: 'approval',
      asks: [{ call_id: 'c1', tool: call.name, input: {} }],
      token_id: token.token_id,
      deadline_at: token.expires_at,
    },
    { kind: 'session.suspended', reason: 'idle' },
  ])
  await session.close(() => true)
  return session.id
}

/** Undefined if the command succeeded. */
async function failureOf(work: () => Promise<unknown>): Promise<SubstratError | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    return withAdvice(asSubstratError(error, 'substrat test'), error)
  }
}

/** Follows a hint for at most three steps. Returns what was followed. `isDone`: whether a person who looks finds the work. */
async function follow(
  store: FileStore,
  hint: string | undefined,
  again: () => Promise<unknown>,
  isDone: () => boolean,
): Promise<string[]> {
  const followed: string[] = []
  for (let next = hint; next !== undefined && followed.length < 3; ) {
    const isAgain = next.includes(RUN_AGAIN) || (next.includes('only if it did not') && !isDone())
    const advised = next.match(/substrat (resume|deliver|show|inbox|log) (\S+?)(?=[;)]|$)/)
    followed.push(isAgain ? RUN_AGAIN : (advised?.[0] ?? `nothing in: ${next}`))
    const [, verb, word = ''] = advised ?? []
    const ctx = fresh(store)
    const failure = await failureOf(async () => {
      if (isAgain) await again()
      else if (verb === 'resume') await resume(ctx, idOf(store, word), { reseed: false }, () => undefined)
      else if (verb === 'deliver') await delivered(store, idOf(store, word))
    })
    next = failure?.hint
  }
  return followed
}

function idOf(store: FileStore, word: string): string {
  const id = store.agentIds().find((each) => [each, openForRead(store, each)?.state.path].includes(word))
  if (id === undefined) throw new Error(`the advice names no agent of the home: ${word}`)
  return id
}

const fresh = (store: FileStore): Context => contextAt(store, { bounds }).ctx
const delivered = (store: FileStore, agentId: string): Promise<void> =>
  deliver(fresh(store), { all: false, agentIds: [agentId] }, () => undefined)

/** The steps that change something, each by its number. All steps with `STEPS=all`, which takes minutes. */
function stepsOf(work: () => Promise<unknown>): Promise<number[]> {
  const steps = recordOperations()
  return work().then(() => {
    clearFaults()
    const isTried = ({ name }: Operation): boolean =>
      process.env.STEPS === 'all' || !['open', 'read'].includes(name)
    return [...steps.entries()].filter(([, step]) => isTried(step)).map(([index]) => index)
  })
}

const FAULTS: [string, HowOften][] = [
  ['EIO', 'once'],
  ['ENOSPC', 'from then on'],
  ['EMFILE', 'from then on'],
]

describe.each(COMMANDS)('$name', ({ prepare, run, count }) => {
  test('does its work once if any step fails and its advice is followed', async () => {
    const usual = tempStore()
    const first = await prepare(usual)
    const steps = await stepsOf(() => run(fresh(usual), first, () => undefined))
    for (const [turn, step] of steps.entries()) {
      const tried = process.env.STEPS === 'all' ? FAULTS : FAULTS.slice(turn % 2, (turn % 2) + 1)
      for (const [errno, howOften] of tried) {
        const store = tempStore()
        const id = await prepare(store)
        const again = (): Promise<unknown> => run(fresh(store), id, () => undefined)
        failStep(step, errno, howOften)
        const failure = await failureOf(again)
        clearFaults()
        const followed = await follow(
          store,
          failure?.hint,
          again,
          () => count(store, id) + store.mail.ids(id).length > 0,
        )
        // Any later command delivers a message that is stored.
        for (const agentId of store.agentIds()) await delivered(store, agentId)
        const told = { step, errno, message: failure?.message, hint: failure?.hint, followed }
        expect({ ...told, count: count(store, id) }).toEqual({ ...told, count: 1 })
      }
    }
  })
})

test('an error before anything is stored advises to run the command again', () => {
  const error = new SubstratError('STORAGE_FAILED', 'full', { hint: `free some space, then ${RUN_AGAIN}` })
  expect(withAdvice(error, error)).toBe(error)
})

describe('once it is acknowledged, and files can no longer be read,', () => {
  /** From the moment on at which `isAcknowledged` first returns true. */
  const failReadsOnce = (isAcknowledged: () => boolean): void =>
    withFaults(({ name }) => {
      if (isAcknowledged() && ['open', 'read'].includes(name))
        throw Object.assign(new Error('EMFILE'), { code: 'EMFILE' })
      return undefined
    })

  test.each([
    ['send --queue', /^queued as message/],
    ['send --from', /^sent to a as message/],
  ])('%s has succeeded', async (name, acknowledgement) => {
    const { prepare, run, count } = COMMANDS.find((each) => each.name === name) as Command
    const store = tempStore()
    const id = await prepare(store)
    const { ctx, notes } = contextAt(store, { bounds })
    failReadsOnce(() => notes.some((note) => acknowledgement.test(note)))
    const outcomes: Outcome[] = []
    const failure = await failureOf(() => run(ctx, id, (outcome) => void outcomes.push(outcome)))
    clearFaults()
    expect([failure, outcomes.map((outcome) => outcome.failure)]).toEqual([undefined, [undefined]])
    await delivered(store, id)
    expect(count(store, id)).toBe(1)
  })

  test('spawn has succeeded', async () => {
    const store = tempStore()
    let isAcknowledged = false
    failReadsOnce(() => isAcknowledged)
    const onAgent = (): void => {
      isAcknowledged = true
    }
    const outcomes: Outcome[] = []
    const onOutcome = (outcome: Outcome): void => void outcomes.push(outcome)
    await spawn(fresh(store), { ...NEW, prompt: null }, { onAgent, onOutcome })
    clearFaults()
    expect([outcomes.map(({ failure }) => failure), agents(store)]).toEqual([[undefined], 1])
  })
})

test('a cancel that fails once it has asked the turn to stop does not advise to repeat it: that could end the next turn', async () => {
  const store = tempStore()
  const session = await newSession(store, { name: 'a' })
  session.append(beginning(session, randomUUID(), 'hi'))
  const { ctx, notes } = contextAt(store, { bounds })
  const isAsked = (): boolean => notes.some((note) => note.includes('asking it to stop'))
  withFaults(failing('ENOSPC', ({ point }) => isAsked() && point.startsWith('request.put')))
  const failure = await failureOf(() =>
    cancelAgents(ctx, { all: false, agents: [session.id], isRecursive: false, isForced: false }),
  )
  clearFaults()
  const hint = failure?.hint
  expect(hint).toContain('see whether its turn ended: substrat show a')
  expect(hint).not.toContain(RUN_AGAIN)
  await session.close(() => true)
})
