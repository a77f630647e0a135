/** The commands that the power is cut under. */

import type { HomeView } from '../kill/home-view.js'
import type { Desk } from './desk.js'
import {
  type Broken,
  type Case,
  exits,
  nothingPending,
  replyIsKept,
  type Scenario,
  takenOnce,
  takenOnceOrNot,
  UUID,
  withAgent,
} from './scenario.js'

const LARGE = 'large '.repeat(15_000)

export const SCENARIOS: Scenario[] = [
  spawning('spawn-first', { isFirst: true, prompt: 'hello' }),
  spawning('spawn', {}),
  spawning('spawn-child', { isChild: true }),
  spawning('spawn-prompt', { isChild: true, prompt: 'hello' }),
  sending('send', ['hello'], { next: ['send', 'a', 'next'], nextReply: 'echo: next' }),
  sending('send-key', ['--key', 'k', 'hello']),
  sending('send-large', ['--key', 'k', LARGE], { message: LARGE }),
]

function spawning(name: string, shape: { isFirst?: boolean; isChild?: boolean; prompt?: string }): Scenario {
  const { prompt } = shape
  return {
    name,
    async begin(desk): Promise<Case> {
      if (shape.isFirst !== true) await withAgent(desk, 'a')
      const flags = [
        '--name',
        'b',
        '--workspace',
        desk.workspace,
        ...(shape.isChild === true ? ['--parent', 'a'] : []),
      ]
      return {
        argv: ['spawn', ...flags, ...(prompt === undefined ? [] : [prompt])],
        *acknowledged(told, home) {
          const id = UUID.exec(prompt === undefined ? told.stdout : told.stderr)?.[0]
          if (id === undefined) return
          const agent = home.agent(id)
          if (agent === undefined) yield `the agent ${id} was acknowledged and is on disk`
          else if (prompt !== undefined) yield* replyIsKept(told, agent, prompt, `echo: ${prompt}`)
        },
        next: {
          argv: ['spawn', ...flags, '--if-exists', 'use'],
          *check(ended, told) {
            yield* exits(ended, 0)
            const before = UUID.exec(told.stdout + told.stderr)?.[0]
            if (before !== undefined && ended.stdout.trim() !== before)
              yield `the name leads to the agent ${before} that was acknowledged, not to ${ended.stdout.trim()}`
          },
        },
        *finally(home, told) {
          const named = home.living('b')
          if (named.length !== 1) yield `one agent has the name, not ${named.length}`
          if (prompt === undefined) return
          const taken = UUID.test(told.stderr) ? takenOnce : takenOnceOrNot
          yield* taken(named[0], prompt, `echo: ${prompt}`)
        },
      }
    },
  }
}

interface Sending {
  message?: string
  reply?: string
  /** Else the same command again, which has a key. */
  next?: string[]
  nextReply?: string
  prepare?(desk: Desk): Promise<unknown>
  always?(home: HomeView): Broken
}

function sending(name: string, words: string[], options: Sending = {}): Scenario {
  const message = options.message ?? 'hello'
  const reply = options.reply ?? `echo: ${message}`
  const argv = ['send', 'a', ...words]
  return {
    name,
    async begin(desk): Promise<Case> {
      await (options.prepare ?? (() => withAgent(desk, 'a')))(desk)
      return {
        argv,
        acknowledged: (told, home) => replyIsKept(told, home.agent('a'), message, reply),
        next: {
          argv: options.next ?? argv,
          check: (ended) => exits(ended, 0, `${options.nextReply ?? reply}\n`),
        },
        *finally(home) {
          const taken = options.next === undefined ? takenOnce : takenOnceOrNot
          yield* taken(home.agent('a'), message, reply)
          yield* nothingPending(home)
          yield* options.always?.(home) ?? []
        },
      }
    },
  }
}
