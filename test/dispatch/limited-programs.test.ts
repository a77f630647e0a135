/**
 * A usage limit that an agent program meets before its first answer. The program was launched, and may have the message
 * in its own store: every way to go on asks it with the recovery prompt, and none with the bare message again.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { clock } from '../../src/clock.js'
import type { Context } from '../../src/dispatch/context.js'
import type { Outcome } from '../../src/dispatch/outcome.js'
import { deliver } from '../../src/operations/deliver.js'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import type { MessageRequest } from '../../src/operations/message/request.js'
import { recover } from '../../src/operations/recover.js'
import { resume } from '../../src/operations/resume.js'
import { waitForAgents } from '../../src/operations/wait.js'
import { openForRead } from '../../src/session/load.js'
import type { Run } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { builtPlugin } from '../plugins/driven-agent.js'
import { contextAt } from '../support/contexts.js'
import { sendRequest } from '../support/send-request.js'
import { type AgentFacts, newAgent } from '../support/sessions.js'
import { tempDirectory, tempStore } from '../support/temp.js'

const STAND_INS = join(import.meta.dirname, '../plugins')
const DAY_MS = 86_400_000
const NODE = `'${process.execPath}'`
const plugins = await Promise.all(['provider-claude-code', 'provider-codex', 'provider-acp'].map(builtPlugin))

let store: FileStore
let workspace: string
let aheadMs = 0
const { now } = clock

beforeEach(() => {
  store = tempStore()
  workspace = tempDirectory()
  aheadMs = 0
  clock.now = () => now() + aheadMs
  clock.uptime = () => uptime() * 1000 + aheadMs
  for (const name of ['claude', 'codex', 'acp']) mkdirSync(join(workspace, name))
  process.env.CLAUDE_CONFIG_DIR = join(workspace, 'claude')
  process.env.CODEX_HOME = join(workspace, 'codex')
})

afterEach(() => {
  clock.now = now
  delete clock.uptime
  delete process.env.CLAUDE_CONFIG_DIR
  delete process.env.CODEX_HOME
})

interface Program {
  provider: string
  command(): string
  /** It is limited where it is asked this and nothing else. */
  message: string
  /** The prompts in its own store, oldest first. */
  asked(): string[]
}

const linesOf = (file: string): string[] => readFileSync(file, 'utf8').trim().split('\n')
const LIMIT = JSON.stringify([{ fail: { code: -32603, message: 'Rate limit reached, try again in 1h' } }])
const OVERLOAD = JSON.stringify([{ fail: { code: -32603, message: '529 overloaded' } }])

const CLAUDE: Program = {
  provider: 'claude-code',
  command: () => join(STAND_INS, 'claude-code/stand-in.mjs'),
  message: 'be limited at first',
  asked() {
    const folder = join(workspace, 'claude/projects/-workspace')
    const entries = readdirSync(folder).flatMap((name) => linesOf(join(folder, name)))
    return entries
      .map((line) => JSON.parse(line))
      .filter(({ type }) => type === 'user')
      .map(({ message }) => message.content)
  },
}

const CODEX: Program = {
  provider: 'codex',
  // It is rate limited in a new thread, and answers in a continued one.
  command: () =>
    `${process.execPath} ${STAND_INS}/codex/stand-in.mjs --asked ${workspace}/asked --play limited.jsonl --stored 3 --end 1`,
  message: 'hello there',
  asked: () => linesOf(join(workspace, 'asked')).map((line) => JSON.parse(line)),
}

const ACP: Program = {
  provider: 'acp',
  command: () => `${NODE} '${STAND_INS}/acp/agent.cjs' '${workspace}/acp'`,
  message: LIMIT,
  asked() {
    const folder = join(workspace, 'acp')
    const sessions = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
    return sessions.flatMap(({ prompts }) => prompts.map((texts: string[]) => texts.join('\n')))
  },
}

function command(): Context {
  const own = { slotsMax: 4, turnTimeoutMs: 3_600_000 }
  return contextAt(store, { plugins, bounds: own, allow: ['tree'] }).ctx
}

function agentOf(program: Program, facts: AgentFacts = {}): Promise<string> {
  return newAgent(store, {
    provider: program.provider,
    options: { command: program.command() },
    workspace,
    ...facts,
  })
}

/** The output of the command. */
async function told(
  act: (ctx: Context, tell: (outcome: Outcome) => void) => Promise<void>,
): Promise<Outcome> {
  let outcome: Outcome | undefined
  const ctx = command()
  await act(ctx, (result) => {
    outcome = result
  })
  await ctx.deliveries.untilIdle()
  return outcome as Outcome
}

function sent(agentId: string, content: string, over: Partial<MessageRequest> = {}): Promise<Outcome> {
  const request = sendRequest(agentId, { content, key: 'k', ifBusy: 'fail', ifWaiting: 'fail', ...over })
  return told((ctx, tell) => deliverMessage(ctx, request, tell))
}

