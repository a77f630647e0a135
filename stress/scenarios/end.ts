/** Termination of agents: an acknowledged termination holds, and each sender of a pending request gets one answer. */
import type { HomeView } from '../support/home-view.js'
import type { Broken } from '../support/promises.js'
import { Seen } from '../tree/seen.js'
import { leaveAsked, stateOf, withAgent, withFamily, withRunningTurn } from './homes.js'
import { leaveOpen } from './left-open.js'
import { exits, operatorMail } from './promises.js'
import type { Act, Scenario } from './scenario.js'
import type { Stage } from './stage.js'

/** Uses the id: the name of a terminated agent no longer resolves. */
const AGAIN: Act = {
  argv: ({ id }) => ['terminate', id as string],
  check: (ended) => exits(ended, 0),
}

export const END: Scenario[] = [
  terminateScenario(),
  terminatingARunningTurn(),
  terminatingWithMail(),
  terminatingAll(),
  terminatingAFamily(),
]

function idOf({ home }: Stage, name: string): { id: string } {
  return { id: stateOf(home, name).id }
}

function isTerminated(home: HomeView, name: string): boolean {
  return home.livingNamed(name).length === 0
}

function* saidToBeTerminated(stdout: string, home: HomeView, names: string[]): Broken {
  for (const name of names)
    if (new RegExp(`${name} is terminated`).test(stdout) && !isTerminated(home, name))
      yield `the agent ${name} was acknowledged as terminated and is`
}

function terminateScenario(): Scenario {
  return {
    name: 'terminate',
    argv: ['terminate', 'a'],
    async prepare(stage) {
      await withAgent(stage)
      await stage.do('suspend', 'a', '--hold')
      await stage.do('send', 'a', '--if-busy', 'queue', 'queued')
      await leaveOpen(stage, 'a', 'C', { content: 'interrupted' })
      return idOf(stage, 'a')
    },
    checkAcknowledged: (told, home) => saidToBeTerminated(told.stdout, home, ['a']),
    next: AGAIN,
    *finally(home) {
      if (!isTerminated(home, 'a')) yield 'the agent is terminated'
      yield* errorOnce(home, 'operator', 'queued')
    },
  }
}

function terminatingARunningTurn(): Scenario {
  return {
    name: 'terminate-running',
    argv: ['terminate', 'a'],
    ...withRunningTurn,
    async prepare(stage) {
      await withRunningTurn.prepare(stage)
      return idOf(stage, 'a')
    },
    checkAcknowledged: (told, home) => saidToBeTerminated(told.stdout, home, ['a']),
    next: AGAIN,
    *finally(home) {
      if (!isTerminated(home, 'a')) yield 'the agent is terminated'
      if (home.agent('a')?.state.run?.status === 'open') yield 'a terminated agent has no open turn'
    },
  }
}

/** The sender of an unanswered request gets one error. */
function terminatingWithMail(): Scenario {
  return {
    name: 'terminate-mail',
    argv: ['terminate', 'kid'],
    async prepare(stage) {
      await withFamily(stage)
      await stage.do('send', 'kid', '--from', 'lead', '--no-drain', 'task')
      return idOf(stage, 'kid')
    },
    checkAcknowledged: (told, home) => saidToBeTerminated(told.stdout, home, ['kid']),
    next: AGAIN,
    afterwards: [{ argv: ['deliver', '--all'], check: (ended) => exits(ended, 0) }],
    *finally(home) {
      if (!isTerminated(home, 'kid')) yield 'the agent is terminated'
      yield* toldOnce(home)
    },
  }
}

/** An error if the agent was terminated first, a reply if recovery ran the turn before that. */
function* toldOnce(home: HomeView): Broken {
  const lead = home.agent('lead')?.state.id
  const told = Seen.read(home.path).arrivals.filter(({ to, kind }) => to === lead && kind !== 'notification')
  if (told.length !== 1) yield `the sender gets one answer from a terminated agent, not ${told.length}`
}

function terminatingAll(): Scenario {
  return {
    name: 'terminate-recursive',
    not: {
      faults:
        'a fault between two agents lets the remaining ones receive the mail about the first: correct, and in neither history',
    },
    ...terminatingRecursively(['lead', 'kid', 'other'], async (stage) => {
      await withFamily(stage)
      await stage.do('spawn', '--parent', 'lead', '--name', 'other', ...stage.script([]))
      await stage.do('send', 'kid', '--from', 'other', '--no-drain', 'task')
      for (const name of ['lead', 'kid']) await stage.do('send', name, '--queue', '--no-drain', `to ${name}`)
      await leaveAsked(stage, 'other', 'interrupted')
    }),
  }
}

function terminatingAFamily(): Scenario {
  const names = ['lead', 'kid']
  return {
    name: 'terminate-family',
    faults: { isForEach: true },
    ...terminatingRecursively(names, async (stage) => {
      await withFamily(stage)
      for (const name of names) await stage.do('send', name, '--queue', '--no-drain', `to ${name}`)
    }),
  }
}

/** `lead` with all its descendants. Each of the two pending requests gets one answer. */
function terminatingRecursively(
  names: string[],
  prepare: (stage: Stage) => Promise<void>,
): Omit<Scenario, 'name'> {
  return {
    argv: ['terminate', 'lead', '--recursive'],
    async prepare(stage) {
      await prepare(stage)
      return idOf(stage, 'lead')
    },
    checkAcknowledged: (told, home) => saidToBeTerminated(told.stdout, home, names),
    next: {
      argv: ({ id }) => ['terminate', id as string, '--recursive'],
      check: (ended) => exits(ended, 0),
    },
    *finally(home) {
      for (const name of names) if (!isTerminated(home, name)) yield `${name} is terminated`
      yield* bothAnswered(home)
    },
  }
}

/** An error, or a reply if recovery ran the request's turn first. */
function* bothAnswered(home: HomeView): Broken {
  const { size } = new Set(operatorMail(home))
  if (size !== 2) yield `the operator has an answer to each of two requests, not ${size}`
}

function* errorOnce(home: HomeView, to: string, content: string): Broken {
  const seen = Seen.read(home.path)
  const errors = seen.arrivals.filter((arrival) => arrival.kind === 'error' && arrival.to === to)
  const about = errors.filter((arrival) => arrival.content.includes(content))
  if (about.length !== 1) yield `${to} gets one error for the undelivered ${content}, not ${about.length}`
}
