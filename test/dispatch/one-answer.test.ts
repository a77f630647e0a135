/**
 * A request that crosses a crash has one answer, the reply, for any first command. The process of a turn that asks, or
 * waits for, another agent dies at each of its steps. Each command that can recover it is tried after each death.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Context } from '../../src/dispatch/context.js'
import { visit } from '../../src/dispatch/visit.js'
import type { Operation } from '../../src/host/disk/operation.js'
import { deliver } from '../../src/operations/deliver.js'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import { type ContinuePolicy, recover } from '../../src/operations/recover.js'
import { resume } from '../../src/operations/resume.js'
import type { RecoveredAgent } from '../../src/schema/output.js'
import { openForRead } from '../../src/session/load.js'
import type { SessionRecord } from '../../src/session/records.js'
import type { State } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { contextAt } from '../support/contexts.js'
import { copyOf, killedAt } from '../support/killed.js'
import { mailOf } from '../support/mail.js'
import { sendRequest } from '../support/send-request.js'
import { newAgent, recordsOf } from '../support/sessions.js'
import { tempDirectory, tempStore } from '../support/temp.js'

/** Its tools need no approval. */
function context(store: FileStore, drains = true): Context {
  return contextAt(store, { bounds, drains, allow: ['tree'] }).ctx
}

const bounds = { slotsMax: 4, waitMs: 3_600_000, turnTimeoutMs: 3_600_000 }

/** The agents of a home by their names. */
type Family = Record<string, string>

type Recovering = (store: FileStore, family: Family) => Promise<unknown>

async function recovered(
  store: FileStore,
  policy: ContinuePolicy,
  agents: string[] = [],
): Promise<RecoveredAgent[]> {
  const ctx = context(store, policy !== 'none')
  const all: RecoveredAgent[] = []
  await recover(ctx, { all: agents.length === 0, agents }, policy, (agent) => all.push(agent))
  return all
}

async function sent(
  store: FileStore,
  agentId: string,
  content: string,
  ctx: Context = context(store),
): Promise<void> {
  try {
    await deliverMessage(ctx, sendRequest(agentId, { content, key: 'k' }), () => undefined)
  } finally {
    await ctx.deliveries.untilIdle()
  }
}

async function delivered(store: FileStore, agentIds: string[] = []): Promise<void> {
  const ctx = context(store)
  await deliver(ctx, { all: agentIds.length === 0, agentIds }, () => undefined)
}

async function resumed(store: FileStore, agentId: string): Promise<void> {
  const ctx = context(store)
  await resume(ctx, agentId, { reseed: false }, () => undefined)
}

/** A visit like that of `set` and other commands that write to an agent and continue no turn. */
async function touched(store: FileStore, agentId: string): Promise<void> {
  await visit(context(store, false), agentId, { waitMs: 0, continuesTurn: false }, async () => undefined)
}

const last = (family: Family): string => Object.values(family).at(-1) as string

const COMMANDS: Record<string, Recovering> = {
  'recover --all': (store) => recovered(store, 'roots'),
  'recover --all --continue all': (store) => recovered(store, 'all'),
  'recover --all --continue none, then resume': async (store, { lead = '' }) => {
    await recovered(store, 'none')
    await resumed(store, lead)
  },
  'recover of the children first': (store, family) =>
    recovered(store, 'roots', Object.values(family).reverse()),
  'recover of a child alone': (store, family) => recovered(store, 'roots', [last(family)]),
  'recover --all twice at once': (store) =>
    Promise.all([recovered(store, 'roots'), recovered(store, 'roots')]),
  'deliver --all': (store) => delivered(store),
  'deliver of a child, and a resume, at once': (store, family) =>
    Promise.all([delivered(store, [last(family)]), resumed(store, family.lead as string)]),
  'the same send --key': (store, { lead = '' }) => sent(store, lead, 'go'),
  'set of a child, then resume': async (store, family) => {
    await touched(store, last(family))
    await resumed(store, family.lead as string)
  },
}

const WRITES = ['write', 'link']
const isWrite = ({ name }: Operation): boolean => WRITES.includes(name)

