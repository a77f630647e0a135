/** The power is cut while the key index is replaced, which is never synced: no key is taken twice, whatever is left of it. */
import { limits } from '../../src/limits.js'
import { openForRead } from '../../src/session/open-for-read.js'
import type { State } from '../../src/session/state.js'
import { FileStore } from '../../src/storage/store.js'
import { resolveAgent } from '../../src/tree/names.js'
import { MESSAGE, turnsBehind } from '../bench/homes.js'
import { conversation, type HomeView } from '../support/home-view.js'
import { type Broken, replyIsKept, takenOnce } from '../support/promises.js'
import type { Desk } from './desk.js'
import { type Case, exits, type Scenario, withAgent } from './scenario.js'

/** With these the oldest keys are in no state any more; with so many more the next turn replaces the index. */
const TURNS = limits.keysInStateMax + 10
const LATE = limits.keysLateMax - 1

export const KEYS: Scenario[] = [
  {
    name: 'send-key-index',
    async begin(desk): Promise<Case> {
      await withAgent(desk, 'a')
      await keyedTurns(desk)
      const argv = ['send', 'a', '--key', 'k', 'hello']
      return {
        argv,
        acknowledged: (told, home) => replyIsKept(told, home.agent('a'), 'hello', 'echo: hello'),
        next: { argv, check: (ended) => exits(ended, 0, 'echo: hello\n') },
        afterwards: [['send', 'a', '--key', 'early 0', MESSAGE]],
        *finally(home) {
          yield* takenOnce(home.agent('a'), 'hello', 'echo: hello')
          yield* noneTwice(home)
        },
      }
    },
  },
]

async function keyedTurns(desk: Desk): Promise<void> {
  addTurns(desk, 'early', TURNS)
  await desk.do('send', 'a', '--key', 'indexed', 'indexed')
  addTurns(desk, 'late', LATE)
}

function addTurns(desk: Desk, key: string, count: number): void {
  const store = FileStore.openForRead(desk.home) as FileStore
  const id = resolveAgent(store, 'a')
  const state = openForRead(store, id)?.state as State
  const keys = Array.from({ length: count }, (_, index) => `${key} ${index}`)
  desk.spoil(store.logPath(id), state.log_bytes, turnsBehind(state, keys))
}

/** Each key has one run, and each message was taken with its key. */
function* noneTwice(home: HomeView): Broken {
  const agent = home.agent('a')
  if (agent === undefined) return
  const runs = agent.records.filter(({ kind }) => kind === 'run.started')
  if (conversation(agent, MESSAGE).asked !== TURNS + LATE)
    yield `${TURNS + LATE} messages have an old key each, and ${runs.length} runs began`
}
