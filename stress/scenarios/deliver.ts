/** What waits gets its turn, once, and whoever asked has the reply; so has the person, whose inbox is for taking. */
import { readFileSync, writeFileSync } from 'node:fs'
import { beside } from '../support/lab.js'
import { nothingPending, takenOnce, UUID } from '../support/promises.js'
import { Seen } from '../tree/seen.js'
import { calls, withFamily, withScript } from './homes.js'
import { answeredByMail, exits, notifiedOnce } from './promises.js'
import type { Scenario } from './scenario.js'

const TASK = { from: 'lead', to: 'kid', content: 'task', answer: 'kid did it' }

export const DELIVER: Scenario[] = [
  delivering('deliver', ['deliver', 'kid']),
  delivering('deliver-all', ['deliver', '--all']),
  delivering('wait', ['wait', 'kid']),
  takingMail(),
  replying(),
]

function delivering(name: string, argv: string[]): Scenario {
  return {
    name,
    argv,
    async prepare(lab, home) {
      // Which of the two it takes first is left to chance.
      await withFamily(lab, home, { kid: [{ say: TASK.answer }, { say: TASK.answer }] })
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

/** Who takes prints first: what was moved aside was shown. */
function takingMail(): Scenario {
  return {
    name: 'inbox-take',
    argv: ['inbox', '--take'],
    async prepare(lab, home) {
      await withScript(lab, home, [{ say: 'heard' }])
      await lab.do(home, 'send', 'a', '--queue', 'hello')
      return undefined
    },
    acknowledged: () => [],
    next: {
      argv: ['inbox', '--take'],
      *check(ended, told) {
        yield* exits(ended, 0)
        if (!(told.stdout + ended.stdout).includes('heard')) yield 'a message that is taken was printed'
      },
    },
    *finally(home) {
      const left = Seen.read(home.path).arrivals.filter(({ to }) => to === 'operator')
      if (left.length > 0) yield 'what was taken does not come again'
    },
  }
}

/** To the request of a root. Where it was stored before the kill the request is not open any more. */
function replying(): Scenario {
  const argv = (home: string): string[] => {
    const id = readFileSync(beside(home, 'request'), 'utf8')
    return ['send', 'a', '--reply-to', id, 'the blue one']
  }
  return {
    name: 'send-reply',
    argv,
    async prepare(lab, home) {
      const asks = calls(['send_message', { to: 'operator', content: 'which?' }])
      await withScript(lab, home, [asks, { say: 'asked' }], '--allow', 'tree')
      await lab.do(home, 'send', 'a', 'go')
      const [id = ''] = UUID.exec(JSON.stringify(Seen.read(home).arrivals.at(-1))) ?? []
      writeFileSync(beside(home, 'request'), id)
      return undefined
    },
    acknowledged: () => [],
    next: { argv, check: (ended) => exits(ended, [0, 3]) },
    afterwards: [{ argv: ['deliver', '--all'], check: (ended) => exits(ended, 0) }],
    *finally(home) {
      yield* notifiedOnce(home, 'a', 'the blue one')
      yield* nothingPending(home)
    },
  }
}
