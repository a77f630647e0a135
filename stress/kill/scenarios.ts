/** The commands that are swept, each with the home it starts from and what the contract says of it. */
import { randomUUID } from 'node:crypto'
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openForRead } from '../../src/session/open-for-read.js'
import { frame } from '../../src/storage/frame.js'
import { FORMAT, type HomeFacts } from '../../src/storage/home.js'
import { FileStore } from '../../src/storage/store.js'
import { resolveAgent } from '../../src/tree/names.js'
import type { Lab } from '../support/lab.js'
import type { AgentSeen, HomeView } from './home-view.js'
import {
  type Broken,
  exits,
  leaveOpen,
  leaveUnclean,
  replyIsKept,
  type Scenario,
  takenOnce,
  takenOnceOrNot,
  UUID,
  withAgent,
} from './scenario.js'

const LARGE = 'large '.repeat(15_000)

export const SCENARIOS: Scenario[] = [
  {
    ...spawning('spawn-first', ['--name', 'b', 'hello'], 'hello'),
    // The very first command makes the home too.
    prepare: async () => undefined,
  },
  spawning('spawn', []),
  spawning('spawn-named', ['--name', 'b']),
  spawning('spawn-prompt', ['--name', 'b', 'hello'], 'hello'),
  sending('send', ['hello'], { next: ['send', 'a', 'next'], nextReply: 'echo: next' }),
  sending('send-key', ['--key', 'k', 'hello']),
  { ...sending('send-large', ['--key', 'k', LARGE], { message: LARGE }) },
  sending('send-exec', ['--key', 'k', 'hello'], {
    reply: 'done',
    prepare: (lab, home) =>
      withAgent(lab, home, '--provider', 'exec', '--option', 'command=cat >/dev/null; echo done'),
  }),
  sending('send-flock', ['--key', 'k', 'hello'], {
    prepare: async (lab, home) => {
      makeFlockHome(home)
      await withAgent(lab, home)
    },
  }),
  sending('send-after-kill', ['--key', 'k', 'hello'], {
    prepare: async (lab, home) => {
      await withAgent(lab, home)
      await leaveOpen(home, 'a', 'C', 'interrupted')
    },
    always: (home) => takenOnce(home.agent('a'), 'interrupted', 'echo: interrupted'),
  }),
  queueing(),
  recovering(),
  suspending('suspend', []),
  suspending('suspend-hold', ['--hold']),
  suspendingARunningTurn(),
  resuming(),
  terminating(),
]

function spawning(name: string, words: string[], prompt?: string): Scenario {
  const isNamed = words.includes('--name')
  return {
    name,
    argv: ['spawn', ...words],
    prepare: (lab, home) => withAgent(lab, home),
    *acknowledged(told, home) {
      const id = UUID.exec(prompt === undefined ? told.stdout : told.stderr)?.[0]
      if (id === undefined) return
      const agent = home.agent(id)
      if (agent === undefined) yield `the agent ${id} was acknowledged and is on disk`
      else if (prompt !== undefined) yield* replyIsKept(told, agent, prompt, `echo: ${prompt}`)
    },
    next: {
      argv: isNamed ? ['spawn', '--name', 'b', '--if-exists', 'use'] : ['spawn'],
      *check(ended, told) {
        yield* exits(ended, 0)
        const before = UUID.exec(told.stdout + told.stderr)?.[0]
        if (isNamed && before !== undefined && ended.stdout.trim() !== before)
          yield `the name leads to the agent ${before} that was acknowledged, not to ${ended.stdout.trim()}`
      },
    },
    *finally(home) {
      const named = home.living('b')
      if (isNamed && named.length !== 1) yield `one agent has the name, not ${named.length}`
      if (prompt !== undefined) yield* takenOnceOrNot(named[0], prompt, `echo: ${prompt}`)
    },
  }
}

interface Sending {
  message?: string
  reply?: string
  /** Else the same command again, which has a key. */
  next?: string[]
  nextReply?: string
  prepare?: Scenario['prepare']
  always?(home: HomeView): Broken
}

function sending(name: string, words: string[], options: Sending = {}): Scenario {
  const message = options.message ?? 'hello'
  const reply = options.reply ?? `echo: ${message}`
  const argv = ['send', 'a', ...words]
  return {
    name,
    argv,
    prepare: options.prepare ?? ((lab, home) => withAgent(lab, home)),
    acknowledged: (told, home) => replyIsKept(told, home.agent('a'), message, reply),
    next: {
      argv: options.next ?? argv,
      check: (ended) => exits(ended, 0, `${options.nextReply ?? reply}\n`),
    },
    *finally(home) {
      const taken = options.next === undefined ? takenOnce : takenOnceOrNot
      yield* taken(home.agent('a'), message, reply)
      yield* options.always?.(home) ?? []
    },
  }
}

