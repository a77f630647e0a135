/** What is done with agents besides their turns: their state, their mail, their names, their end. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { limits } from '../../src/limits.js'
import { audit, conversation, type HomeView } from '../kill/home-view.js'
import type { OnStep } from '../machine/process.js'
import type { Desk } from './desk.js'
import {
  type Broken,
  type Case,
  configOf,
  exits,
  leaveAsked,
  nothingPending,
  operatorMail,
  type Scenario,
  takenOnce,
  UUID,
  withAgent,
} from './scenario.js'
import type { Told } from './trace.js'
import { isCancelled } from './waiting.js'

export const KEEPING: Scenario[] = [
  queueing(),
  delivering(),
  forgetting(),
  takingMail(),
  suspending('suspend', []),
  suspending('suspend-hold', ['--hold']),
  stopping('suspend'),
  stopping('cancel'),
  resuming(),
  terminating(),
  removing(),
  gating(),
  setting(),
  configuring(),
  recovering(),
  rebuilding(),
]

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

function conversationOf(home: HomeView, content: string): { asked?: number } {
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

/** Requests of the operator, whose replies go to the inbox of the operator, once each. */
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

/** As an agent that has had thousands of messages: of most of them it knows no more that it had them. */
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

/** What the operator took is not there again; what was not shown is not taken. */
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
          const { state, hold } = home.agent('a')?.state ?? {}
          if (stdout.includes('suspended') && (state !== 'suspended' || hold !== isHeld))
            yield `the agent was said to be suspended and is, not ${state}${hold ? ', on hold' : ''}`
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

function setting(): Scenario {
  const argv = ['set', 'a', '--model', 'other']
  return {
    name: 'set',
    async begin(desk): Promise<Case> {
      await withAgent(desk, 'a')
      return {
        argv,
        *acknowledged({ stdout }, home) {
          if (stdout.includes('is changed') && home.agent('a')?.state.model !== 'other')
            yield 'the model was said to be changed and is'
        },
        next: { argv, check: (ended) => exits(ended, 0) },
        *finally(home) {
          if (home.agent('a')?.state.model !== 'other') yield 'the model is changed'
        },
      }
    },
  }
}

function configuring(): Scenario {
  const argv = ['config', 'set', 'slots_max', '3']
  const isSet = (desk: Desk): boolean => configOf(desk)?.includes('3') === true
  return {
    name: 'config-set',
    async begin(desk): Promise<Case> {
      await withAgent(desk, 'a')
      await desk.do('config', 'set', 'slots_max', '2')
      return {
        argv,
        *acknowledged({ stdout }) {
          if (stdout.includes('slots_max is 3') && !isSet(desk))
            yield 'the setting was said to be changed and is'
          if (configOf(desk) === undefined) yield 'settings that were there are there'
        },
        next: { argv, check: (ended) => exits(ended, 0) },
        *finally() {
          if (!isSet(desk)) yield 'the setting is changed'
        },
      }
    },
  }
}

/** A home with agents that died in several ways. */
function recovering(): Scenario {
  return {
    name: 'recover',
    async begin(desk): Promise<Case> {
      await withAgent(desk, 'a')
      await withAgent(desk, 'kid', '--parent', 'a')
      await leaveAsked(desk, 'a', 'asked')
      await leaveDelivered(desk, 'kid', 'delivered')
      // At boot: nobody has looked at the home under this start of the kernel.
      desk.machine.powerCut()
      return {
        argv: ['recover', '--all', '--continue', 'all'],
        *acknowledged({ stdout }, home) {
          if (/^a .*completed/m.test(stdout)) yield* takenOnce(home.agent('a'), 'asked', 'echo: asked')
        },
        next: { argv: ['recover', '--all', '--continue', 'all'], check: (ended) => exits(ended, 0) },
        *finally(home) {
          yield* takenOnce(home.agent('a'), 'asked', 'echo: asked')
          yield* takenOnce(home.agent('kid'), 'delivered', 'echo: delivered')
          yield* nothingPending(home)
        },
      }
    },
  }
}

/** Its mail is in the log, and its file still there. */
async function leaveDelivered(desk: Desk, name: string, text: string): Promise<void> {
  await desk.do('send', name, '--queue', '--no-drain', text)
  await desk.run(['deliver', name], ({ point }) => (point === 'mail.remove' ? { kill: true } : undefined))
}

/** The damaged log is kept, byte for byte, whatever becomes of the new one meanwhile. */
function rebuilding(): Scenario {
  const argv = ['doctor', '--all', '--rebuild']
  return {
    name: 'doctor-rebuild',
    async begin(desk): Promise<Case> {
      const id = await withAgent(desk, 'a')
      for (const text of ['whole', 'damaged', 'after']) await desk.do('send', 'a', text)
      const log = join(desk.home, 'agents', id, 'events.jsonl')
      desk.spoil(log, readFileSync(log).indexOf('damaged'), Buffer.from('DAMAGED'))
      const damaged = readFileSync(log)
      const isKept = (): boolean =>
        readdirSync(dirname(log))
          .filter((name) => name.startsWith('events.jsonl'))
          .some((name) => readFileSync(join(dirname(log), name)).equals(damaged))
      return {
        argv,
        isDamaged: true,
        *acknowledged({ status }) {
          if (!isKept()) yield 'the damaged log is kept'
          if (status === 0) yield* audit(desk.home, false)
        },
        next: { argv, check: (ended) => exits(ended, 0) },
        finally: (home) => takenOnce(home.agent('a'), 'whole', 'echo: whole'),
      }
    },
  }
}
