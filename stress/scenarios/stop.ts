/** Agents brought to rest and turns cancelled: what was said to be so is so, and stays so. */
import type { AgentSeen, HomeView } from '../support/home-view.js'
import { type Broken, replyIsKept, takenOnce, takenOnceOrNot } from '../support/promises.js'
import { untilAsked, withAgent, withRunningTurn, withSlowModel } from './homes.js'
import { leaveOpen } from './left-open.js'
import { exits } from './promises.js'
import type { Scenario } from './scenario.js'

export const STOP: Scenario[] = [
  suspendingAtRest(),
  suspending('suspend', []),
  suspending('suspend-hold', ['--hold']),
  suspendingARunningTurn(),
  cancellingARunningTurn(),
  cancelling('cancel-waiting', 'H'),
  cancelling('cancel-interrupted', 'C'),
  stopped('send-suspended', ['suspend', 'a']),
  stopped('send-cancelled', ['cancel', 'a']),
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
    ...withRunningTurn,
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
    ...withRunningTurn,
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

/** The process that has the turn is the one that is killed, while another asks it to stop. */
function stopped(name: string, request: string[]): Scenario {
  const argv = ['send', 'a', '--key', 'k', 'slow']
  const isCancelled = request[0] === 'cancel'
  return {
    name,
    argv,
    exit: isCancelled ? 14 : 6,
    prepare: withSlowModel,
    async meanwhile(lab, home) {
      let isOver = false
      const asking = (async () => {
        await untilAsked(home, 'a', () => isOver)
        if (!isOver) await lab.run(home, request)
      })()
      return async () => {
        isOver = true
        await asking
      }
    },
    recoverExits: [14],
    acknowledged: (told, home) => replyIsKept(told, home.agent('a'), 'slow', 'late'),
    // By its key a turn that was cancelled is asked anew, which is another turn.
    next: { argv: isCancelled ? ['cancel', 'a'] : argv, check: (ended) => exits(ended, 0) },
    *finally(home) {
      const { status } = home.agent('a')?.state.run ?? {}
      if (isCancelled && status === 'cancelled') return
      const taken = isCancelled ? takenOnceOrNot : takenOnce
      yield* taken(home.agent('a'), 'slow', 'late')
    },
  }
}