/** `send --if-busy queue` while another process has the agent: this one. */
function queueing(): Scenario {
  const argv = ['send', 'a', '--key', 'k', '--if-busy', 'queue', 'hello']
  return {
    name: 'send-queue',
    argv,
    prepare: (lab, home) => withAgent(lab, home),
    async meanwhile(_lab, home) {
      const store = FileStore.openForWrite(home)
      const lease = await store.lockAgent(resolveAgent(store, 'a'), 'stress', 0)
      if (lease === undefined) throw new Error('the agent is free before the command')
      return () => lease.release()
    },
    *acknowledged(told, home) {
      const id = new RegExp(`queued as message (${UUID.source})`).exec(told.stderr)?.[1]
      if (id !== undefined && home.agent('a')?.pending.includes(id) !== true)
        yield `the message ${id} was acknowledged and is in the inbox`
    },
    next: { argv, check: (ended) => exits(ended, 0, 'echo: hello\n') },
    *finally(home) {
      yield* takenOnce(home.agent('a'), 'hello', 'echo: hello')
      yield* nothingPending(home)
    },
  }
}

/** `recover --all` on a home with an agent for each way to die. */
function recovering(): Scenario {
  const open = { B: 'scripted', C: 'scripted', G: 'exec', J: 'exec' } as const
  const rows = Object.keys(open) as (keyof typeof open)[]
  return {
    name: 'recover',
    argv: ['recover', '--all', '--json'],
    async prepare(lab, home) {
      await withAgent(lab, home)
      for (const row of rows) {
        const flags =
          open[row] === 'exec' ? ['--provider', 'exec', '--option', 'command=cat >/dev/null; echo done'] : []
        await lab.do(home, 'spawn', '--name', row, ...flags)
        await leaveOpen(home, row, row, `open ${row}`)
      }
      await lab.do(home, 'spawn', '--name', 'torn')
      await lab.do(home, 'send', 'torn', 'whole')
      await tear(home, 'torn')
      await lab.do(home, 'spawn', '--name', 'mail')
      await leaveDeliveredAndPending(lab, home, 'mail')
    },
    *acknowledged(told, home) {
      for (const line of told.stdout.split('\n').filter((text) => text.endsWith('}'))) {
        const { agent, run } = JSON.parse(line) as {
          agent: string
          run: { id: string; status: string } | null
        }
        const ended = home
          .agent(agent)
          ?.records.some(
            (record) =>
              record.kind === `run.${run?.status}` && 'run_id' in record && record.run_id === run?.id,
          )
        if (run !== null && run.status !== 'open' && ended !== true)
          yield `the run ${run.id} was told to be ${run.status} and is`
      }
    },
    next: {
      argv: ['recover', '--all'],
      // A turn that was killed twice in going on by itself is left to a person: interrupted, resumable.
      check: (ended, _told, kills) => (kills > 1 && ended.code === 6 ? [] : exits(ended, 0)),
    },
    *finally(home) {
      yield* takenOnce(home.agent('B'), 'open B', 'echo: open B')
      yield* takenOnce(home.agent('C'), 'open C', 'echo: open C')
      yield* takenOnce(home.agent('G'), 'open G', 'answered: open G')
      yield* takenOnce(home.agent('J'), 'open J', 'done')
      yield* takenOnce(home.agent('torn'), 'whole', 'echo: whole')
      yield* takenOnce(home.agent('mail'), 'delivered', 'echo: delivered')
      yield* takenOnce(home.agent('mail'), 'pending', 'echo: pending')
      yield* nothingPending(home)
    },
  }
}

function suspending(name: string, flags: string[]): Scenario {
  const argv = ['suspend', 'a', ...flags]
  const isHeld = flags.includes('--hold')
  return {
    name,
    argv,
    async prepare(lab, home) {
      await withAgent(lab, home)
      await leaveOpen(home, 'a', 'C', 'interrupted')
    },
    *acknowledged(told, home) {
      const { state, hold } = home.agent('a')?.state ?? {}
      if (told.stdout.includes('suspended') && (state !== 'suspended' || hold !== isHeld))
        yield `the agent was said to be suspended and is, not ${state}${hold ? ', on hold' : ''}`
    },
    next: { argv, check: (ended) => exits(ended, 0) },
    *finally(home) {
      const agent = home.agent('a')
      if (agent?.state.state !== 'suspended' || agent.state.hold !== isHeld) yield 'the agent is suspended'
      if (agent !== undefined && hasReplyOnHold(agent)) yield 'an agent on hold takes no turn'
    },
  }
}

function hasReplyOnHold({ records }: AgentSeen): boolean {
  const held = records.findIndex((record) => record.kind === 'session.configured' && record.hold === true)
  return held !== -1 && records.slice(held).some(({ kind }) => kind === 'message.agent')
}

const TURN_MS = 1500

