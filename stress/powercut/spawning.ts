/** Agents that come into being: the first of a home, roots, children, with and without a first turn, and as forks. */
import { join } from 'node:path'
import { replyIsKept, takenOnce, takenOnceOrNot, UUID } from '../support/promises.js'
import { type Case, exits, type Scenario, withAgent } from './scenario.js'
import type { Told } from './trace.js'

export const SPAWNING: Scenario[] = [
  // The very first command makes the home, too.
  spawning('spawn-first', { isFirst: true, prompt: 'hello' }),
  spawning('spawn', {}),
  spawning('spawn-child', { isChild: true }),
  // The index of the names below the parent is made again first.
  spawning('spawn-child-index', { isChild: true, losesIndex: true }),
  spawning('spawn-prompt', { prompt: 'hello' }),
  spawning('spawn-large', { isChild: true, prompt: 'large '.repeat(15_000) }),
  forking(),
]

interface Shape {
  isFirst?: boolean
  isChild?: boolean
  losesIndex?: boolean
  prompt?: string
}

function spawning(
  name: string,
  { isFirst = false, isChild = false, losesIndex = false, prompt }: Shape,
): Scenario {
  const idIn = ({ stdout, stderr }: Told): string | undefined =>
    UUID.exec(prompt === undefined ? stdout : stderr)?.[0]
  return {
    name,
    async begin(desk): Promise<Case> {
      if (!isFirst) {
        const id = await withAgent(desk, 'a')
        if (losesIndex) {
          await withAgent(desk, 'kid', '--parent', 'a')
          desk.lose(join(desk.home, 'agents', id, 'children', 'complete'))
        }
      }
      const flags = ['--name', 'b', '--workspace', desk.workspace, ...(isChild ? ['--parent', 'a'] : [])]
      return {
        argv: ['spawn', ...flags, ...(prompt === undefined ? [] : [prompt])],
        *acknowledged(told, home) {
          const id = idIn(told)
          if (id === undefined) return
          const agent = home.agent(id)
          if (agent === undefined) yield `the agent ${id} was acknowledged and is on disk`
          else if (prompt !== undefined) yield* replyIsKept(told, agent, prompt, `echo: ${prompt}`)
        },
        next: {
          argv: ['spawn', ...flags, '--if-exists', 'use'],
          *check(ended, told) {
            yield* exits(ended, 0)
            const before = idIn(told)
            if (before !== undefined && ended.stdout.trim() !== before)
              yield `the name leads to the agent ${before} that was acknowledged, not to ${ended.stdout.trim()}`
          },
        },
        *finally(home, told) {
          const named = home.living('b')
          if (named.length !== 1) yield `one agent has the name, not ${named.length}`
          if (prompt === undefined) return
          const taken = idIn(told) === undefined ? takenOnceOrNot : takenOnce
          yield* taken(named[0], prompt, `echo: ${prompt}`)
        },
      }
    },
  }
}

function forking(): Scenario {
  return {
    name: 'fork',
    async begin(desk): Promise<Case> {
      await withAgent(desk, 'a')
      await desk.do('send', 'a', 'before')
      return {
        argv: ['fork', 'a', '--name', 'f'],
        *acknowledged({ stdout }, home) {
          const id = UUID.exec(stdout)?.[0]
          if (id !== undefined && home.agent(id) === undefined)
            yield `the fork ${id} was acknowledged and is on disk`
        },
        next: { argv: ['send', 'a', 'next'], check: (ended) => exits(ended, 0, 'echo: next\n') },
        *finally(home) {
          const forks = home.living('f')
          if (forks.length > 1) yield `one agent has the name, not ${forks.length}`
          yield* takenOnce(home.agent('a'), 'before', 'echo: before')
        },
      }
    },
  }
}
