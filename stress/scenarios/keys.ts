/** Of an agent with very many keys none is taken twice: where the key index is written, is there already, or is gone. */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { limits } from '../../src/limits.js'
import { lengthenLog, MESSAGE } from '../bench/homes.js'
import { conversation, type HomeView } from '../support/home-view.js'
import type { Lab } from '../support/lab.js'
import { type Broken, replyIsKept, takenOnce } from '../support/promises.js'
import { withAgent } from './homes.js'
import { exits } from './promises.js'
import type { Scenario } from './scenario.js'

const RECORDS_OF_TURN = 8
const MANY = 2 * limits.keysInStateMax

export const KEYS: Scenario[] = [
  // The turn that writes the index for the first time.
  keyed('send-key-first-index', limits.keysLateMax),
  // Most keys are in no state any more, and have to be found in the log.
  keyed('send-key-gone-index', MANY, (home) => rmSync(indexIn(home))),
]

function keyed(name: string, turns: number, then: (home: string) => void = () => undefined): Scenario {
  const argv = ['send', 'a', '--key', 'k', 'hello']
  const reply = 'echo: hello'
  return {
    name,
    argv,
    prepare: async (lab, home) => {
      await withKeys(lab, home, turns)
      then(home)
      return undefined
    },
    acknowledged: (told, home) => replyIsKept(told, home.agent('a'), 'hello', reply),
    next: { argv, check: (ended) => exits(ended, 0, `${reply}\n`) },
    afterwards: [
      {
        argv: ['send', 'a', '--key', 'minute 3', MESSAGE],
        check: (ended) => exits(ended, 0, `echo: ${MESSAGE}\n`),
      },
    ],
    *finally(home) {
      yield* takenOnce(home.agent('a'), 'hello', reply)
      yield* noneTwice(home)
    },
  }
}

async function withKeys(lab: Lab, home: string, turns: number): Promise<void> {
  await withAgent(lab, home)
  lengthenLog(home, 'a', turns * RECORDS_OF_TURN, (turn) => `minute ${turn}`)
  // The index of many is written by this one.
  if (turns > limits.keysInStateMax) await lab.do(home, 'send', 'a', '--key', 'latest', 'latest')
  await lab.do(home, 'recover', '--all')
}

function* noneTwice(home: HomeView): Broken {
  const agent = home.agent('a')
  if (agent === undefined) return
  const keys = agent.records.flatMap((record) =>
    record.kind === 'run.started' && record.key?.startsWith('minute ') ? [record.key] : [],
  )
  const twice = keys.filter((key, index) => keys.indexOf(key) !== index)
  if (twice.length > 0) yield `each key has one run, but ${twice.join(', ')} more`
  if (conversation(agent, MESSAGE).asked !== keys.length) yield 'each message is taken with its key'
}

function indexIn(home: string): string {
  const agents = join(home, 'agents')
  return join(agents, readdirSync(agents)[0] as string, 'keys')
}
