/** Agents that move: a whole tree is in a home, with its mail, or is not. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HomeView } from '../support/home-view.js'
import type { Broken } from '../support/promises.js'
import { withAgent } from './homes.js'
import { exits } from './promises.js'
import type { Scenario } from './scenario.js'
import type { Stage } from './stage.js'

const BUNDLE = 'moved.bundle'
const IMPORT = ['import', '--trust', BUNDLE, '--if-exists', 'use']

export const MOVES: Scenario[] = [
  exportMoveScenario(),
  importMoveScenario(),
  returningScenario(),
  reclaimScenario(),
  removingScenario(),
]

/** `a` with a child, and mail for both. */
async function withMovingTree(stage: Stage): Promise<undefined> {
  await withAgent(stage)
  await stage.do('spawn', '--name', 'below', '--parent', 'a', '--provider', 'scripted', 'hello')
  for (const agent of ['a', 'a/below']) {
    await stage.do('suspend', agent, '--hold')
    await stage.do('send', agent, '--queue', 'pending')
  }
  return undefined
}

/** The tree has left the home in a bundle. */
async function withMovedTree(stage: Stage): Promise<undefined> {
  await withMovingTree(stage)
  await stage.do('export', 'a', '--bundle', BUNDLE, '--move', '--tree')
  return undefined
}

/** The tree has left another home. A scenario has one home, so this one forgets the agents and gets another identity. */
async function withBundleFromElsewhere(stage: Stage): Promise<undefined> {
  await withMovedTree(stage)
  await stage.do('recover', '--all')
  await stage.do('remove', 'a', '--recursive')
  await stage.becomeAnother()
  return undefined
}

function logsAndSnapshots(home: string): string[] {
  const ids = readdirSync(join(home, 'agents'))
  return ids.flatMap((id) => ['events.jsonl', 'session.json'].map((name) => join('agents', id, name)))
}

/** All agents of the tree are open with their mail, or all are closed. */
function* movesAsOne(home: HomeView, isHere: boolean): Broken {
  for (const name of ['a', 'below']) {
    const open = home.livingNamed(name)
    if (open.length !== (isHere ? 1 : 0)) yield `${name} is ${isHere ? 'open' : 'closed'} here`
    if (isHere && open[0]?.pending.length !== 1) yield `${name} has its message`
  }
}

/** A tree leaves the home. After a kill the same command ends the move. */
function exportMoveScenario(): Scenario {
  const argv = ['export', 'a', '--bundle', BUNDLE, '--move', '--tree']
  return {
    name: 'export-move',
    argv,
    prepare: withMovingTree,
    *checkAcknowledged(told, home) {
      if (/moved 2 agents/.test(told.stdout)) yield* movesAsOne(home, false)
    },
    next: { argv, check: (ended) => exits(ended, 0) },
    finally: (home) => movesAsOne(home, false),
  }
}

/** A tree arrives from another home. After a kill the same command brings the agents that are missing. */
function importMoveScenario(): Scenario {
  return {
    name: 'import-move',
    argv: IMPORT,
    prepare: withBundleFromElsewhere,
    *checkAcknowledged(told, home) {
      if (told.stdout !== '') yield* movesAsOne(home, true)
    },
    next: { argv: IMPORT, check: (ended) => exits(ended, 0) },
    afterwards: [{ argv: ['import', '--trust', BUNDLE], check: (ended) => exits(ended, 13) }],
    finally: (home) => movesAsOne(home, true),
  }
}

/** The tree comes back to the home that it left: its logs are replaced by longer ones. */
function returningScenario(): Scenario {
  return {
    name: 'import-return',
    not: { postgres: 'it puts the files of the home back' },
    argv: IMPORT,
    async prepare(stage) {
      await withMovedTree(stage)
      await stage.do('recover', '--all')
      const left = ['home.json', ...logsAndSnapshots(stage.home)].map((path) => {
        const file = join(stage.home, path)
        return { file, bytes: readFileSync(file) }
      })
      await stage.becomeAnother()
      await stage.do('import', '--trust', BUNDLE)
      await stage.do('export', 'a', '--bundle', BUNDLE, '--move', '--tree')
      await stage.do('recover', '--all')
      for (const { file, bytes } of left) stage.put(file, bytes)
      return undefined
    },
    *checkAcknowledged(told, home) {
      if (told.stdout !== '') yield* movesAsOne(home, true)
    },
    next: { argv: IMPORT, check: (ended) => exits(ended, 0) },
    finally: (home) => movesAsOne(home, true),
  }
}

/** The tree is taken back, with its mail. */
function reclaimScenario(): Scenario {
  const argv = ['import', '--reclaim', 'a']
  return {
    name: 'import-reclaim',
    argv,
    prepare: withMovedTree,
    *checkAcknowledged(told, home) {
      if (told.stdout !== '') yield* movesAsOne(home, true)
    },
    next: { argv, check: (ended) => exits(ended, 0) },
    finally: (home) => movesAsOne(home, true),
  }
}

/** Agents that came by a move are removed. The move does not bring them again. */
function removingScenario(): Scenario {
  const argv = ['remove', 'a', '--recursive']
  return {
    name: 'remove-moved',
    argv,
    removes: ['a', 'below'],
    faults: { isForEach: true },
    async prepare(stage) {
      await withBundleFromElsewhere(stage)
      await stage.do('import', '--trust', BUNDLE)
      await stage.do('terminate', 'a', '--recursive')
      await stage.do('recover', '--all')
      return undefined
    },
    checkAcknowledged: () => [],
    // The name of a removed agent no longer resolves.
    next: { argv, check: (ended) => exits(ended, [0, 3]) },
    afterwards: [{ argv: ['import', '--trust', BUNDLE], check: (ended) => exits(ended, 13) }],
    *finally(home) {
      for (const name of ['a', 'below']) if (home.agent(name) !== undefined) yield `${name} is gone`
    },
  }
}
