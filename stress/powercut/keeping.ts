/** What is done with agents besides their turns: their state, their gate, their end. */
import type { HomeView } from '../support/home-view.js'
import { type Broken, nothingPending, takenOnce } from '../support/promises.js'
import { conversationOf } from './mail.js'
import { type Case, exits, leaveAsked, operatorMail, type Scenario, withAgent } from './scenario.js'
import type { Told } from './trace.js'
import { isCancelled } from './waiting.js'

export const KEEPING: Scenario[] = [
  suspending('suspend', []),
  suspending('suspend-hold', ['--hold']),
  stopping('suspend'),
  stopping('cancel'),
  resuming(),
  terminating(),
  removing(),
  gating(),
]

function suspending(name: string, flags: string[]): Scenario {
  const argv = ['suspend', 'a', ...flags]
  const isHeld = flags.includes('--hold')
  return {
    name,
    async begin(desk): Promise<Case> {
      await withAgent(desk, 'a')
      await leaveAsked(desk, 'a', 'interrupted')
      return {
        argv,
        *acknowledged({ stdout }, home) {
          if (!stdout.includes('suspended')) return
          const { records = [], state } = home.agent('a') ?? {}
          const kinds = records.map(({ kind }) => kind)
          // Without a hold a recovery may be going on with the turn that was interrupted.
          if (kinds.lastIndexOf('session.suspended') < kinds.lastIndexOf('message.user'))
            yield `the agent was said to be suspended, and is ${state?.state}`
          if (state?.hold !== isHeld) yield `the agent is ${isHeld ? '' : 'not '}on hold`
        },
        next: { argv, check: (ended) => exits(ended, 0) },
        *finally(home) {
          const state = home.agent('a')?.state
          if (state?.state !== 'suspended' || state.hold !== isHeld) yield 'the agent is suspended'
        },
      }
    },
  }
}

/** Another process has the turn; it is asked to stop. */
function stopping(verb: 'suspend' | 'cancel'): Scenario {
  const asked = verb === 'suspend' ? 6 : 14
  const wasTold = (told: Told): boolean => /suspended|a: cancelled/.test(told.stdout)
  return {
    name: `${verb}-running`,
    async begin(desk): Promise<Case> {
      await withAgent(desk, 'a', ...desk.script('slow.json', [{ delay_ms: 5000, say: 'late' }]))
      return {
        argv: [verb, 'a'],
        async meanwhile() {
          let tellAsked = (): void => undefined
          const isAsked = new Promise<void>((resolve) => {
            tellAsked = resolve
          })
          const turn = desk.start(['send', 'a', 'slow'], ({ bytes }) => {
            // The request is on its way when its record is about to be written and synced.
            if (bytes !== undefined && Buffer.from(bytes).includes('"model.requested"'))
              setTimeout(tellAsked, 5)
            return undefined
          })
          await isAsked
          return () => turn.ended
        },
        // From here on it answers at once.
        settle: () => void desk.script('slow.json', [{ say: 'late' }]),
        *acknowledged(told, home) {
          const { state, run } = home.agent('a')?.state ?? {}
          if (!wasTold(told)) return
          if (run?.status === 'open') yield `the turn was said to be stopped, and is not ${run.status}`
          if (verb === 'suspend' && state !== 'suspended')
            yield `the agent was said to be suspended, and is ${state}`
        },
        next: {
          argv: ['resume', 'a'],
          // It finds what the turn was asked, and obeys.
          check: (ended) => (ended.status === asked ? [] : exits(ended, 0)),
        },
        recoverExits: [asked],
        afterwards: [['resume', 'a']],
        *finally(home, told) {
          if (verb === 'cancel' && wasTold(told)) yield* isCancelled(home)
          else if (verb === 'suspend') yield* takenOnceIfAsked(home, 'slow', 'late')
        },
      }
    },
  }
}

