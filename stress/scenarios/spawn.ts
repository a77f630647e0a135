/** An agent is there whole, with its name, its place in the tree and its first prompt, or not at all. */
import type { Lab } from '../support/lab.js'
import { replyIsKept, takenOnceOrNot, UUID } from '../support/promises.js'
import { withAgent } from './homes.js'
import { exits } from './promises.js'
import type { Scenario } from './scenario.js'

export const SPAWN: Scenario[] = [
  {
    ...spawning('spawn-first', ['--name', 'b', 'hello']),
    // The very first command makes the home too.
    prepare: async () => undefined,
  },
  spawning('spawn', []),
  spawning('spawn-named', ['--name', 'b']),
  spawning('spawn-prompt', ['--name', 'b', 'hello']),
  spawning('spawn-child', ['--parent', 'a', '--name', 'b']),
  spawning('spawn-child-prompt', ['--parent', 'a', '--name', 'b', 'hello']),
]

function spawning(name: string, words: string[]): Scenario {
  const isNamed = words.includes('--name')
  const prompt = words.at(-1) === 'hello' ? 'hello' : undefined
  const parent = words.includes('--parent') ? ['--parent', 'a'] : []
  return {
    name,
    argv: ['spawn', ...words],
    prepare: (lab: Lab, home: string) => withAgent(lab, home),
    *acknowledged(told, home) {
      const id = UUID.exec(prompt === undefined ? told.stdout : told.stderr)?.[0]
      if (id === undefined) return
      const agent = home.agent(id)
      if (agent === undefined) yield `the agent ${id} was acknowledged and is on disk`
      else if (prompt !== undefined) yield* replyIsKept(told, agent, prompt, `echo: ${prompt}`)
    },
    next: {
      argv: isNamed ? ['spawn', ...parent, '--name', 'b', '--if-exists', 'use'] : ['spawn'],
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
      const above = parent.length === 0 ? null : home.agent('a')?.state.id
      if (isNamed && named[0]?.state.parent !== above)
        yield 'an agent is below the parent that it was born to'
      if (prompt !== undefined) yield* takenOnceOrNot(named[0], prompt, `echo: ${prompt}`)
    },
  }
}
