/** `recover --all` after a kill before each append of a turn: the rows of the recovery table as they arise. */
import type { HomeView } from '../support/home-view.js'
import { type Broken, nothingPending, takenOnce, takenOnceOrNot } from '../support/promises.js'
import { calls, EXEC, withAgent, withFamily, withScript } from './homes.js'
import { effect, effectsOf, exits } from './promises.js'
import { onlyInFiles, type Scenario } from './scenario.js'
import type { Answer, Stage, Step } from './stage.js'

const SEND = ['send', 'a', 'hello']
const MAIL = ['send', 'lead', 'go']
const DELIVER = ['deliver', '--all']

/** Before the first append the message is not stored. */
const first = (n: number): typeof takenOnce => (n === 1 ? takenOnceOrNot : takenOnce)

export const KILLED: Scenario[] = [
  ...[1, 2, 3, 4, 5, 6].map((n) =>
    killedIn(`recover-tools-${n}`, withTools, SEND, n, function* (home) {
      yield* first(n)(home.agent('a'), 'hello', 'done')
      if (effectsOf(home.path).length > 1) yield 'a tool has its effect once'
    }),
  ),
  ...[1, 2, 3, 4].map((n) =>
    killedIn(
      `recover-exec-${n}`,
      (stage) => withAgent(stage, ...EXEC),
      SEND,
      n,
      (home) => first(n)(home.agent('a'), 'hello', 'done'),
    ),
  ),
  ...[1, 2, 3, 4, 5, 6].map((n) =>
    killedIn(`recover-mail-${n}`, withKid, MAIL, n, (home) => first(n)(home.agent('lead'), 'go', 'I asked')),
  ),
  ...[1, 2, 3].map((n) =>
    killedIn(`recover-delivery-${n}`, withQueued, DELIVER, n, function* (home) {
      yield* takenOnce(home.agent('a'), 'queued', 'echo: queued')
      yield* nothingPending(home)
    }),
  ),
  killedIn(
    'recover-spawn',
    (stage) => withAgent(stage),
    ['spawn', '--name', 'b', 'hello'],
    1,
    function* (home) {
      if (home.livingNamed('b').length > 1) yield 'one agent has the name'
      yield* takenOnceOrNot(home.livingNamed('b')[0], 'hello', 'echo: hello')
    },
    'spawn.rename',
  ),
  ...onlyInFiles('a database removes an agent in one call; remove has its kills', [
    killedIn(
      'recover-remove',
      withTerminated,
      ['remove', 'a'],
      1,
      function* (home) {
        if (home.agent('a') !== undefined) yield 'the agent whose files were moved aside is gone'
      },
      'remove.tree',
    ),
  ]),
]

function killedIn(
  name: string,
  make: (stage: Stage) => Promise<undefined>,
  argv: string[],
  n: number,
  always: (home: HomeView) => Broken,
  step: Step = 'log.append',
): Scenario {
  const recover = ['recover', '--all']
  return {
    name,
    argv: recover,
    exit: [0, 6],
    programs: 'short',
    async prepare(stage) {
      await make(stage)
      await stage.killedBefore(step, n, argv)
      return undefined
    },
    checkAcknowledged: () => [],
    next: { argv: recover, check: (ended) => exits(ended, [0, 6]) },
    afterwards: [
      // If the outcome of a tool is unknown, the operator must continue the turn.
      ...(argv === SEND ? [{ argv: ['resume', 'a'], check: (ended: Answer) => exits(ended, 0) }] : []),
      { argv: DELIVER, check: (ended) => exits(ended, 0) },
    ],
    finally: always,
  }
}

function withTools(stage: Stage): Promise<undefined> {
  const tools = calls(['shell', { command: effect() }], ['read_file', { path: 'missing.txt' }])
  return withScript(stage, [tools, { say: 'done' }], '--allow', 'shell')
}

function withKid(stage: Stage): Promise<undefined> {
  const asks = calls(['send_message', { to: 'kid', content: 'a question' }])
  return withFamily(stage, { lead: [asks, { say: 'I asked' }] })
}

async function withQueued(stage: Stage): Promise<undefined> {
  await withAgent(stage)
  await stage.do('send', 'a', '--queue', '--no-drain', 'queued')
}

async function withTerminated(stage: Stage): Promise<undefined> {
  await withAgent(stage)
  await stage.do('terminate', 'a')
}
