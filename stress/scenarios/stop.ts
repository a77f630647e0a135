/** Paused agents and cancelled turns: an acknowledged state holds, and stays. */
import type { AgentSeen, HomeView } from '../support/home-view.js'
import { type Broken, replyIsKept, takenOnce, takenOnceOrNot } from '../support/promises.js'
import { leaveAsked, untilAsked, withAgent, withRunningTurn, withSlowModel } from './homes.js'
import { leaveOpen } from './left-open.js'
import { exits } from './promises.js'
import type { Scenario, Told } from './scenario.js'
import type { Answer } from './stage.js'

const CANCELLED_OR_DONE = {
  faults:
    'a fault may end the turn before the cancel request arrives: then recovery completes it, which is right and in neither history',
}

export const STOP: Scenario[] = [
  suspendingAtRest(),
  suspendScenario('suspend', []),
  suspendScenario('suspend-hold', ['--hold']),
  suspendingARunningTurn(),
  cancellingARunningTurn(),
  cancelScenario('cancel-waiting', 'H'),
  cancelScenario('cancel-interrupted', 'C'),
  stopScenario('send-suspended', ['suspend', 'a']),
  stopScenario('send-cancelled', ['cancel', 'a']),
]

function suspendingAtRest(): Scenario {
  return {
    name: 'suspend-created',
    argv: ['suspend', 'a', '--hold'],
    // It had no turn yet.
    prepare: async (stage) => {
      await stage.do('spawn', '--name', 'a')
      return undefined
    },
    checkAcknowledged: (told, home) => saidToBeSuspended(told, home, true),
    next: { argv: ['suspend', 'a', '--hold'], check: (ended) => exits(ended, 0) },
    *finally(home) {
      if (home.agent('a')?.state.hold !== true) yield 'the agent is on hold'
    },
  }
}

function suspendScenario(name: string, flags: string[]): Scenario {
  const argv = ['suspend', 'a', ...flags]
  const isHeld = flags.includes('--hold')
  return {
    name,
    argv,
    async prepare(stage) {
      await withAgent(stage)
      await leaveAsked(stage, 'a', 'interrupted')
      return undefined
    },
    checkAcknowledged: (told, home) => saidToBeSuspended(told, home, isHeld),
    next: { argv, check: (ended) => exits(ended, 0) },
    *finally(home) {
      const agent = home.agent('a')
      if (agent?.state.state !== 'suspended' || agent.state.hold !== isHeld) yield 'the agent is suspended'
      if (agent !== undefined && hasReplyOnHold(agent)) yield 'an agent on hold runs no turn'
    },
  }
}

function* saidToBeSuspended({ stdout, isLater }: Told, home: HomeView, isHeld: boolean): Broken {
  const { records = [], state } = home.agent('a') ?? {}
  if (!stdout.includes('suspended')) return
  if (state?.hold !== isHeld) yield `the agent is ${isHeld ? '' : 'not '}on hold`
  const kinds = records.map(({ kind }) => kind)
  // Without a hold, recovery may be continuing the interrupted turn.
  const isSuspended =
    isLater === true
      ? kinds.lastIndexOf('session.suspended') > kinds.lastIndexOf('message.user')
      : state?.state === 'suspended'
  if (!isSuspended) yield `the agent was reported as suspended and is, not ${state?.state}`
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
    *checkAcknowledged(told, home) {
      const { state, run } = home.agent('a')?.state ?? {}
      if (told.isLater === true || !told.stdout.includes('suspended')) return
      if (state !== 'suspended' || run?.status === 'open')
        yield `the agent was reported as suspended and is, not ${state} with a run that is ${run?.status}`
    },
    // After a power cut the turn still has its stop request and obeys it. Then the operator resumes it.
    next: { argv: ['resume', 'a'], check: (ended, { lab }) => exits(ended, lab === 'kill' ? 0 : [0, 6]) },
    recoverExits: [6],
    afterwards: [{ argv: ['resume', 'a'], check: (ended) => exits(ended, 0) }],
    finally: (home, { lab }) =>
      (lab === 'kill' ? takenOnce : takenOnceOrNot)(home.agent('a'), 'slow', 'late'),
  }
}

