/** Agents that write to one another, and the ends of whole branches. */
import type { MachineLab } from '../machine/lab.js'
import { type FaultScenario, type Prepared, withAgent, withModel } from './scenario.js'

const ASKS = { name: 'send_message', input: { to: 'kid', content: 'a question' } }
const WAITS = { name: 'send_message', input: { to: 'kid', content: 'a question', wait: true } }
const BEARS = { name: 'spawn_agent', input: { name: 'new', prompt: 'first words' } }

export const TREE: FaultScenario[] = [
  scenario('send-mail', family(ASKS), ['send', 'a', '--key', 'k', 'hello']),
  {
    name: 'send-in-place',
    async prepare(lab) {
      await family(WAITS)(lab)
      const argv = ['send', 'a', '--key', 'k', 'hello']
      return { argv, next: argv, later: /^a: .*"asked":\["response from/ }
    },
  },
  scenario('send-spawns', family(BEARS), ['send', 'a', '--key', 'k', 'hello']),
  scenario(
    'queue',
    family(ASKS),
    ['send', 'a/kid', '--queue', '--no-drain', '--key', 'k', 'hello'],
    ['send', 'a/kid', '--queue', '--key', 'k', 'hello'],
  ),
  scenario('deliver', withMail, ['deliver', '--all']),
  scenario('wait', withMail, ['wait', 'a', 'a/kid']),
  scenario('inbox-take', withAnswer, ['inbox', '--take']),
  scenario('gate', family(ASKS), ['gate', 'a/kid']),
  scenario('ungate', gatedWithMail, ['ungate', 'a/kid']),
  ...[
    scenario('terminate', plainFamily, ['terminate', 'a', '--recursive']),
    scenario('terminate-mail', plainWithMail, ['terminate', 'a', '--recursive']),
    scenario('remove', terminated, ['remove', 'a', '--recursive'], ['list', '--all']),
    scenario('prune', terminated, ['prune', '--older-than', '0h']),
  ].map(forEach),
]

function forEach({ name, prepare }: FaultScenario): FaultScenario {
  return { name, prepare: async (lab) => ({ ...(await prepare(lab)), isForEach: true }) }
}

function scenario(
  name: string,
  make: (lab: MachineLab) => Promise<void>,
  argv: string[],
  next: string[] = argv,
): FaultScenario {
  return {
    name,
    async prepare(lab): Promise<Prepared> {
      await make(lab)
      return { argv, next }
    },
  }
}

function family(call: { name: string; input: Record<string, unknown> }): (lab: MachineLab) => Promise<void> {
  return async (lab) => {
    await withModel(lab, 'a', [{ say: 'I ask', tools: [call] }, { say: 'I asked' }], '--allow', 'all')
    await lab.do('spawn', '--parent', 'a', '--name', 'kid')
  }
}

async function withMail(lab: MachineLab): Promise<void> {
  await family(ASKS)(lab)
  await lab.do('send', 'a/kid', '--queue', '--no-drain', 'for the kid')
  await lab.do('send', 'a', '--kind', 'notification', '--no-drain', 'for its parent')
}

/** What its turns are about asks nobody for anything. */
async function plainFamily(lab: MachineLab): Promise<void> {
  await withAgent(lab, 'a')
  await lab.do('spawn', '--parent', 'a', '--name', 'kid')
}

async function plainWithMail(lab: MachineLab): Promise<void> {
  await plainFamily(lab)
  await lab.do('send', 'a/kid', '--queue', '--no-drain', 'for the kid')
  await lab.do('send', 'a', '--kind', 'notification', '--no-drain', 'for its parent')
}

async function gatedWithMail(lab: MachineLab): Promise<void> {
  await plainFamily(lab)
  await lab.do('gate', 'a/kid')
  await lab.do('send', 'a/kid', '--queue', 'for the kid')
}

async function withAnswer(lab: MachineLab): Promise<void> {
  await withAgent(lab, 'a')
  await lab.do('send', 'a', '--queue', 'hello')
}

async function terminated(lab: MachineLab): Promise<void> {
  await plainFamily(lab)
  await lab.do('terminate', 'a', '--recursive')
}