/** Each state of the home, once, in which the death of the process leaves it. */
async function eachLeft(
  prepared: (store: FileStore) => Promise<Family>,
  work: (store: FileStore, family: Family) => Promise<void>,
  check: (left: FileStore, family: Family, n: number) => Promise<void>,
): Promise<number> {
  const seen = new Set<string>()
  for (let n = 1; ; n++) {
    const store = tempStore()
    const family = await prepared(store)
    if (!(await killedAt(n, () => work(store, family), isWrite))) return seen.size
    const print = fingerprint(copyOf(store), Object.values(family))
    if (seen.has(print)) continue
    seen.add(print)
    await check(store, family, n)
  }
}

function fingerprint(store: FileStore, agentIds: string[]): string {
  const ids = [...agentIds, ...store.agentIds().filter((id) => !agentIds.includes(id))]
  const parts = ids.map((id) => [
    recordsOf(store, id).map(({ kind }) => kind),
    mailOf(store, id).map(({ kind }) => kind),
  ])
  return JSON.stringify(parts)
}

const of = <K extends SessionRecord['kind']>(
  store: FileStore,
  id: string,
  kind: K,
): Extract<SessionRecord, { kind: K }>[] =>
  recordsOf(store, id).filter((record): record is Extract<SessionRecord, { kind: K }> => record.kind === kind)

/** All answers that an agent ever had, in its log or its inbox. */
function answersTo(store: FileStore, id: string): string[] {
  const taken = of(store, id, 'mail.delivered').map(({ message_id, mail_kind, content }) => [
    message_id,
    mail_kind,
    content,
  ])
  const waiting = mailOf(store, id).map(({ message_id, kind, content }) => [message_id, kind, content])
  const all = new Map(
    [...taken, ...waiting].map(([messageId, kind, content]) => [messageId, `${kind}: ${content}`]),
  )
  return [...all.values()].filter((text) => /^(response|error)/.test(text))
}

const resultsOf = (store: FileStore, id: string): unknown[] =>
  of(store, id, 'tool.finished').map(({ content, is_error }) => [content, is_error === true])

const stateOf = (store: FileStore, id: string): State => openForRead(store, id)?.state as State

/** Nothing is left for a later command, and a later command sends nothing twice. */
async function settledFor(store: FileStore, at: string): Promise<void> {
  await recovered(store, 'roots')
  await delivered(store)
  await delivered(store)
  for (const id of store.agentIds()) {
    const { owes, run, path } = stateOf(store, id)
    expect([path, owes, mailOf(store, id)], at).toEqual([path, [], []])
    expect(run?.status ?? 'completed', `${at}: ${path}`).toBe('completed')
  }
  expect(mailOf(store, 'operator'), at).toEqual([])
}

/** All of them with EVERY=1; else a share, another at each step. */
function commandsFor(n: number, share: number): [string, Recovering][] {
  return Object.entries(COMMANDS).filter(
    (_, index) => process.env.EVERY !== undefined || (index + n) % share === 0,
  )
}

async function sweep(
  share: number,
  prepared: (store: FileStore) => Promise<Family>,
  check: (store: FileStore, family: Family, at: string) => void,
): Promise<number> {
  return eachLeft(
    prepared,
    (store, { lead = '' }) => sent(store, lead, 'go'),
    async (left, family, n) => {
      // A message that was not stored when its sender died cannot be recovered.
      if (stateOf(copyOf(left), family.lead as string).run === null) return
      for (const [name, command] of commandsFor(n, share)) {
        const copy = copyOf(left)
        const at = `killed at write ${n}, recovered by ${name}`
        await command(copy, family)
        await settledFor(copy, at)
        check(copy, family, at)
      }
    },
  )
}

/** Options of the scripted provider: entry i answers the i-th request of the conversation. */
function scenarioFile(...responses: object[]): Record<string, string> {
  const scenario = join(tempDirectory(), 'scenario.json')
  writeFileSync(scenario, JSON.stringify({ responses }))
  return { scenario }
}

const ask = (to: string, wait: boolean): object => ({
  tools: [{ name: 'send_message', input: { to, content: 'how far?', wait } }],
})

test('a parent that waits for its child gets the reply, once', async () => {
  const count = await sweep(
    3,
    async (store) => {
      const lead = await newAgent(store, {
        name: 'lead',
        options: scenarioFile(ask('child', true), { say: 'ok' }),
      })
      return {
        lead,
        child: await newAgent(store, { name: 'child', parent: lead, options: scenarioFile({ say: 'done' }) }),
      }
    },
    (store, { lead = '', child = '' }, at) => {
      expect(resultsOf(store, lead), at).toEqual([['done', false]])
      expect(answersTo(store, lead), at).toEqual(['response: done'])
      expect(of(store, child, 'mail.delivered'), at).toHaveLength(1)
    },
  )
  expect(count).toBeGreaterThan(8)
})