function* takenOnceIfAsked(home: HomeView, content: string, answer: string): Broken {
  if ((conversationOf(home, content).asked ?? 0) > 0) yield* takenOnce(home.agent('a'), content, answer)
}

function resuming(): Scenario {
  return {
    name: 'resume',
    async begin(desk): Promise<Case> {
      await withAgent(desk, 'a')
      await leaveAsked(desk, 'a', 'interrupted')
      await desk.do('suspend', 'a', '--hold')
      await desk.do('send', 'a', '--if-busy', 'queue', 'queued')
      return {
        argv: ['resume', 'a'],
        *acknowledged({ stdout }, home) {
          if (stdout.includes('echo: interrupted'))
            yield* takenOnce(home.agent('a'), 'interrupted', 'echo: interrupted')
        },
        next: { argv: ['resume', 'a'], check: (ended) => exits(ended, 0) },
        *finally(home) {
          yield* takenOnce(home.agent('a'), 'interrupted', 'echo: interrupted')
          yield* takenOnce(home.agent('a'), 'queued', 'echo: queued')
          yield* nothingPending(home)
        },
      }
    },
  }
}

/** Its mail is answered, each with one error. */
function terminating(): Scenario {
  const argv = ['terminate', 'a', '--recursive']
  return {
    name: 'terminate',
    async begin(desk): Promise<Case> {
      await withAgent(desk, 'a')
      await withAgent(desk, 'kid', '--parent', 'a')
      for (const name of ['a', 'kid']) await desk.do('send', name, '--queue', '--no-drain', `to ${name}`)
      await leaveAsked(desk, 'kid', 'interrupted')
      return {
        argv,
        *acknowledged({ stdout }, home) {
          for (const [name, path] of [
            ['a', 'a'],
            ['kid', 'a/kid'],
          ] as const)
            if (stdout.split('\n').includes(`${path} is terminated`) && home.living(name).length > 0)
              yield `${path} was said to be terminated and is`
        },
        next: {
          argv,
          // By then nobody may have the name.
          check: (ended) => (ended.status === 3 || ended.status === 13 ? [] : exits(ended, 0)),
        },
        *finally(home) {
          if (home.living('a').length + home.living('kid').length > 0) yield 'both are terminated'
          const ids = new Set(operatorMail(desk))
          if (ids.size !== 2) yield `the operator has an answer to each of two requests, not ${ids.size}`
        },
      }
    },
  }
}

function removing(): Scenario {
  const argv = ['remove', 'a', '--recursive']
  return {
    name: 'remove',
    async begin(desk): Promise<Case> {
      await withAgent(desk, 'a')
      await withAgent(desk, 'kid', '--parent', 'a')
      await desk.do('terminate', 'a', '--recursive')
      return {
        argv,
        *acknowledged({ stdout }, home) {
          for (const path of ['a/kid', 'a'])
            if (
              stdout.split('\n').includes(`${path} is removed`) &&
              home.agents.some(({ state }) => state.path === path)
            )
              yield `${path} was said to be removed and is`
        },
        next: { argv, check: (ended) => (ended.status === 3 ? [] : exits(ended, 0)) },
        *finally(home) {
          if (home.agents.length > 0)
            yield `both are gone, not ${home.agents.map(({ state }) => state.path).join(', ')}`
        },
      }
    },
  }
}

function gating(): Scenario {
  return {
    name: 'gate',
    async begin(desk): Promise<Case> {
      await withAgent(desk, 'a')
      return {
        argv: ['gate', 'a'],
        *acknowledged({ stdout }, home) {
          const gated = home.agent('a')?.records.some(({ kind }) => kind === 'agent.gated')
          if (stdout.includes('is gated') && gated !== true) yield 'the agent was said to be gated and is'
        },
        next: { argv: ['gate', 'a'], check: (ended) => exits(ended, 0) },
        *finally(home) {
          if (home.agent('a')?.state.gate.isGated !== true) yield 'the agent is gated'
        },
      }
    },
  }
}
