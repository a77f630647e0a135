/** Agents ended for good: what was said to be ended is, and whoever asked them is told once. */
import type { HomeView } from '../support/home-view.js'
import type { Broken } from '../support/promises.js'
import { Seen } from '../tree/seen.js'
import { scripted, withAgent, withFamily, withRunningTurn } from './homes.js'
import { leaveOpen } from './left-open.js'
import { exits, idOf } from './promises.js'
import type { Scenario } from './scenario.js'

export const END: Scenario[] = [
  terminating(),
  terminatingARunningTurn(),
  terminatingWithMail(),
  terminatingAll(),
]

function isTerminated(home: HomeView, name: string): boolean {
  return home.living(name).length === 0
}

function* saidToBeTerminated(stdout: string, home: HomeView, names: string[]): Broken {
  for (const name of names)
    if (new RegExp(`${name} is terminated`).test(stdout) && !isTerminated(home, name))
      yield `the agent ${name} was said to be terminated and is`
}

function terminating(): Scenario {
  return {
    name: 'terminate',
    argv: ['terminate', 'a'],
    async prepare(lab, home) {
      await withAgent(lab, home)
      await lab.do(home, 'suspend', 'a', '--hold')
      await lab.do(home, 'send', 'a', '--if-busy', 'queue', 'queued')
      await leaveOpen(home, 'a', 'C', { content: 'interrupted' })
      return undefined
    },
    acknowledged: (told, home) => saidToBeTerminated(told.stdout, home, ['a']),
    next: { argv: (home) => ['terminate', idOf(home, 'a')], check: (ended) => exits(ended, 0) },
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
    acknowledged: (told, home) => saidToBeTerminated(told.stdout, home, ['a']),
    next: { argv: (home) => ['terminate', idOf(home, 'a')], check: (ended) => exits(ended, 0) },
    *finally(home) {
      if (!isTerminated(home, 'a')) yield 'the agent is terminated'
      if (home.agent('a')?.state.run?.status === 'open') yield 'a terminated agent has no open turn'
    },
  }
}

/** Whoever waits for an answer from it is told by an error, once. */
function terminatingWithMail(): Scenario {
  return {
    name: 'terminate-mail',
    argv: ['terminate', 'kid'],
    async prepare(lab, home) {
      await withFamily(lab, home)
      await lab.do(home, 'send', 'kid', '--from', 'lead', '--no-drain', 'task')
      return undefined
    },
    acknowledged: (told, home) => saidToBeTerminated(told.stdout, home, ['kid']),
    next: { argv: (home) => ['terminate', idOf(home, 'kid')], check: (ended) => exits(ended, 0) },
    afterwards: [{ argv: ['deliver', '--all'], check: (ended) => exits(ended, 0) }],
    *finally(home) {
      if (!isTerminated(home, 'kid')) yield 'the agent is terminated'
      yield* toldOnce(home)
    },
  }
}

/** By an error where it was terminated first, by the reply where recovery gave the message its turn before that. */
function* toldOnce(home: HomeView): Broken {
  const lead = home.agent('lead')?.state.id
  const told = Seen.read(home.path).arrivals.filter(({ to, kind }) => to === lead && kind !== 'notification')
  if (told.length !== 1) yield `whoever asked a terminated agent is told once, not ${told.length} times`
}

function terminatingAll(): Scenario {
  const names = ['lead', 'kid', 'other']
  return {
    name: 'terminate-recursive',
    argv: ['terminate', 'lead', '--recursive'],
    async prepare(lab, home) {
      await withFamily(lab, home)
      await lab.do(home, 'spawn', '--parent', 'lead', '--name', 'other', ...scripted(lab, []))
      await lab.do(home, 'send', 'kid', '--from', 'other', '--no-drain', 'task')
      await leaveOpen(home, 'other', 'C', { content: 'interrupted' })
      return undefined
    },
    acknowledged: (told, home) => saidToBeTerminated(told.stdout, home, names),
    next: {
      argv: (home) => ['terminate', idOf(home, 'lead'), '--recursive'],
      check: (ended) => exits(ended, 0),
    },
    *finally(home) {
      for (const name of names) if (!isTerminated(home, name)) yield `${name} is terminated`
    },
  }
}

function* errorOnce(home: HomeView, to: string, content: string): Broken {
  const seen = Seen.read(home.path)
  const errors = seen.arrivals.filter((arrival) => arrival.kind === 'error' && arrival.to === to)
  const about = errors.filter((arrival) => arrival.content.includes(content))
  if (about.length !== 1) yield `${to} is told once that ${content} was not taken, not ${about.length} times`
}
