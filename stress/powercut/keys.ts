/** The power is cut while the key index is replaced, which is never synced: no key is taken twice, whatever is left of it. */
import { limits } from '../../src/limits.js'
import { replyIsKept, takenOnce } from '../support/promises.js'
import type { Desk } from './desk.js'
import { type Case, exits, type Scenario, withAgent } from './scenario.js'

/** The next turn with a key writes the index for the third time: the oldest keys are in no state any more. */
const TURNS = limits.keysInStateMax + limits.keysLateMax - 1
const OLDEST = 'message 0'

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
        afterwards: [['send', 'a', '--key', 'key 0', OLDEST]],
        *finally(home) {
          yield* takenOnce(home.agent('a'), 'hello', 'echo: hello')
          yield* takenOnce(home.agent('a'), OLDEST, `echo: ${OLDEST}`)
        },
      }
    },
  },
]

async function keyedTurns(desk: Desk): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++)
    await desk.do('send', 'a', '--key', `key ${turn}`, `message ${turn}`)
}