test('a parent that waits for the child that it makes gets the reply, once', async () => {
  const tools = [
    {
      name: 'spawn_agent',
      input: { name: 'kid', prompt: 'begin', wait: true, options: scenarioFile({ say: 'born' }) },
    },
  ]
  const count = await sweep(
    7,
    async (store) => ({
      lead: await newAgent(store, { name: 'lead', options: scenarioFile({ tools }, { say: 'ok' }) }),
    }),
    (store, { lead = '' }, at) => {
      expect(resultsOf(store, lead), at).toEqual([['born', false]])
      expect(answersTo(store, lead), at).toEqual(['response: born'])
      expect(store.agentIds(), at).toHaveLength(2)
    },
  )
  expect(count).toBeGreaterThan(8)
})

test('so does one that waits for a child that waits in its turn', async () => {
  const count = await sweep(
    7,
    async (store) => {
      const lead = await newAgent(store, {
        name: 'lead',
        options: scenarioFile(ask('mid', true), { say: 'ok' }),
      })
      const mid = await newAgent(store, {
        name: 'mid',
        parent: lead,
        options: scenarioFile(ask('leaf', true), { say: 'mid is done' }),
      })
      const leaf = await newAgent(store, {
        name: 'leaf',
        parent: mid,
        options: scenarioFile({ say: 'leaf is done' }),
      })
      return { lead, mid, leaf }
    },
    (store, { lead = '', mid = '' }, at) => {
      expect([resultsOf(store, lead), resultsOf(store, mid)], at).toEqual([
        [['mid is done', false]],
        [['leaf is done', false]],
      ])
      expect([answersTo(store, lead), answersTo(store, mid)], at).toEqual([
        ['response: mid is done'],
        ['response: leaf is done'],
      ])
    },
  )
  expect(count).toBeGreaterThan(12)
})

test('a parent that does not wait gets the reply as a message, once, and no error', async () => {
  const count = await sweep(
    7,
    async (store) => {
      const lead = await newAgent(store, {
        name: 'lead',
        options: scenarioFile(ask('child', false), { say: 'asked' }, { say: 'thanks' }),
      })
      return {
        lead,
        child: await newAgent(store, { name: 'child', parent: lead, options: scenarioFile({ say: 'done' }) }),
      }
    },
    (store, { lead = '', child = '' }, at) => {
      expect(answersTo(store, lead), at).toEqual(['response: done'])
      expect(of(store, child, 'mail.delivered'), at).toHaveLength(1)
    },
  )
  expect(count).toBeGreaterThan(8)
})

test('a parent whose wait was stopped by a signal gets the reply as the result of its call, once', async () => {
  for (const [name, command] of commandsFor(0, 3)) {
    const store = tempStore()
    const slow = scenarioFile({ delay_ms: 3_600_000, say: 'done' })
    const lead = await newAgent(store, {
      name: 'lead',
      options: scenarioFile(ask('child', true), { say: 'ok' }),
    })
    const child = await newAgent(store, { name: 'child', parent: lead, options: slow })
    const ctx = context(store)
    // The second stops what the first lets finish.
    ctx.reporter.record = ({ kind }, agentId) => {
      if (kind === 'model.requested' && agentId === child)
        setImmediate(() =>
          ['SIGTERM', 'SIGTERM'].map((signal) => process.emit(signal as 'SIGTERM', 'SIGTERM')),
        )
    }
    await sent(store, lead, 'go', ctx)
    ctx.shutdown.close()
    for (const id of [lead, child])
      expect(stateOf(store, id).run, name).toMatchObject({ status: 'interrupted', reason: 'shutdown' })
    expect([resultsOf(store, lead), mailOf(store, lead)], name).toEqual([[], []])
    writeFileSync(slow.scenario as string, JSON.stringify({ responses: [{ say: 'done' }] }))
    await command(store, { lead, child })
    await settledFor(store, name)
    expect(resultsOf(store, lead), name).toEqual([['done', false]])
    expect(answersTo(store, lead), name).toEqual(['response: done'])
  }
})
