/** Each pending message gets one turn, and its reply arrives. The operator takes replies from the inbox. */
import { limits } from '../../src/limits.js'
import type { HomeView } from '../support/home-view.js'
import { nothingPending, takenOnce, UUID } from '../support/promises.js'
import { Seen } from '../tree/seen.js'
import type { ScriptedEntry } from '../turns/agent.js'
import { calls, withAgent, withFamily, withScript } from './homes.js'
import { answeredByMail, exits, notifiedOnce, operatorMail } from './promises.js'
import type { Scenario } from './scenario.js'

const TASK = { from: 'lead', to: 'kid', content: 'task', answer: 'kid did it' }

const CONSTANT = 'the bound is a constant of the built program: only code within this process can lower it'

export const DELIVER: Scenario[] = [
  deliverScenario('deliver', ['deliver', 'kid']),
  deliverScenario('deliver-all', ['deliver', '--all']),
  deliverScenario(
    'wait',
    ['wait', 'lead', 'kid'],
    [calls(['send_message', { to: 'kid', content: 'more' }]), { say: 'asked' }],
  ),
  sharedScenario(),
  besideScenario(),
  forgetScenario(),
  takingMail(),
  replyScenario(),
]

/** `lead` is the script of the parent's model. */
function deliverScenario(name: string, argv: string[], lead: ScriptedEntry[] = []): Scenario {
  return {
    name,
    argv,
    async prepare(stage) {
      // The kid's messages arrive in random order.
      const kid = Array.from({ length: 4 }, () => ({ say: TASK.answer }))
      await withFamily(stage, { lead, kid })
      await stage.do('send', 'kid', '--from', 'lead', '--no-drain', TASK.content)
      await stage.do('send', 'kid', '--kind', 'notification', '--no-drain', 'note')
      await stage.do('send', 'lead', '--queue', '--no-drain', '--not-before', '1ms', 'due')
      return undefined
    },
    checkAcknowledged: () => [],
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

/** So many agents that worker processes share them. They go on for a moment after the command was killed. */
function sharedScenario(): Scenario {
  const why = 'the agents are shared only among real processes'
  const argv = ['deliver', '--all']
  const names = Array.from({ length: 16 }, (_, index) => `a${index}`)
  return {
    name: 'deliver-shared',
    not: { powercut: why, faults: why },
    argv,
    programs: 'short',
    async prepare(stage) {
      for (const name of names) {
        await stage.do('spawn', '--name', name)
        await stage.do('send', name, '--queue', '--no-drain', `task of ${name}`)
      }
      await stage.do('recover', '--all')
      for (const name of names) await stage.do('send', name, '--queue', '--no-drain', `more for ${name}`)
      return undefined
    },
    checkAcknowledged: () => [],
    next: { argv, check: (ended) => exits(ended, 0) },
    afterwards: [{ argv, check: (ended) => exits(ended, 0) }],
    *finally(home) {
      for (const name of names)
        yield* takenOnce(home.agent(name), `more for ${name}`, `echo: more for ${name}`)
      yield* nothingPending(home)
    },
  }
}

/** Two processes of a shared `deliver`: the records of both agents are written before either is synced. */
function besideScenario(): Scenario {
  const why = 'only the power-cut lab puts the steps of one process between those of another'
  const names = ['a', 'b']
  const isDone = (home: HomeView, name: string): boolean =>
    home.agent(name)?.records.filter(({ kind }) => kind === 'run.completed').length === 2
  return {
    name: 'deliver-beside',
    not: { kill: why, faults: why, postgres: why },
    argv: ['deliver', 'a', '--json'],
    beside: ['deliver', 'b', '--json'],
    async prepare(stage) {
      for (const name of names) {
        await stage.do('spawn', '--name', name)
        await stage.do('send', name, 'earlier')
        await stage.do('send', name, '--queue', '--no-drain', `task of ${name}`)
      }
      return undefined
    },
    *checkAcknowledged({ stdout, isLater }, home) {
      for (const name of names) {
        const isTold = stdout.includes(`"path":"${name}"`)
        const isAnswered = operatorMail(home).some((mail) => mail.includes(`echo: task of ${name}`))
        if ((isTold || isAnswered) && !isDone(home, name))
          yield `the turn of ${name}, ${isTold ? 'which was reported' : 'whose reply was sent'}, is in its log`
        if (isTold && isLater !== true && !isAnswered)
          yield `the reply of ${name}, which was reported, is there`
      }
    },
    next: { argv: ['deliver', '--all'], check: (ended) => exits(ended, 0) },
    *finally(home) {
      for (const name of names) yield* takenOnce(home.agent(name), `task of ${name}`, `echo: task of ${name}`)
      yield* nothingPending(home)
    },
  }
}

/** The state remembers only the last few deliveries, so it forgets one while others are still pending. */
function forgetScenario(): Scenario {
  const texts = ['one', 'two', 'three', 'four']
  const bounds = limits as { deliveredIdsKeptMin: number }
  const argv = ['deliver', '--all']
  return {
    name: 'deliver-forgetting',
    not: { kill: CONSTANT, postgres: CONSTANT },
    argv,
    async prepare(stage) {
      const usual = limits.deliveredIdsKeptMin
      stage.atEnd(() => {
        bounds.deliveredIdsKeptMin = usual
      })
      bounds.deliveredIdsKeptMin = 1
      await withAgent(stage)
      for (const text of texts) await stage.do('send', 'a', '--queue', '--no-drain', text)
      return undefined
    },
    checkAcknowledged: () => [],
    next: { argv, check: (ended) => exits(ended, 0) },
    *finally(home) {
      for (const text of texts) yield* takenOnce(home.agent('a'), text, `echo: ${text}`)
      yield* nothingPending(home)
    },
  }
}

/** The command prints before it removes: a message that was moved aside was shown. */
function takingMail(): Scenario {
  const argv = ['inbox', '--take']
  return {
    name: 'inbox-take',
    argv,
    async prepare(stage) {
      await withAgent(stage)
      await stage.do('send', 'a', '--queue', 'one')
      // The sender dies after its reply; recovery sends the reply again.
      await stage.killedBefore('log.append', 3, ['send', 'a', '--queue', 'two'])
      return undefined
    },
    *checkAcknowledged({ stdout, status, isLater }, home) {
      const left = operatorMail(home)
      for (const text of ['one', 'two'])
        if (isLater !== true && !stdout.includes(text) && !left.some((mail) => mail.includes(text)))
          yield `the message ${text}, which was not shown, is in the inbox`
      if (status === 0 && left.length > 0)
        yield `a taken message does not come again: ${left.length} messages`
    },
    next: {
      argv,
      *check(ended, told) {
        yield* exits(ended, 0)
        for (const text of ['one', 'two'])
          if (!(told.stdout + ended.stdout).includes(text)) yield `a taken message was printed: ${text}`
      },
    },
    *finally(home) {
      if (operatorMail(home).length > 0) yield 'all messages were taken'
    },
  }
}

/** Replies to the request of a root. If the reply was stored before the crash, the request is no longer open. */
function replyScenario(): Scenario {
  const argv: Scenario['argv'] = ({ request }) => [
    'send',
    'a',
    '--reply-to',
    request as string,
    'the blue one',
  ]
  return {
    name: 'send-reply',
    argv,
    async prepare(stage) {
      const asks = calls(['send_message', { to: 'operator', content: 'which?' }])
      await withScript(stage, [asks, { say: 'asked' }], '--allow', 'tree')
      await stage.do('send', 'a', 'go')
      const [request = ''] = UUID.exec(JSON.stringify(Seen.read(stage.home).arrivals.at(-1))) ?? []
      return { request }
    },
    checkAcknowledged: () => [],
    next: { argv, check: (ended) => exits(ended, [0, 3]) },
    afterwards: [{ argv: ['deliver', '--all'], check: (ended) => exits(ended, 0) }],
    *finally(home) {
      yield* notifiedOnce(home, 'a', 'the blue one')
      yield* nothingPending(home)
    },
  }
}
