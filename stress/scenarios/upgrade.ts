/**
 * Commands in a home that the program of format 1 made (test/formats/v1/home-lab): keys, pending mail, a turn that was killed.
 * The command may die before, between and after the upgrades of the home and of each log.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FORMAT } from '../../src/format.js'
import type { HomeView } from '../support/home-view.js'
import { repository } from '../support/lab.js'
import { type Broken, nothingPending, replyIsKept, takenOnce } from '../support/promises.js'
import { copyHomeIn } from './homes.js'
import { answeredByMail, exits } from './promises.js'
import type { Scenario, Told } from './scenario.js'
import type { Stage } from './stage.js'

/** The id of the request in the frozen home. */
const REQUEST = 'ee05d3ee-2dc1-4b5f-9ffc-7961bb1ac272'
const FROZEN = join(repository, 'test/formats/v1/home-lab')

/** The directories that git does not store, because they are empty. */
const EMPTY = { home: ['boots', 'operator/inbox', 'unclean'], agent: ['inbox', 'blobs', 'requests'] }

function withHomeOfFormat1(stage: Stage): Promise<undefined> {
  const ids = readdirSync(join(FROZEN, 'agents'))
  const empty = ids.flatMap((id) => EMPTY.agent.map((name) => join('agents', id, name)))
  return copyHomeIn(stage, FROZEN, [...EMPTY.home, ...empty])
}

/** The frozen home's messages and pending replies, each once. */
function* frozenWork(home: HomeView): Broken {
  for (const n of [1, 2, 3, 4]) yield* takenOnce(home.agent('a'), `question ${n}`, `echo: question ${n}`)
  for (const name of ['pending', 'cut']) yield* takenOnce(home.agent(name), 'earlier', 'echo: earlier')
}

/** The home is upgraded before its first log, and each log once. */
export function* upgradedOnce(home: HomeView): Broken {
  const { format } = JSON.parse(readFileSync(join(home.path, 'home.json'), 'utf8'))
  if (format !== 1 && format !== FORMAT) yield `the home has format 1 or ${FORMAT}, not ${format}`
  for (const { state, records } of home.agents) {
    const upgrades = records.filter(({ kind }) => kind === 'session.upgraded')
    if (upgrades.length > 1) yield `the log of ${state.name} is upgraded once, not ${upgrades.length} times`
    if (state.format !== 1 && format === 1) yield `the home is upgraded before the log of ${state.name}`
    for (const { seq, batch } of upgrades)
      if (batch[0] !== seq) yield `the batch that upgrades ${state.name} begins with the upgrade`
  }
}

/** After `recover --all`, everything that was pending is done. */
function* allDone(home: HomeView): Broken {
  yield* takenOnce(home.agent('cut'), 'cut short', 'echo: cut short')
  yield* takenOnce(home.agent('pending'), 'for later', 'echo: for later')
  yield* answeredByMail(home, {
    from: 'lead',
    to: 'kid',
    content: 'request',
    answer: `echo: [request ${REQUEST} from lead]\nrequest`,
  })
  yield* nothingPending(home)
}

function upgradeScenario(
  name: string,
  argv: string[],
  check: (home: HomeView, told: Told) => Broken,
  finallyHolds: (home: HomeView) => Broken,
): Scenario {
  return {
    name: `${name}-format-1`,
    argv,
    prepare: withHomeOfFormat1,
    *checkAcknowledged(told, home) {
      yield* upgradedOnce(home)
      yield* check(home, told)
    },
    next: { argv, check: (ended) => exits(ended, 0) },
    // A key from before the upgrade is still known.
    afterwards: [
      {
        argv: ['send', 'a', '--key', 'key 2', 'question 2'],
        check: (ended) => exits(ended, 0, 'echo: question 2\n'),
      },
      { argv: ['recover', '--all'], check: (ended) => exits(ended, 0) },
    ],
    *finally(home) {
      yield* upgradedOnce(home)
      yield* frozenWork(home)
      yield* allDone(home)
      yield* finallyHolds(home)
    },
  }
}

const none = (): Broken => []

export const UPGRADE: Scenario[] = [
  upgradeScenario(
    'send',
    ['send', 'a', '--key', 'new', 'hello'],
    (home, told) => replyIsKept(told, home.agent('a'), 'hello', 'echo: hello'),
    (home) => takenOnce(home.agent('a'), 'hello', 'echo: hello'),
  ),
  // Several agents are upgraded, one after the other.
  upgradeScenario('recover', ['recover', '--all'], none, none),
  upgradeScenario('deliver', ['deliver', '--all'], none, none),
  upgradeScenario(
    'set',
    ['set', 'lead', '--title', 'new'],
    function* (home, told) {
      if (/is changed/.test(told.stdout) && home.agent('lead')?.state.title !== 'new')
        yield 'an acknowledged change of an agent is there'
    },
    function* (home) {
      if (home.agent('lead')?.state.title !== 'new') yield 'the agent is changed'
    },
  ),
]