function cancellingARunningTurn(): Scenario {
  return {
    name: 'cancel-running',
    argv: ['cancel', 'a'],
    ...withRunningTurn,
    checkAcknowledged: (told, home) => saidToBeCancelled(told.stdout, home),
    next: { argv: ['cancel', 'a'], check: (ended) => exits(ended, 0) },
    recoverExits: [14],
    *finally(home, { lab }) {
      const { status } = home.agent('a')?.state.run ?? {}
      const taken = lab === 'kill' ? takenOnce : takenOnceOrNot
      if (status === 'completed') yield* taken(home.agent('a'), 'slow', 'late')
      else if (status !== 'cancelled') yield `the turn is cancelled or has completed, not ${status}`
    },
  }
}

/** A parked turn, or one left by a dead process. If the command dies first, recovery continues the latter. */
function cancelScenario(name: string, row: 'H' | 'C'): Scenario {
  return {
    name,
    argv: ['cancel', 'a'],
    async prepare(stage) {
      await withAgent(stage)
      await leaveOpen(stage, 'a', row, { content: 'left' })
      return undefined
    },
    recoverExits: row === 'H' ? [5, 14] : [14],
    checkAcknowledged: (told, home) => saidToBeCancelled(told.stdout, home),
    next: { argv: ['cancel', 'a'], check: (ended) => exits(ended, 0) },
    *finally(home, told) {
      const { status } = home.agent('a')?.state.run ?? {}
      if (status === 'completed' && row === 'C' && !saysCancelled(told.stdout))
        yield* takenOnce(home.agent('a'), 'left', 'echo: left')
      else if (status !== 'cancelled') yield `the turn is cancelled, not ${status}`
      const good = home.agent('a')?.state.tokens.filter((token) => token.status === 'minted') ?? []
      if (good.length > 0) yield 'the token of a cancelled turn is revoked'
    },
  }
}

function saysCancelled(stdout: string): boolean {
  return /: cancelled/.test(stdout)
}

function* saidToBeCancelled(stdout: string, home: HomeView): Broken {
  const { status } = home.agent('a')?.state.run ?? {}
  if (saysCancelled(stdout) && status !== 'cancelled')
    yield `the turn was reported as cancelled and is, not ${status}`
}

/** The kill hits the process that runs the turn, while another one asks it to stop. */
function stopScenario(name: string, request: string[]): Scenario {
  const argv = ['send', 'a', '--key', 'k', 'slow']
  const isCancelled = request[0] === 'cancel'
  return {
    name,
    ...(isCancelled ? { not: CANCELLED_OR_DONE } : {}),
    argv,
    exit: isCancelled ? 14 : 6,
    prepare: withSlowModel,
    async meanwhile(stage) {
      let isOver = false
      const asking = (async () => {
        await untilAsked(stage, 'a', () => isOver)
        if (!isOver) await stage.run(request)
      })()
      return async () => {
        isOver = true
        await asking
      }
    },
    recoverExits: [14],
    checkAcknowledged: (told, home) => replyIsKept(told, home.agent('a'), 'slow', 'late'),
    // The key of a cancelled turn starts a new turn.
    next: {
      argv: isCancelled ? ['cancel', 'a'] : argv,
      check: (ended, { lab }) => exits(ended, lab === 'kill' || isCancelled ? 0 : [0, 6]),
    },
    ...(isCancelled
      ? {}
      : { afterwards: [{ argv: ['resume', 'a'], check: (ended: Answer) => exits(ended, 0) }] }),
    *finally(home) {
      const { status } = home.agent('a')?.state.run ?? {}
      if (isCancelled && status === 'cancelled') return
      const taken = isCancelled ? takenOnceOrNot : takenOnce
      yield* taken(home.agent('a'), 'slow', 'late')
    },
  }
}