/** Another process asks the model meanwhile; it is asked to stop, or, where `suspend` died first, goes on to its end. */
function suspendingARunningTurn(): Scenario {
  return {
    name: 'suspend-running',
    argv: ['suspend', 'a'],
    async prepare(lab, home) {
      const scenario = { responses: [{}, { delay_ms: TURN_MS, say: 'late' }] }
      writeFileSync(join(lab.workspace, 'late.json'), JSON.stringify(scenario))
      await withAgent(lab, home, '--option', 'scenario=late.json')
    },
    async meanwhile(lab, home) {
      const turn = lab.run(home, ['send', 'a', 'slow'])
      await untilAsked(home, 'a')
      return async () => void (await turn)
    },
    *acknowledged(told, home) {
      const { state, run } = home.agent('a')?.state ?? {}
      if (told.stdout.includes('suspended') && (state !== 'suspended' || run?.status === 'open'))
        yield `the agent was said to be suspended and is, not ${state} with a run that is ${run?.status}`
    },
    next: { argv: ['resume', 'a'], check: (ended) => exits(ended, 0) },
    finally: (home) => takenOnce(home.agent('a'), 'slow', 'late'),
  }
}

function resuming(): Scenario {
  return {
    name: 'resume',
    argv: ['resume', 'a'],
    async prepare(lab, home) {
      await withAgent(lab, home)
      await leaveOpen(home, 'a', 'C', 'interrupted')
      await lab.do(home, 'suspend', 'a', '--hold')
      await lab.do(home, 'send', 'a', '--if-busy', 'queue', 'queued')
    },
    acknowledged: (told, home) => replyIsKept(told, home.agent('a'), 'interrupted', 'echo: interrupted'),
    next: { argv: ['resume', 'a'], check: (ended) => exits(ended, 0) },
    *finally(home) {
      yield* takenOnce(home.agent('a'), 'interrupted', 'echo: interrupted')
      yield* takenOnce(home.agent('a'), 'queued', 'echo: queued')
      yield* nothingPending(home)
    },
  }
}

function terminating(): Scenario {
  const isTerminated = (home: HomeView): boolean => home.living('a').length === 0
  return {
    name: 'terminate',
    argv: ['terminate', 'a'],
    async prepare(lab, home) {
      await withAgent(lab, home)
      await lab.do(home, 'suspend', 'a', '--hold')
      await lab.do(home, 'send', 'a', '--if-busy', 'queue', 'queued')
      await leaveOpen(home, 'a', 'C', 'interrupted')
    },
    *acknowledged(told, home) {
      if (told.stdout.includes('terminated') && !isTerminated(home))
        yield 'the agent was said to be terminated and is'
    },
    next: { argv: ['terminate', 'a'], check: (ended) => exits(ended, 0) },
    *finally(home) {
      if (!isTerminated(home)) yield 'the agent is terminated'
    },
  }
}

function* nothingPending(home: HomeView): Broken {
  for (const { pending, state } of home.agents)
    if (pending.length > 0 && state.state !== 'terminated') yield `${state.name} has taken its mail`
}

/** As on a machine where the add-on for the other kind of lock does not load. */
function makeFlockHome(home: string): void {
  mkdirSync(home, { mode: 0o700 })
  const created_at = '2026-11-20T10:00:00.000Z'
  const facts: HomeFacts = { format: FORMAT, home_id: randomUUID(), lock: 'flock', created_at }
  writeFileSync(join(home, 'home.json'), frame(facts), { mode: 0o600 })
}

/** Half a batch behind the last whole one. */
async function tear(home: string, name: string): Promise<void> {
  const store = FileStore.openForRead(home) as FileStore
  const id = resolveAgent(store, name)
  await leaveUnclean(home, name, () => undefined)
  const last = openForRead(store, id)?.state.last_seq ?? 0
  const half = `{"seq":${last + 1},"ts":"2026-11-20T10:00:00.000Z","kind":"session.activated","batch":[${last + 1},`
  appendFileSync(store.logPath(id), half)
}

/** Rows K and its neighbour: a message whose file outlived its delivery, and one that nobody has taken yet. */
async function leaveDeliveredAndPending(lab: Lab, home: string, name: string): Promise<void> {
  const store = FileStore.openForRead(home) as FileStore
  const id = resolveAgent(store, name)
  const queue = async (text: string): Promise<void> => {
    await lab.do(home, 'suspend', name, '--hold')
    await lab.do(home, 'send', name, '--if-busy', 'queue', text)
  }
  await queue('delivered')
  const inbox = join(home, 'agents', id, 'inbox')
  const [file] = readdirSync(inbox) as [string]
  const bytes = readFileSync(join(inbox, file))
  await lab.do(home, 'resume', name)
  await queue('pending')
  await leaveUnclean(home, name, (session) => {
    session.append([{ kind: 'session.configured', hold: false }])
  })
  writeFileSync(join(inbox, file), bytes)
}

async function untilAsked(home: string, name: string): Promise<void> {
  const store = FileStore.openForRead(home) as FileStore
  const id = resolveAgent(store, name)
  while (openForRead(store, id)?.state.run?.phase !== 'asked') await sleep(5)
}
