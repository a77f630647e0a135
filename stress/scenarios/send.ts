/** A message is taken once and answered once; what was printed is in the log. */
import { FileStore } from '../../src/storage/store.js'
import { resolveAgent } from '../../src/tree/names.js'
import type { HomeView } from '../support/home-view.js'
import {
  type Broken,
  nothingPending,
  replyIsKept,
  takenOnce,
  takenOnceOrLeft,
  takenOnceOrNot,
  UUID,
} from '../support/promises.js'
import { makeFlockHome, withAgent, withScript } from './homes.js'
import { leaveOpen } from './left-open.js'
import { answeredByMail, exits, notifiedOnce } from './promises.js'
import type { Scenario } from './scenario.js'

const LARGE = 'large '.repeat(15_000)

export const SEND: Scenario[] = [
  sending('send', ['hello'], { next: ['send', 'a', 'next'], nextReply: 'echo: next' }),
  sending('send-key', ['--key', 'k', 'hello']),
  sending('send-large', ['--key', 'k', LARGE], { message: LARGE }),
  sending('send-exec', ['--key', 'k', 'hello'], {
    reply: 'done',
    programs: 'short',
    prepare: (lab, home) =>
      withAgent(lab, home, '--provider', 'exec', '--option', 'command=cat >/dev/null; echo done'),
  }),
  sending('send-flock', ['--key', 'k', 'hello'], {
    prepare: async (lab, home) => {
      makeFlockHome(home)
      return withAgent(lab, home)
    },
  }),
  sending('send-after-kill', ['--key', 'k', 'hello'], {
    prepare: async (lab, home) => {
      await withAgent(lab, home)
      await leaveOpen(home, 'a', 'C', { content: 'interrupted' })
      return undefined
    },
    // Killed three times, the turn is left to a person: a send of another message then goes on without it.
    always: (home) => takenOnceOrLeft(home.agent('a'), 'interrupted', 'echo: interrupted'),
  }),
  failing(),
  limited(),
  queueingBehindATurn(),
  queueing('send-queue', ['--queue']),
  queueing('send-queue-no-drain', ['--queue', '--no-drain']),
  notifying(),
]

interface Sending {
  message?: string
  reply?: string
  /** Else the same command again, which has a key. */
  next?: string[]
  nextReply?: string
  prepare?: Scenario['prepare']
  programs?: 'short'
  always?(home: HomeView): Broken
}

function sending(name: string, words: string[], options: Sending = {}): Scenario {
  const message = options.message ?? 'hello'
  const reply = options.reply ?? `echo: ${message}`
  const argv = ['send', 'a', ...words]
  return {
    name,
    argv,
    ...(options.programs === undefined ? {} : { programs: options.programs }),
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

/** The model refuses: the turn fails once, and the same key is told so again. */
function failing(): Scenario {
  const argv = ['send', 'a', '--key', 'k', 'hello']
  const failures = (home: HomeView): number =>
    home.agent('a')?.records.filter(({ kind }) => kind === 'run.failed').length ?? 0
  return {
    name: 'send-failing',
    argv,
    exit: 9,
    prepare: (lab, home) => withScript(lab, home, [{ fail: { type: 'invalid', attempts: 99 } }]),
    recoverExits: [9],
    *acknowledged(told, home) {
      if (/failed/.test(told.stderr) && failures(home) !== 1) yield 'a turn that was said to have failed has'
    },
    next: { argv, check: (ended) => exits(ended, 9) },
    *finally(home) {
      if (failures(home) !== 1) yield `the turn failed once, not ${failures(home)} times`
      yield* nothingPending(home)
    },
  }
}

/** The provider says when to come back, and that is now. */
function limited(): Scenario {
  const argv = ['send', 'a', '--key', 'k', 'hello']
  const fail = { type: 'rate_limit', retry_after_ms: 1, attempts: 1 }
  return {
    name: 'send-limited',
    argv,
    exit: 7,
    env: { SUBSTRAT_RETRY_DELAYS: 'none' },
    prepare: (lab, home) => withScript(lab, home, [{ fail, say: 'in time' }]),
    recoverExits: [7],
    acknowledged: (told, home) => replyIsKept(told, home.agent('a'), 'hello', 'in time'),
    next: { argv, check: (ended) => exits(ended, [0, 7]) },
    afterwards: [
      { argv: ['recover', '--all'], check: (ended) => exits(ended, [0, 7]) },
      { argv, check: (ended) => exits(ended, 0, 'in time\n') },
    ],
    finally: (home) => takenOnce(home.agent('a'), 'hello', 'in time'),
  }
}

/** `--if-busy queue` while another process has the agent: this one. */
function queueingBehindATurn(): Scenario {
  const argv = ['send', 'a', '--key', 'k', '--if-busy', 'queue', 'hello']
  return {
    name: 'send-if-busy',
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

/** Through the inbox; the reply comes to the inbox of the person. */
function queueing(name: string, flags: string[]): Scenario {
  const argv = ['send', 'a', '--key', 'k', ...flags, 'hello']
  return {
    name,
    argv,
    prepare: (lab, home) => withScript(lab, home, [{ say: 'heard' }]),
    *acknowledged(told, home) {
      const id = new RegExp(`queued as message (${UUID.source})`).exec(told.stderr)?.[1]
      const agent = home.agent('a')
      if (id !== undefined && agent?.pending.includes(id) !== true && !agent?.state.delivered.includes(id))
        yield `the message ${id} was acknowledged and is in the inbox or in the log`
    },
    next: { argv, check: (ended) => exits(ended, 0) },
    afterwards: [{ argv: ['deliver', '--all'], check: (ended) => exits(ended, 0) }],
    *finally(home) {
      yield* takenOnce(home.agent('a'), 'hello', 'heard')
      yield* answeredByMail(home, { to: 'a', content: 'hello', answer: 'heard' })
      yield* nothingPending(home)
    },
  }
}

function notifying(): Scenario {
  const argv = ['send', 'a', '--key', 'k', '--kind', 'notification', 'hello']
  return {
    name: 'send-notification',
    argv,
    prepare: (lab, home) => withAgent(lab, home),
    acknowledged: () => [],
    next: { argv, check: (ended) => exits(ended, 0) },
    afterwards: [{ argv: ['deliver', '--all'], check: (ended) => exits(ended, 0) }],
    *finally(home) {
      yield* notifiedOnce(home, 'a', 'hello')
      yield* nothingPending(home)
    },
  }
}
