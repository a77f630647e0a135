/** Turns that wait for a person: parked with a token, decided on with it and without, superseded, cancelled. */
import type { HomeView } from '../support/home-view.js'
import { type Broken, replyIsKept, takenOnce } from '../support/promises.js'
import type { Desk } from './desk.js'
import { type Case, exits, type Scenario, withAgent } from './scenario.js'

export const WAITING: Scenario[] = [
  parking(),
  deciding('resume-token', (token) => ['resume', 'a', '--token', token, '--approve']),
  deciding('approve', () => ['approve', 'a']),
  deciding('deny', () => ['deny', 'a', '--reason', 'no']),
  rotating(),
  superseding(),
  cancellingAWait(),
]

const WORK = [
  { tools: [{ name: 'write_file', input: { path: 'made', content: 'made' } }] },
  { say: 'worked' },
  { say: 'instead' },
]
const TOKEN = /token (st_\S+)/

async function parked(desk: Desk): Promise<string> {
  await withAgent(desk, 'a', ...desk.script('work.json', WORK))
  const { stderr } = await desk.run(['send', 'a', 'work'])
  return TOKEN.exec(stderr)?.[1] as string
}

function waitOf(home: HomeView): string | undefined {
  return home.agent('a')?.state.run?.wait?.kind
}

/** Where the token was told, it is what the turn waits for, and works. */
function parking(): Scenario {
  return {
    name: 'park',
    async begin(desk): Promise<Case> {
      await withAgent(desk, 'a', ...desk.script('work.json', WORK))
      return {
        argv: ['send', 'a', '--key', 'k', 'work'],
        *acknowledged({ stderr }, home) {
          const id = TOKEN.exec(stderr)?.[1]?.slice(3, 39)
          const token = home.agent('a')?.state.tokens.find(({ token_id }) => token_id === id)
          if (id !== undefined && token === undefined) yield 'a token that was told is on disk'
        },
        next: { argv: ['send', 'a', '--key', 'k', 'work'], check: (ended) => exits(ended, 5) },
        recoverExits: [5],
        *finally(home) {
          if (waitOf(home) !== 'approval') yield `the turn waits for approval, not ${waitOf(home)}`
        },
      }
    },
  }
}

function deciding(name: string, argvOf: (token: string) => string[]): Scenario {
  return {
    name,
    async begin(desk): Promise<Case> {
      const token = await parked(desk)
      const argv = argvOf(token)
      return {
        argv,
        worksOutside: true,
        acknowledged: (told, home) => replyIsKept(told, home.agent('a'), 'work', 'worked'),
        next: {
          argv,
          // Decided already, by the command that was cut: then without a token nothing waits any more.
          check: (ended) =>
            name === 'resume-token' || ended.status !== 13 ? exits(ended, 0, 'worked\n') : [],
        },
        recoverExits: [5],
        finally: (home) => takenOnce(home.agent('a'), 'work', 'worked'),
      }
    },
  }
}

function rotating(): Scenario {
  return {
    name: 'token-rotate',
    async begin(desk): Promise<Case> {
      await parked(desk)
      return {
        argv: ['token', 'rotate', 'a'],
        *acknowledged({ stdout }, home) {
          const id = /st_([0-9a-f-]{36})_/.exec(stdout)?.[1]
          const wait = home.agent('a')?.state.run?.wait
          if (id !== undefined && (wait == null || wait.resume_token_id !== id))
            yield `the turn waits for the token ${id} that was told`
        },
        // Not another one: that would make the first worth nothing.
        next: { argv: ['show', 'a'], check: (ended) => exits(ended, 0) },
        recoverExits: [5],
        *finally(home) {
          if (waitOf(home) !== 'approval') yield `the turn waits for approval, not ${waitOf(home)}`
        },
      }
    },
  }
}

function superseding(): Scenario {
  return {
    name: 'send-supersede',
    async begin(desk): Promise<Case> {
      await parked(desk)
      const argv = ['send', 'a', '--key', 'k', '--if-waiting', 'supersede', 'other']
      return {
        argv,
        acknowledged: (told, home) => replyIsKept(told, home.agent('a'), 'other', 'worked'),
        next: { argv, check: (ended) => exits(ended, 0, 'worked\n') },
        recoverExits: [5],
        finally: (home) => takenOnce(home.agent('a'), 'other', 'worked'),
      }
    },
  }
}

function cancellingAWait(): Scenario {
  return {
    name: 'cancel-wait',
    async begin(desk): Promise<Case> {
      await parked(desk)
      return {
        argv: ['cancel', 'a'],
        acknowledged: ({ stdout }, home) => (stdout.includes('a: cancelled') ? isCancelled(home) : []),
        next: { argv: ['cancel', 'a'], check: (ended) => exits(ended, 0) },
        recoverExits: [5],
        finally: isCancelled,
      }
    },
  }
}

export function* isCancelled(home: HomeView): Broken {
  const runs = home.agent('a')?.records.filter(({ kind }) => kind === 'run.cancelled') ?? []
  if (runs.length !== 1) yield `the turn is cancelled once, not ${runs.length} times`
}
