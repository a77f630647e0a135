/** Turns: with a key, with tools, with content that does not fit a line, and with mail to and from a child. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { conversation, type HomeView } from '../support/home-view.js'
import {
  type Broken,
  nothingPending,
  replyIsKept,
  takenOnce,
  takenOnceOrLeft,
  takenOnceOrNot,
} from '../support/promises.js'
import type { Desk } from './desk.js'
import { type Case, exits, killedBefore, leaveAsked, type Scenario, withAgent } from './scenario.js'
import type { Told } from './trace.js'

const LARGE = 'large '.repeat(15_000)

export const SENDING: Scenario[] = [
  sending('send', ['hello'], { next: ['send', 'a', 'next'], nextReply: 'echo: next' }),
  sending('send-key', ['--key', 'k', 'hello']),
  sending('send-large', ['--key', 'k', LARGE], { message: LARGE }),
  sending('send-after-crash', ['--key', 'k', 'hello'], {
    async prepare(desk) {
      await withAgent(desk, 'a')
      await leaveAsked(desk, 'a', 'interrupted')
    },
    always: (home) => takenOnceOrLeft(home.agent('a'), 'interrupted', 'echo: interrupted'),
  }),
  sending('send-after-tear', ['--key', 'k', 'hello'], {
    async prepare(desk) {
      await withAgent(desk, 'a')
      await tear(desk, 'a')
    },
  }),
  // What it acknowledges may be only in the page cache: who wrote it died before the sync.
  sending('send-after-unsynced', ['--key', 'k', 'hello'], {
    async prepare(desk) {
      await withAgent(desk, 'a')
      await desk.run(['send', 'a', '--key', 'k', 'hello'], killedBefore('log.sync', 1))
    },
    wasKilled: true,
  }),
  sending('send-plain-unsynced', ['hello'], {
    async prepare(desk) {
      await withAgent(desk, 'a')
      await desk.run(['send', 'a', 'unsynced'], killedBefore('log.sync', 1))
    },
    next: ['send', 'a', 'next'],
    nextReply: 'echo: next',
    always: (home) => takenOnceOrNot(home.agent('a'), 'unsynced', 'echo: unsynced'),
  }),
  sending('send-key-unsynced', ['--key', 'k', 'hello'], {
    async prepare(desk) {
      await withAgent(desk, 'a')
      await desk.run(['send', 'a', '--key', 'k', 'hello'], killedBefore('log.sync', 2))
    },
  }),
  sending('send-name-unsynced', ['--key', 'k', 'hello'], {
    async prepare(desk) {
      await withAgent(desk, 'other')
      const argv = ['spawn', '--name', 'a', '--workspace', desk.workspace]
      await desk.run(argv, killedBefore('spawn.sync_agents', 1))
    },
    // Nobody was told of it, until its reply is printed.
    mayBeGone: true,
  }),
  usingTools(),
  writingToAChild(),
  waitingForAChild(),
  sendingAs(),
]

interface Sending {
  message?: string
  /** Else the same command again, which has a key. */
  next?: string[]
  nextReply?: string
  prepare?(desk: Desk): Promise<unknown>
  always?(home: HomeView): Broken
  /** The agent may never have come to be. */
  mayBeGone?: boolean
  /** Its turn was cut short before: with two power cuts more it is left to a person. */
  wasKilled?: boolean
}

