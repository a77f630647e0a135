/** `recover --all` where a turn was killed at each of its appends: the rows of the recovery table, as they come about. */
import type { MachineLab } from '../machine/lab.js'
import { type FaultScenario, killedAt, SHELL, withAgent, withModel } from './scenario.js'

const RECOVER = ['recover', '--all']

export const RECOVERING: FaultScenario[] = [
  ...[1, 2, 3, 4, 5, 6].map((n) => killedIn(`recover-tools-${n}`, withTools, ['send', 'a', 'hello'], n)),
  ...[1, 2, 3, 4].map((n) => killedIn(`recover-exec-${n}`, withProgram, ['send', 'a', 'hello'], n)),
  ...[1, 2, 3, 4, 5, 6].map((n) => killedIn(`recover-mail-${n}`, withKid, ['send', 'a', 'hello'], n)),
  ...[1, 2, 3].map((n) => killedIn(`recover-delivery-${n}`, withQueued, ['deliver', '--all'], n)),
  killedIn(
    'recover-spawn',
    (lab) => withAgent(lab, 'a'),
    ['spawn', '--name', 'b', 'hello'],
    1,
    'spawn.rename',
  ),
  killedIn('recover-remove', withTerminated, ['remove', 'a'], 1, 'remove.tree'),
]

function killedIn(
  name: string,
  make: (lab: MachineLab) => Promise<void>,
  argv: string[],
  n: number,
  point = 'log.append',
): FaultScenario {
  return {
    name,
    async prepare(lab) {
      await make(lab)
      if (!(await killedAt(lab, argv, point, n)))
        throw new Error(`${name}: there is no ${n}. ${point} to die before`)
      return { argv: RECOVER, next: RECOVER }
    },
  }
}

async function withTools(lab: MachineLab): Promise<void> {
  const tools = [{ say: 'first', tools: [SHELL, { name: 'read_file', input: { path: 'a.json' } }] }]
  await withModel(lab, 'a', [...tools, { say: 'done' }], '--allow', 'shell')
}

async function withProgram(lab: MachineLab): Promise<void> {
  await withAgent(lab, 'a', '--provider', 'exec', '--option', 'command=cat >/dev/null; echo done')
}

async function withKid(lab: MachineLab): Promise<void> {
  const tools = [{ name: 'send_message', input: { to: 'kid', content: 'a question' } }]
  await withModel(lab, 'a', [{ tools }, { say: 'I asked' }], '--allow', 'all')
  await lab.do('spawn', '--parent', 'a', '--name', 'kid')
}

async function withQueued(lab: MachineLab): Promise<void> {
  await withAgent(lab, 'a')
  await lab.do('send', 'a', '--queue', '--no-drain', 'queued')
}

async function withTerminated(lab: MachineLab): Promise<void> {
  await withAgent(lab, 'a')
  await lab.do('terminate', 'a')
}
