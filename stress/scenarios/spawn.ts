/** An agent exists completely, with its name, its place in the tree and its first prompt, or not at all. */
import { dirname, join } from 'node:path'
import { replyIsKept, takenOnce, takenOnceOrNot, UUID } from '../support/promises.js'
import { LARGE, logOf, withAgent } from './homes.js'
import { exits } from './promises.js'
import type { Scenario, Told } from './scenario.js'
import type { Stage } from './stage.js'

export const SPAWN: Scenario[] = [
  {
    ...spawnScenario('spawn-first', ['--name', 'b', 'hello']),
    // The very first command also creates the home.
    prepare: async () => undefined,
  },
  spawnScenario('spawn', []),
  spawnScenario('spawn-named', ['--name', 'b']),
  spawnScenario('spawn-prompt', ['--name', 'b', 'hello']),
  spawnScenario('spawn-child', ['--parent', 'a', '--name', 'b']),
  spawnScenario('spawn-child-prompt', ['--parent', 'a', '--name', 'b', 'hello']),
  // First rebuilds the index of the names below the parent.
  {
    ...spawnScenario('spawn-child-index', ['--parent', 'a', '--name', 'b']),
    prepare: withoutIndex,
    not: { postgres: 'the index of a database needs no rebuilding' },
  },
  spawnScenario('spawn-large', ['--parent', 'a', '--name', 'b', '--system', LARGE, LARGE]),
]

function spawnScenario(name: string, words: string[]): Scenario {
  const isNamed = words.includes('--name')
  const prompt = ['hello', LARGE].find((text) => words.at(-1) === text)
  const parent = words.includes('--parent') ? ['--parent', 'a'] : []
  const idIn = ({ stdout, stderr }: Told): string | undefined =>
    UUID.exec(prompt === undefined ? stdout : stderr)?.[0]
  return {
    name,
    argv: ['spawn', ...words],
    prepare: (stage) => withAgent(stage),
    *checkAcknowledged(told, home) {
      const id = idIn(told)
      if (id === undefined) return
      const agent = home.agent(id)
      if (agent === undefined) yield `the agent ${id} was acknowledged and is on disk`
      else if (prompt !== undefined) yield* replyIsKept(told, agent, prompt, `echo: ${prompt}`)
    },
    next: {
      argv: isNamed ? ['spawn', ...parent, '--name', 'b', '--if-exists', 'use'] : ['spawn'],
      *check(ended, told) {
        yield* exits(ended, 0)
        const before = idIn(told)
        if (isNamed && before !== undefined && ended.stdout.trim() !== before)
          yield `the name leads to the agent ${before} that was acknowledged, not to ${ended.stdout.trim()}`
      },
    },
    *finally(home, told) {
      const named = home.livingNamed('b')
      if (isNamed && named.length !== 1) yield `one agent has the name, not ${named.length}`
      const above = parent.length === 0 ? null : home.agent('a')?.state.id
      if (isNamed && named[0]?.state.parent !== above)
        yield 'an agent is below the parent that it was created under'
      if (prompt === undefined) return
      const taken = idIn(told) === undefined ? takenOnceOrNot : takenOnce
      yield* taken(named[0], prompt, `echo: ${prompt}`)
    },
  }
}

async function withoutIndex(stage: Stage): Promise<undefined> {
  await withAgent(stage)
  await stage.do('spawn', '--parent', 'a', '--name', 'kid', '--provider', 'scripted')
  stage.put(join(dirname(logOf(stage.home, 'a')), 'children', 'complete'), undefined)
}
