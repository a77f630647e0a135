/** Agents brought to rest, turns cancelled, agents ended: what was said to be so is so, and stays so. */

import { Seen } from '../../tree/seen.js'
import type { AgentSeen, HomeView } from '../home-view.js'
import { scripted, untilAsked, withAgent, withFamily, withScript } from '../homes.js'
import { leaveOpen } from '../left-open.js'
import { exits, idOf, takenOnce } from '../promises.js'
import type { Broken, Scenario } from '../scenario.js'

const TURN_MS = 1500

const WITH_A_TURN: Pick<Scenario, 'prepare' | 'meanwhile'> = {
  prepare: (lab, home) => withScript(lab, home, [{ delay_ms: TURN_MS, say: 'late' }]),
  /** Another process asks the model; it is asked to stop, or, where the command died first, goes on to its end. */
  async meanwhile(lab, home) {
    const turn = lab.run(home, ['send', 'a', 'slow'])
    await untilAsked(home, 'a')
    return async () => void (await turn)
  },
}

export const STOP: Scenario[] = [
  suspendingAtRest(),
  suspending('suspend', []),
  suspending('suspend-hold', ['--hold']),
  suspendingARunningTurn(),
  cancellingARunningTurn(),
  cancelling('cancel-waiting', 'H'),
  cancelling('cancel-interrupted', 'C'),
  terminating(),
  terminatingARunningTurn(),
  terminatingWithMail(),
  terminatingAll(),
]

function suspendingAtRest(): Scenario {
  return {
    name: 'suspend-created',
    argv: ['suspend', 'a', '--hold'],
    // It had no turn yet.
    prepare: async (lab, home) => {
      await lab.do(home, 'spawn', '--name', 'a')
      return undefined
    },
    acknowledged: (told, home) => saidToBeSuspended(told.stdout, home, true),
    next: { argv: ['suspend', 'a', '--hold'], check: (ended) => exits(ended, 0) },
    *finally(home) {
      if (home.agent('a')?.state.hold !== true) yield 'the agent is on hold'
    },
  }
}

function suspending(name: string, flags: string[]): Scenario {
  const argv = ['suspend', 'a', ...flags]
  const isHeld = flags.includes('--hold')
  return {
    name,
    argv,
    async prepare(lab, home) {
      await withAgent(lab, home)
      await leaveOpen(home, 'a', 'C', { content: 'interrupted' })
      return undefined
    },
    acknowledged: (told, home) => saidToBeSuspended(told.stdout, home, isHeld),
    next: { argv, check: (ended) => exits(ended, 0) },
    *finally(home) {
      const agent = home.agent('a')
      if (agent?.state.state !== 'suspended' || agent.state.hold !== isHeld) yield 'the agent is suspended'
      if (agent !== undefined && hasReplyOnHold(agent)) yield 'an agent on hold takes no turn'
    },
  }
}

function* saidToBeSuspended(stdout: string, home: HomeView, isHeld: boolean): Broken {
  const { state, hold } = home.agent('a')?.state ?? {}
  if (stdout.includes('suspended') && (state !== 'suspended' || hold !== isHeld))
    yield `the agent was said to be suspended and is, not ${state}${hold ? ', on hold' : ''}`
}

function hasReplyOnHold({ records }: AgentSeen): boolean {
  const held = records.findIndex((record) => record.kind === 'session.configured' && record.hold === true)
  return held !== -1 && records.slice(held).some(({ kind }) => kind === 'message.agent')
}

function suspendingARunningTurn(): Scenario {
  return {
    name: 'suspend-running',
    argv: ['suspend', 'a'],
    ...WITH_A_TURN,
    *acknowledged(told, home) {
      const { state, run } = home.agent('a')?.state ?? {}
      if (told.stdout.includes('suspended') && (state !== 'suspended' || run?.status === 'open'))
        yield `the agent was said to be suspended and is, not ${state} with a run that is ${run?.status}`
    },
    next: { argv: ['resume', 'a'], check: (ended) => exits(ended, 0) },
    finally: (home) => takenOnce(home.agent('a'), 'slow', 'late'),
  }
}

function cancellingARunningTurn(): Scenario {
  return {
    name: 'cancel-running',
    argv: ['cancel', 'a'],
    ...WITH_A_TURN,
    acknowledged: (told, home) => saidToBeCancelled(told.stdout, home),
    next: { argv: ['cancel', 'a'], check: (ended) => exits(ended, 0) },
    *finally(home) {
      const { status } = home.agent('a')?.state.run ?? {}
      if (status === 'completed') yield* takenOnce(home.agent('a'), 'slow', 'late')
      else if (status !== 'cancelled') yield `the turn is cancelled or came to its end, not ${status}`
    },
  }
}

/** A parked turn, or one that a dead process left. Where the command died first, recovery goes on with the latter. */
function cancelling(name: string, row: 'H' | 'C'): Scenario {
  return {
    name,
    argv: ['cancel', 'a'],
    async prepare(lab, home) {
      await withAgent(lab, home)
      await leaveOpen(home, 'a', row, { content: 'left' })
      return undefined
    },
    recoverExits: row === 'H' ? [5, 14] : [14],
    acknowledged: (told, home) => saidToBeCancelled(told.stdout, home),
    next: { argv: ['cancel', 'a'], check: (ended) => exits(ended, 0) },
    *finally(home, told) {
      const { status } = home.agent('a')?.state.run ?? {}
      if (status === 'completed' && row === 'C' && !saysCancelled(told.stdout))
        yield* takenOnce(home.agent('a'), 'left', 'echo: left')
      else if (status !== 'cancelled') yield `the turn is cancelled, not ${status}`
      const good = home.agent('a')?.state.tokens.filter((token) => token.status === 'minted') ?? []
      if (good.length > 0) yield 'the token of a turn that was cancelled is worth nothing'
    },
  }
}

function saysCancelled(stdout: string): boolean {
  return /: cancelled/.test(stdout)
}

function* saidToBeCancelled(stdout: string, home: HomeView): Broken {
  const { status } = home.agent('a')?.state.run ?? {}
  if (saysCancelled(stdout) && status !== 'cancelled')
    yield `the turn was said to be cancelled and is, not ${status}`
}

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
    ...WITH_A_TURN,
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