function sending(name: string, words: string[], options: Sending = {}): Scenario {
  const message = options.message ?? 'hello'
  const reply = `echo: ${message}`
  const argv = ['send', 'a', ...words]
  const isGone = (looksSo: boolean, told: Told): boolean =>
    options.mayBeGone === true && looksSo && told.stdout === ''
  return {
    name,
    async begin(desk): Promise<Case> {
      await (options.prepare ?? (() => withAgent(desk, 'a')))(desk)
      return {
        argv,
        acknowledged: (told, home) => replyIsKept(told, home.agent('a'), message, reply),
        next: {
          argv: options.next ?? argv,
          check: (ended, told, cuts) =>
            isGone(ended.status === 3, told) || (options.wasKilled && cuts === 2 && ended.status === 6)
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
    },
  }
}

/** Half a batch at the end of the log: its writer was killed within the write. */
async function tear(desk: Desk, name: string): Promise<void> {
  let isCut = false
  await desk.run(['send', name, 'torn'], ({ point, bytes }) => {
    if (isCut) return { kill: true }
    if (point !== 'log.append' || bytes === undefined) return undefined
    isCut = true
    return { writtenBytesMax: Math.floor(bytes.length / 2) }
  })
}

/** A tool with an effect that cannot be taken back is run once; where nobody knows, the model is told so. */
function usingTools(): Scenario {
  const argv = ['send', 'a', '--key', 'k', '--allow', 'shell', 'work']
  return {
    name: 'send-tools',
    async begin(desk): Promise<Case> {
      const script = desk.script('tools.json', [
        { tools: [{ name: 'shell', input: { command: 'echo ran >> effects' } }] },
        { say: 'worked' },
      ])
      await withAgent(desk, 'a', ...script)
      return {
        argv,
        worksOutside: true,
        *acknowledged(told, home) {
          yield* replyIsKept(told, home.agent('a'), 'work', 'worked')
          const hasRun = told.workspace?.has('effects') === true
          const isKnown = home.agent('a')?.records.some(({ kind }) => kind === 'tool.started') === true
          if (hasRun && !isKnown) yield 'a tool that has run was recorded before it did'
        },
        next: { argv, check: (ended) => (ended.status === 6 ? [] : exits(ended, 0, 'worked\n')) },
        *finally(home) {
          yield* takenOnce(home.agent('a'), 'work', 'worked')
          if (linesOf(desk, 'effects') > 1) yield 'a tool is run once at most'
        },
      }
    },
  }
}

/** The request, its turn, the reply and the turn that takes it: all by one command. */
function writingToAChild(): Scenario {
  const argv = ['send', 'a', '--key', 'k', '--allow', 'all', 'ask the child']
  return {
    name: 'send-mail',
    async begin(desk): Promise<Case> {
      const script = desk.script('mail.json', [
        { tools: [{ name: 'send_message', input: { to: 'a/kid', content: 'count' } }] },
        { say: 'asked' },
        // Also of a turn of the child that was cut short it is told.
        ...Array.from({ length: 5 }, () => ({ say: 'counted' })),
      ])
      await withAgent(desk, 'a', ...script)
      await withAgent(desk, 'kid', '--parent', 'a', ...desk.script('kid.json', [{ say: 'three' }]))
      return {
        argv,
        acknowledged: (told, home) => replyIsKept(told, home.agent('a'), 'ask the child', 'asked'),
        next: { argv, check: (ended) => exits(ended, 0, 'asked\n') },
        *finally(home) {
          yield* takenOnce(home.agent('a'), 'ask the child', 'asked')
          yield* takenOnce(home.agent('kid'), 'count', 'three')
          yield* takenOnce(home.agent('a'), 'three', 'counted')
          yield* nothingPending(home)
        },
      }
    },
  }
}

/** As the last one, but the tool waits: the reply is the result of its call. */
function waitingForAChild(): Scenario {
  const argv = ['send', 'a', '--key', 'k', '--allow', 'all', 'ask and wait']
  return {
    name: 'send-wait',
    async begin(desk): Promise<Case> {
      desk.script('kid.json', [{ say: 'three' }])
      const made = { name: 'made', prompt: 'count', options: { scenario: 'kid.json' } }
      const spawn = { name: 'spawn_agent', input: { ...made, wait: true } }
      await withAgent(desk, 'a', ...desk.script('wait.json', [{ tools: [spawn] }, { say: 'heard' }]))
      return {
        argv,
        acknowledged: (told, home) => replyIsKept(told, home.agent('a'), 'ask and wait', 'heard'),
        next: { argv, check: (ended) => exits(ended, 0, 'heard\n') },
        *finally(home) {
          yield* takenOnce(home.agent('a'), 'ask and wait', 'heard')
          const made = home.agents.filter(({ state }) => state.parent !== null)
          if (made.length !== 1) yield `one child was made, not ${made.length}`
          yield* nothingPending(home)
        },
      }
    },
  }
}

function sendingAs(): Scenario {
  const argv = ['send', 'kid', '--from', 'a', '--key', 'k', 'count']
  return {
    name: 'send-from',
    async begin(desk): Promise<Case> {
      await withAgent(
        desk,
        'a',
        ...desk.script(
          'a.json',
          Array.from({ length: 6 }, () => ({ say: 'noted' })),
        ),
      )
      await withAgent(desk, 'kid', '--parent', 'a', ...desk.script('kid.json', [{ say: 'three' }]))
      return {
        argv,
        *acknowledged({ stderr }, home) {
          if (stderr.includes('sent to') && !isStored(home, 'kid', 'count'))
            yield 'a message that was sent is stored'
        },
        next: { argv, check: (ended) => exits(ended, 0) },
        *finally(home) {
          yield* takenOnce(home.agent('kid'), 'count', 'three')
          yield* takenOnce(home.agent('a'), 'three', 'noted')
          yield* nothingPending(home)
        },
      }
    },
  }
}

function isStored(home: HomeView, name: string, content: string): boolean {
  const agent = home.agent(name)
  return agent !== undefined && (agent.pending.length > 0 || conversation(agent, content).asked > 0)
}

function linesOf(desk: Desk, file: string): number {
  const path = join(desk.workspace, file)
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').length : 0
}
