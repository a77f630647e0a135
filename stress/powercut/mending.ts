/** Settings, and homes that are put right: by recovery at boot, and by doctor. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { audit } from '../support/home-view.js'
import { nothingPending, takenOnce } from '../support/promises.js'
import type { Desk } from './desk.js'
import { type Case, configOf, exits, leaveAsked, type Scenario, withAgent } from './scenario.js'

export const MENDING: Scenario[] = [setting(), configuring(), recovering(), rebuilding()]

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

/** A home with agents that died in several ways, at boot. */
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
        next: {
          argv: ['recover', '--all', '--continue', 'all'],
          // The turn of `a` was cut short before: with two power cuts more it is left to a person.
          check: (ended, _told, cuts) => (cuts === 2 && ended.status === 6 ? [] : exits(ended, 0)),
        },
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
