/** Messages that wait: put into an inbox, delivered, forgotten, taken by the operator. */
import { limits } from '../../src/limits.js'
import type { OnStep } from '../machine/process.js'
import { conversation, type HomeView } from '../support/home-view.js'
import { type Broken, nothingPending, takenOnce, UUID } from '../support/promises.js'
import { type Case, exits, operatorMail, type Scenario, withAgent } from './scenario.js'

export const MAIL: Scenario[] = [queueing(), delivering(), forgetting(), takingMail()]

const QUEUED = new RegExp(`queued as message (${UUID.source})`)

function queueing(): Scenario {
  const argv = ['send', 'a', '--queue', '--no-drain', '--key', 'k', 'queued']
  return {
    name: 'queue',
    async begin(desk): Promise<Case> {
      await withAgent(desk, 'a')
      return {
        argv,
        acknowledged: ({ stderr }, home) => isStored(home, QUEUED.exec(stderr)?.[1]),
        next: { argv: ['deliver', '--all'], check: (ended) => exits(ended, 0) },
        *finally(home, { stderr }) {
          const { asked = 0 } = conversationOf(home, 'queued')
          if (QUEUED.test(stderr) || asked > 0) yield* takenOnce(home.agent('a'), 'queued', 'echo: queued')
          yield* nothingPending(home)
        },
      }
    },
  }
}

export function conversationOf(home: HomeView, content: string): { asked?: number } {
  const agent = home.agent('a')
  return agent === undefined ? {} : conversation(agent, content)
}

function* isStored(home: HomeView, id: string | undefined): Broken {
  const agent = home.agent('a')
  if (
    id === undefined ||
    agent?.pending.includes(id) === true ||
    agent?.state.delivered.includes(id) === true
  )
    return
  yield `the message ${id} was acknowledged, and is in the inbox or in the log`
}

function delivering(): Scenario {
  return {
    name: 'deliver',
    async begin(desk): Promise<Case> {
      await withAgent(desk, 'a')
      await withAgent(desk, 'kid', '--parent', 'a')
      for (const name of ['a', 'kid']) await desk.do('send', name, '--queue', '--no-drain', `to ${name}`)
      return {
        argv: ['deliver', '--all'],
        *acknowledged({ stdout }, home) {
          if (stdout.includes('a: 1 turn')) yield* takenOnce(home.agent('a'), 'to a', 'echo: to a')
        },
        next: { argv: ['deliver', '--all'], check: (ended) => exits(ended, 0) },
        *finally(home) {
          for (const name of ['a', 'kid'])
            yield* takenOnce(home.agent(name), `to ${name}`, `echo: to ${name}`)
          yield* nothingPending(home)
          const { length } = operatorMail(desk)
          if (length !== 2) yield `the operator has the two replies, not ${length}`
        },
      }
    },
  }
}

function forgetting(): Scenario {
  const texts = ['one', 'two', 'three', 'four']
  const bounds = limits as { deliveredIdsKeptMin: number }
  const usual = limits.deliveredIdsKeptMin
  return {
    name: 'deliver-forgetting',
    async begin(desk): Promise<Case> {
      bounds.deliveredIdsKeptMin = 1
      await withAgent(desk, 'a')
      for (const text of texts) await desk.do('send', 'a', '--queue', '--no-drain', text)
      return {
        argv: ['deliver', '--all'],
        end: () => {
          bounds.deliveredIdsKeptMin = usual
        },
        acknowledged: () => [],
        next: { argv: ['deliver', '--all'], check: (ended) => exits(ended, 0) },
        *finally(home) {
          for (const text of texts) yield* takenOnce(home.agent('a'), text, `echo: ${text}`)
          yield* nothingPending(home)
        },
      }
    },
  }
}

function takingMail(): Scenario {
  return {
    name: 'inbox-take',
    async begin(desk): Promise<Case> {
      await withAgent(desk, 'a')
      await desk.do('send', 'a', '--queue', 'one')
      // Its sender died behind the reply: in recovery it sends it again.
      await desk.run(['send', 'a', '--queue', 'two'], killedAfterReply())
      return {
        argv: ['inbox', '--take'],
        *acknowledged({ stdout, status }) {
          for (const text of ['one', 'two'])
            if (!stdout.includes(text) && !operatorMail(desk).some((mail) => mail.includes(text)))
              yield `the message ${text}, which was not shown, is in the inbox`
          if (status === 0 && operatorMail(desk).length > 0)
            yield `what the operator took is not in the inbox: ${operatorMail(desk).length} messages`
        },
        next: { argv: ['inbox', '--take'], check: (ended) => exits(ended, 0) },
        *finally() {
          if (operatorMail(desk).length > 0) yield 'all was taken'
        },
      }
    },
  }
}

function killedAfterReply(): OnStep {
  let isSent = false
  return ({ point, path }) => {
    if (isSent) return { kill: true }
    isSent = point === 'mail.put.sync_directory' && path.endsWith('operator/inbox')
    return undefined
  }
}
