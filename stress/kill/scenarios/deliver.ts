/** `deliver`: what waits gets its turn, once, and whoever asked has the reply. */
import { withFamily } from '../homes.js'
import { answeredByMail, exits, nothingPending, notifiedOnce, takenOnce } from '../promises.js'
import type { Scenario } from '../scenario.js'

const TASK = { from: 'lead', to: 'kid', content: 'task', answer: 'kid did it' }

export const DELIVER: Scenario[] = [delivering('deliver', ['kid']), delivering('deliver-all', ['--all'])]

function delivering(name: string, words: string[]): Scenario {
  const argv = ['deliver', ...words]
  return {
    name,
    argv,
    async prepare(lab, home) {
      await withFamily(lab, home, { kid: [{ say: TASK.answer }] })
      await lab.do(home, 'send', 'kid', '--from', 'lead', '--no-drain', TASK.content)
      await lab.do(home, 'send', 'kid', '--kind', 'notification', '--no-drain', 'note')
      await lab.do(home, 'send', 'lead', '--queue', '--no-drain', '--not-before', '1s', 'due')
      return undefined
    },
    acknowledged: () => [],
    next: { argv, check: (ended) => exits(ended, 0) },
    afterwards: [{ argv: ['deliver', '--all'], check: (ended) => exits(ended, 0) }],
    *finally(home) {
      yield* answeredByMail(home, TASK)
      yield* takenOnce(home.agent('kid'), TASK.content, TASK.answer)
      yield* notifiedOnce(home, 'kid', 'note')
      yield* nothingPending(home)
    },
  }
}