const resumed = (id: string): Promise<Outcome> =>
  told((ctx, tell) => resume(ctx, id, { reseed: false }, tell))

const delivered = async (): Promise<void> => {
  await told((ctx) => deliver(ctx, { all: true, agentIds: [] }, () => undefined))
}

const runOf = (id: string): Run | null => openForRead(store, id)?.state.run ?? null

function expectRecovered({ asked, message }: Program): void {
  const [first, second, ...others] = asked()
  expect({ first, others }).toEqual({ first: message, others: [] })
  expect(second).toMatch(/^(Your previous|An earlier) turn.* was interrupted/)
  expect(second?.split('was interrupted')).toHaveLength(2)
  expect(second?.endsWith(`\n\n${message}`)).toBe(true)
}

describe.each([CLAUDE, CODEX, ACP])(
  'the $provider program that is limited before its first answer',
  (program) => {
    test('parks the turn, and is asked with the recovery prompt at its time', async () => {
      const id = await agentOf(program)
      expect((await sent(id, program.message)).failure).toMatchObject({ exitStatus: 7 })
      expect((await resumed(id)).failure).toMatchObject({ exitStatus: 7 })
      expect(program.asked()).toEqual([program.message])
      aheadMs = 2 * DAY_MS
      expect((await resumed(id)).failure).toBeUndefined()
      expectRecovered(program)
      expect(runOf(id)?.status).toBe('completed')
    })
  },
)

describe('a turn that a limit has parked before the first answer', () => {
  const WAYS: [string, (id: string) => Promise<unknown>][] = [
    ['the same key', (id) => sent(id, LIMIT)],
    ['the same key with --retry', (id) => sent(id, LIMIT, { retry: true })],
    ['recover', () => told((ctx) => recover(ctx, { all: true, agents: [] }, 'roots', () => undefined))],
    ['deliver', () => delivered()],
    [
      'wait',
      (id) => {
        const request = { agentIds: [id], until: 'idle' as const, drains: true, timeoutMs: null }
        return told((ctx) => waitForAgents(ctx, request, () => undefined))
      },
    ],
  ]

  test.each(WAYS)('is continued by %s with a prompt that says that it was started', async (_, goOn) => {
    const id = await agentOf(ACP)
    await sent(id, LIMIT)
    aheadMs = 2 * DAY_MS
    await goOn(id)
    expectRecovered(ACP)
    expect(runOf(id)?.status).toBe('completed')
  })

  test('and parks again is asked in the same words again', async () => {
    const words = { ...ACP, command: () => `${ACP.command()} 'is limited always'` }
    const id = await agentOf(words)
    await sent(id, 'build it')
    for (let day = 2; day < 5; day++) {
      aheadMs = day * DAY_MS
      expect((await resumed(id)).failure).toMatchObject({ exitStatus: 7 })
    }
    const [first, second, ...others] = ACP.asked()
    expect(first).toBe('build it')
    expect(second).toMatch(/was interrupted[\s\S]*\n\nbuild it$/)
    expect(others).toEqual([second, second])
  })
})

describe('a child that a parent asks to go on', () => {
  /** A parent with a turn that calls a tool. */
  async function parentThat(name: string, input: object): Promise<string> {
    const scenario = join(workspace, 'parent.json')
    const responses = [{ tools: [{ name, input }] }, { say: 'all done' }]
    writeFileSync(scenario, JSON.stringify({ responses }))
    return newAgent(store, { name: 'top', options: { scenario }, workspace })
  }
  const childOf = (parent: string, program = ACP): Promise<string> =>
    agentOf(program, { name: 'kid', parent, path: 'top/kid' })

  test.each([
    ['was limited', LIMIT],
    ['has failed', OVERLOAD],
  ])('by poke, because it %s, is asked with the recovery prompt', async (_, message) => {
    const parent = await parentThat('poke', { agent: 'kid' })
    const kid = await childOf(parent)
    expect((await sent(kid, message)).failure).toBeDefined()
    aheadMs = 2 * DAY_MS
    await sent(parent, 'go')
    await delivered()
    expectRecovered({ ...ACP, message })
    expect(runOf(kid)?.status).toBe('completed')
  })

  test('by the wait for its reply, which a limit has held up, is asked with the recovery prompt', async () => {
    const parent = await parentThat('send_message', { to: 'kid', content: 'build it', wait: true })
    const kid = await childOf(parent, { ...ACP, command: () => `${ACP.command()} 'is limited at first'` })
    await sent(parent, 'go')
    expect(ACP.asked()).toHaveLength(1)
    aheadMs = 2 * DAY_MS
    await delivered()
    const [first, second, ...others] = ACP.asked()
    expect(first).toMatch(/build it/)
    expect(second).toMatch(/was interrupted[\s\S]*build it/)
    expect(others).toEqual([])
    expect([runOf(kid), runOf(parent)]).toMatchObject([{ status: 'completed' }, { status: 'completed' }])
  })
})
