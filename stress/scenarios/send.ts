/** A message is delivered once and answered once. A printed reply is in the log. */
import { openOrCreateHome } from '../../src/storage/open.js'
import { resolveAgent } from '../../src/tree/names.js'
import type { HomeView } from '../support/home-view.js'
import {
  type Broken,
  nothingPending,
  replyIsKept,
  takenOnce,
  takenOnceOrLeft,
  takenOnceOrNot,
} from '../support/promises.js'
import { EXEC, LARGE, leaveAsked, makeFlockHome, withAgent, withScript } from './homes.js'
import { tear } from './left-open.js'
import { answeredByMail, exits, notifiedOnce, queuedIsKept } from './promises.js'
import { onlyInFiles, type Scenario, type Told } from './scenario.js'
import type { Stage } from './stage.js'

export const SEND: Scenario[] = [
  sendScenario('send', ['hello'], { next: ['send', 'a', 'next'], nextReply: 'echo: next' }),
  sendScenario('send-key', ['--key', 'k', 'hello']),
  sendScenario('send-budget', ['--key', 'k', 'hello'], {
    prepare: (stage) => withAgent(stage, '--budget', 'tokens=90M,requests=1000/day'),
    always: heldOnce,
  }),
  sendScenario('send-large', ['--key', 'k', LARGE], { message: LARGE }),
  sendScenario('send-exec', ['--key', 'k', 'hello'], {
    reply: 'done',
    programs: 'short',
    prepare: (stage) => withAgent(stage, ...EXEC),
  }),
  {
    ...sendScenario('send-flock', ['--key', 'k', 'hello'], {
      prepare: async (stage) => {
        makeFlockHome(stage.home)
        return withAgent(stage)
      },
    }),
    not: {
      powercut: 'the kind of the lock changes no file: the disks are those of send-key',
      faults: 'the kind of the lock changes no file: the steps are those of send-key',
      postgres: 'a database has leases, and no locks of files',
    },
  },
  sendScenario('send-after-kill', ['--key', 'k', 'hello'], {
    prepare: async (stage) => {
      await withAgent(stage)
      await leaveAsked(stage, 'a', 'interrupted')
      return undefined
    },
    // After three kills the turn is left to the operator. A send of another message then continues without it.
    always: (home) => takenOnceOrLeft(home.agent('a'), 'interrupted', 'echo: interrupted'),
  }),
  ...onlyInFiles('a database commits a batch whole', [
    sendScenario('send-after-tear', ['--key', 'k', 'hello'], {
      prepare: async (stage) => {
        await withAgent(stage)
        await tear(stage, 'a')
        return undefined
      },
    }),
    // The acknowledged data may be only in the page cache: the writer died before its fsync.
    sendScenario('send-after-unsynced', ['--key', 'k', 'hello'], {
      prepare: (stage) => leaveUnsynced(stage, 1, ['--key', 'k', 'hello']),
      wasKilled: true,
    }),
    sendScenario('send-key-unsynced', ['--key', 'k', 'hello'], {
      prepare: (stage) => leaveUnsynced(stage, 2, ['--key', 'k', 'hello']),
    }),
    sendScenario('send-plain-unsynced', ['hello'], {
      prepare: (stage) => leaveUnsynced(stage, 1, ['unsynced']),
      next: ['send', 'a', 'next'],
      nextReply: 'echo: next',
      always: (home) => takenOnceOrNot(home.agent('a'), 'unsynced', 'echo: unsynced'),
    }),
    sendScenario('send-name-unsynced', ['--key', 'k', 'hello'], {
      prepare: async (stage) => {
        await stage.do('spawn', '--name', 'other')
        await stage.do('recover', '--all')
        await stage.killedBefore('spawn.sync_agents', 1, ['spawn', '--name', 'a'])
        return undefined
      },
      // No command acknowledges the agent before its reply is printed.
      mayBeGone: true,
    }),
  ]),
  failScenario(),
  limitScenario(),
  limitedForAnHour(),
  queueingBehindATurn(),
  queueScenario('send-queue', ['--queue']),
  queueScenario('send-queue-no-drain', ['--queue', '--no-drain']),
  notifyScenario(),
]

