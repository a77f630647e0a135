/** An agent with very many keys runs each key once: while its key index is first written, replaced, or missing. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { limits } from '../../src/limits.js'
import { FileStore } from '../../src/storage/file-store.js'
import { MESSAGE, turnsBehind } from '../bench/homes.js'
import { conversation, type HomeView } from '../support/home-view.js'
import { type Broken, replyIsKept, takenOnce } from '../support/promises.js'
import { logOf, stateOf, withAgent } from './homes.js'
import { exits } from './promises.js'
import type { Scenario } from './scenario.js'
import type { Stage } from './stage.js'

const MANY = 2 * limits.keysInStateMax

export const KEYS: Scenario[] = [
  // The turn that writes the index for the first time.
  keyScenario('send-key-first-index', async (stage) => {
    await addTurns(stage, 'minute', limits.keysLateMax)
    await stage.do('recover', '--all')
  }),
  // The state no longer holds the oldest keys, and the turn replaces the index.
  keyScenario('send-key-index', async (stage) => {
    await addTurns(stage, 'minute', limits.keysInStateMax + 10)
    await stage.do('send', 'a', '--key', 'latest', 'latest')
    await addTurns(stage, 'late', limits.keysLateMax - 1)
  }),
  // The state no longer holds most keys, so they must be found in the log.
  keyScenario('send-key-gone-index', async (stage) => {
    await addTurns(stage, 'minute', MANY)
    await stage.do('send', 'a', '--key', 'latest', 'latest')
    await stage.do('recover', '--all')
    stage.put(join(dirname(logOf(stage.home, 'a')), 'keys'), undefined)
  }),
]

function keyScenario(name: string, prepare: (stage: Stage) => Promise<void>): Scenario {
  const argv = ['send', 'a', '--key', 'k', 'hello']
  const reply = 'echo: hello'
  return {
    name,
    argv,
    prepare: async (stage) => {
      await withAgent(stage)
      await prepare(stage)
      return undefined
    },
    checkAcknowledged: (told, home) => replyIsKept(told, home.agent('a'), 'hello', reply),
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

/** Appends turns with keys to the log, and leaves the snapshot as it was. */
function addTurns(stage: Stage, key: string, count: number): Promise<void> {
  const keys = Array.from({ length: count }, (_, index) => `${key} ${index}`)
  const log = logOf(stage.home, 'a')
  stage.put(log, Buffer.concat([readFileSync(log), turnsBehind(stateOf(stage.home, 'a'), keys)]))
  return stage.act(async () => FileStore.openForWrite(stage.home).visits.mark(stateOf(stage.home, 'a').id))
}

function* noneTwice(home: HomeView): Broken {
  const agent = home.agent('a')
  if (agent === undefined) return
  const keys = agent.records.flatMap((record) =>
    record.kind === 'run.started' && /^(minute|late) /.test(record.key ?? '') ? [record.key] : [],
  )
  const twice = keys.filter((key, index) => keys.indexOf(key) !== index)
  if (twice.length > 0) yield `each key has one run, but ${twice.join(', ')} have more`
  if (conversation(agent, MESSAGE).asked !== keys.length) yield 'each message is recorded with its key'
}