interface Sending {
  message?: string
  reply?: string
  /** By default the same command again, with its key. */
  next?: string[]
  nextReply?: string
  prepare?: Scenario['prepare']
  programs?: 'short'
  always?(home: HomeView): Broken
  /** The agent may never have been created. */
  mayBeGone?: boolean
  /** The turn was interrupted before. After two more crashes it is left to the operator. */
  wasKilled?: boolean
}

function sendScenario(name: string, words: string[], options: Sending = {}): Scenario {
  const message = options.message ?? 'hello'
  const reply = options.reply ?? `echo: ${message}`
  const argv = ['send', 'a', ...words]
  const isGone = (looksSo: boolean, told: Told): boolean =>
    options.mayBeGone === true && looksSo && told.stdout === ''
  return {
    name,
    argv,
    ...(options.programs === undefined ? {} : { programs: options.programs }),
    prepare: options.prepare ?? ((stage) => withAgent(stage)),
    checkAcknowledged: (told, home) => replyIsKept(told, home.agent('a'), message, reply),
    next: {
      argv: options.next ?? argv,
      check: (ended, told, crashes) =>
        isGone(ended.status === 3, told) ||
        (options.wasKilled === true && crashes === 2 && ended.status === 6)
          ? []
          : exits(ended, 0, `${options.nextReply ?? reply}\n`),
    },
    *finally(home, told) {
      if (isGone(home.agent('a') === undefined, told)) return
      const taken = options.next === undefined ? takenOnce : takenOnceOrNot
      yield* taken(home.agent('a'), message, reply)
      yield* nothingPending(home)
      yield* options.always?.(home) ?? []
    },
  }
}

/** Each request has its hold before it, and the count of the budget is that of the requests. */
function* heldOnce(home: HomeView): Broken {
  const { records = [], state } = home.agent('a') ?? {}
  const asked = records.filter(({ kind }) => kind === 'model.requested').length
  const held = records.filter(
    ({ kind }, index) => kind === 'budget.held' && records[index + 1]?.kind === 'model.requested',
  ).length
  if (held !== asked) yield `${asked} requests have ${held} holds`
  if (state?.budget?.total?.spent.requests !== asked) yield 'each request counts once in its budget'
}

async function leaveUnsynced(stage: Stage, n: number, words: string[]): Promise<undefined> {
  await withAgent(stage)
  await stage.killedBefore('log.sync', n, ['send', 'a', ...words])
}

/** The model refuses: the turn fails once, and the same key returns that failure. */
function failScenario(): Scenario {
  const argv = ['send', 'a', '--key', 'k', 'hello']
  const failures = (home: HomeView): number =>
    home.agent('a')?.records.filter(({ kind }) => kind === 'run.failed').length ?? 0
  return {
    name: 'send-failing',
    argv,
    exit: 9,
    prepare: (stage) => withScript(stage, [{ fail: { type: 'invalid', attempts: 99 } }]),
    recoverExits: [9],
    *checkAcknowledged(told, home) {
      if (/failed/.test(told.stderr) && failures(home) !== 1) yield 'a turn reported as failed has failed'
    },
    next: { argv, check: (ended) => exits(ended, 9) },
    *finally(home) {
      if (failures(home) !== 1) yield `the turn failed once, not ${failures(home)} times`
      yield* nothingPending(home)
    },
  }
}

/** The provider's retry time is now. */
function limitScenario(): Scenario {
  const argv = ['send', 'a', '--key', 'k', 'hello']
  const fail = { type: 'rate_limit', retry_after_ms: 1, attempts: 1 }
  return {
    name: 'send-limited',
    not: {
      faults:
        'the clock decides whether the next command comes too early; send-limited-long has no such race',
    },
    argv,
    exit: 7,
    env: { SUBSTRAT_RETRY_DELAYS: 'none' },
    prepare: (stage) => withScript(stage, [{ fail, say: 'in time' }]),
    recoverExits: [7],
    checkAcknowledged: (told, home) => replyIsKept(told, home.agent('a'), 'hello', 'in time'),
    next: { argv, check: (ended) => exits(ended, [0, 7]) },
    afterwards: [
      { argv: ['recover', '--all'], check: (ended) => exits(ended, [0, 7]) },
      { argv, check: (ended) => exits(ended, 0, 'in time\n') },
    ],
    finally: (home) => takenOnce(home.agent('a'), 'hello', 'in time'),
  }
}

function limitedForAnHour(): Scenario {
  const argv = ['send', 'a', '--key', 'k', 'hello']
  const fail = { type: 'rate_limit', retry_after_ms: 3_600_000, attempts: 9 }
  return {
    name: 'send-limited-long',
    argv,
    exit: 7,
    prepare: (stage) => withScript(stage, [{ fail }]),
    recoverExits: [7],
    checkAcknowledged: () => [],
    next: { argv, check: (ended) => exits(ended, 7) },
    *finally(home) {
      const { run } = home.agent('a')?.state ?? {}
      if (run?.status !== 'open' || run.wait === null) yield `the turn waits, and is not ${run?.status}`
      yield* nothingPending(home)
    },
  }
}

/** `--if-busy queue` while another process, the lab, holds the agent. */
function queueingBehindATurn(): Scenario {
  const argv = ['send', 'a', '--key', 'k', '--if-busy', 'queue', 'hello']
  return {
    name: 'send-if-busy',
    argv,
    prepare: (stage) => withAgent(stage),
    async meanwhile(stage) {
      let release = (): void => undefined
      const isReleased = new Promise<void>((resolve) => {
        release = resolve
      })
      let isHeld = (): void => undefined
      const held = new Promise<void>((resolve) => {
        isHeld = resolve
      })
      const holder = stage.act(async () => {
        const store = openOrCreateHome(stage.home)
        const lease = await store.hold(resolveAgent(store, 'a'), { command: 'stress', waitMs: 0 })
        if (lease === undefined) throw new Error('the agent is free before the command')
        isHeld()
        await isReleased
        await lease.release()
      })
      await Promise.race([held, holder])
      return () => {
        release()
        return holder
      }
    },
    // The next command uses the same key, and so removes the message from the inbox.
    checkAcknowledged: (told, home) => (told.isLater === true ? [] : queuedIsKept(told, home)),
    next: { argv, check: (ended) => exits(ended, 0, 'echo: hello\n') },
    *finally(home) {
      yield* takenOnce(home.agent('a'), 'hello', 'echo: hello')
      yield* nothingPending(home)
    },
  }
}

/** Sends through the inbox. The reply goes to the operator's inbox. */
function queueScenario(name: string, flags: string[]): Scenario {
  const argv = ['send', 'a', '--key', 'k', ...flags, 'hello']
  return {
    name,
    argv,
    prepare: (stage) => withScript(stage, [{ say: 'heard' }]),
    checkAcknowledged: queuedIsKept,
    next: { argv, check: (ended) => exits(ended, 0) },
    afterwards: [{ argv: ['deliver', '--all'], check: (ended) => exits(ended, 0) }],
    *finally(home) {
      yield* takenOnce(home.agent('a'), 'hello', 'heard')
      yield* answeredByMail(home, { to: 'a', content: 'hello', answer: 'heard' })
      yield* nothingPending(home)
    },
  }
}

function notifyScenario(): Scenario {
  const argv = ['send', 'a', '--key', 'k', '--kind', 'notification', 'hello']
  return {
    name: 'send-notification',
    argv,
    prepare: (stage) => withAgent(stage),
    checkAcknowledged: () => [],
    next: { argv, check: (ended) => exits(ended, 0) },
    afterwards: [{ argv: ['deliver', '--all'], check: (ended) => exits(ended, 0) }],
    *finally(home) {
      yield* notifiedOnce(home, 'a', 'hello')
      yield* nothingPending(home)
    },
  }
}
