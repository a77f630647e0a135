/** Gates, forks and removals: done or not done, with an intact tree either way. */
import { viewUsage } from '../../src/operations/usage.js'
import { openHome } from '../../src/storage/open.js'
import type { HomeView } from '../support/home-view.js'
import { nothingPending } from '../support/promises.js'
import { calls, LARGE, withAgent, withFamily, withScript } from './homes.js'
import { answeredByMail, exits } from './promises.js'
import type { Scenario } from './scenario.js'

const TASK = { from: 'lead', to: 'kid', content: 'task', answer: 'kid did it' }

export const TREE: Scenario[] = [
  gateScenario(),
  ungateScenario(),
  forkScenario(),
  importScenario(),
  removeScenario('remove', ['remove', 'a']),
  removeScenario('remove-child', ['remove', 'stays/below']),
  removeScenario('remove-recursive', ['remove', 'lead', '--recursive']),
  removeScenario('prune', ['prune', '--older-than', '1ms']),
]

function gateScenario(): Scenario {
  const argv = ['gate', 'kid']
  const isGated = (home: HomeView): boolean => home.agent('kid')?.state.gate.isGated === true
  return {
    name: 'gate',
    argv,
    async prepare(stage) {
      await withFamily(stage)
      await stage.do('send', 'kid', 'earlier')
      return undefined
    },
    *checkAcknowledged(told, home) {
      if (/is gated/.test(told.stdout) && !isGated(home)) yield 'an agent reported as gated is'
    },
    next: { argv, check: (ended) => exits(ended, 0) },
    *finally(home) {
      if (!isGated(home)) yield 'the agent is gated'
      yield* nothingPending(home)
    },
  }
}

/** The mail that was pending meanwhile is delivered. */
function ungateScenario(): Scenario {
  return {
    name: 'ungate',
    argv: ['ungate', 'kid'],
    async prepare(stage) {
      await withFamily(stage, { kid: [{ say: TASK.answer }] })
      await stage.do('gate', 'kid')
      await stage.do('send', 'kid', '--from', 'lead', TASK.content)
      return undefined
    },
    *checkAcknowledged(told, home) {
      if (/is ungated/.test(told.stdout) && home.agent('kid')?.state.gate.isGated === true)
        yield 'an agent reported as ungated is'
    },
    next: { argv: ['ungate', 'kid'], check: (ended) => exits(ended, 0) },
    afterwards: [{ argv: ['deliver', '--all'], check: (ended) => exits(ended, 0) }],
    *finally(home) {
      yield* answeredByMail(home, TASK)
      yield* nothingPending(home)
    },
  }
}

function forkScenario(): Scenario {
  const argv = ['fork', 'a', '--name', 'b']
  return {
    name: 'fork',
    argv,
    async prepare(stage) {
      await withScript(stage, [
        { ...calls(['read_file', { path: 'missing.txt' }]), items: [{ reasoning: LARGE }] },
        { say: 'it is missing' },
        { say: 'still missing' },
      ])
      await stage.do('send', 'a', LARGE)
      return undefined
    },
    *checkAcknowledged(told, home) {
      const id = told.stdout.trim()
      if (id !== '' && home.agent(id) === undefined) yield `the agent ${id} was acknowledged and is on disk`
    },
    // Refused if the first attempt already took the name.
    next: { argv, check: (ended) => exits(ended, [0, 13]) },
    // The model gives this reply only if the fork has every response of the conversation.
    afterwards: [
      { argv: ['send', 'b', '--key', 'k', 'go on'], check: (ended) => exits(ended, 0, 'still missing\n') },
    ],
    *finally(home) {
      const made = home.livingNamed('b')
      if (made.length !== 1) yield `one agent has the name, not ${made.length}`
      if (made[0]?.records.some(({ kind }) => kind === 'session.seeded') !== true)
        yield 'a fork has the conversation that it continues'
    },
  }
}

/** A tree of two, copied. After a kill the same command creates the agents that are missing. */
function importScenario(): Scenario {
  const argv = ['import', 'a.bundle', '--name', 'copy']
  return {
    name: 'import',
    argv,
    async prepare(stage) {
      await withAgent(stage)
      await stage.do('send', 'a', LARGE)
      await stage.do('spawn', '--name', 'below', '--parent', 'a', '--provider', 'scripted', 'hello')
      await stage.do('export', 'a', '--bundle', 'a.bundle', '--tree')
      return undefined
    },
    *checkAcknowledged(told, home) {
      for (const id of told.stdout.trim().split('\n'))
        if (id !== '' && home.agent(id) === undefined) yield `the agent ${id} was acknowledged and is on disk`
    },
    next: { argv, check: (ended) => exits(ended, [0]) },
    *finally(home) {
      for (const name of ['copy', 'below']) {
        const made = home
          .livingNamed(name)
          .filter(({ records }) => records.some(({ kind }) => kind === 'session.imported'))
        if (made.length !== 1) yield `there is one copy named ${name}, not ${made.length}`
      }
    },
  }
}

/** A removed agent is gone with all its data. If the command dies first, the next one removes it. */
/** The total of `usage --all`, which counts removed agents. */
function usedIn(home: string): string {
  const { total } = viewUsage(openHome(home), { all: true, since: null, by: 'agent' })
  return JSON.stringify(total, Object.keys(total).sort())
}

function removeScenario(name: string, argv: string[]): Scenario {
  const doomed = ['a', 'lead', 'kid']
  const isChild = name === 'remove-child'
  const removed =
    name === 'remove' ? ['a'] : isChild ? ['below'] : name === 'prune' ? doomed : ['lead', 'kid']
  return {
    name,
    argv,
    removes: removed,
    faults: { isForEach: true },
    async prepare(stage) {
      await withAgent(stage)
      await withFamily(stage)
      await stage.do('spawn', '--name', 'stays', ...stage.script([]))
      await stage.do('send', 'a', 'spend')
      await stage.do('terminate', 'a')
      await stage.do('terminate', 'lead', '--recursive')
      // Its parent lives, and keeps an index of its children.
      if (isChild) await stage.do('spawn', '--parent', 'stays', '--name', 'below', ...stage.script([]))
      if (isChild) await stage.do('terminate', 'stays/below')
      return { used: usedIn(stage.home) }
    },
    *always(home, { used }) {
      if (usedIn(home) !== used) yield `usage --all says ${usedIn(home)}, and before the removal ${used}`
    },
    *checkAcknowledged(told, home) {
      for (const each of removed)
        if (
          new RegExp(`^(lead/|stays/)?${each} is removed`, 'm').test(told.stdout) &&
          home.agent(each) !== undefined
        )
          yield `the agent ${each} was reported as removed and is`
    },
    // The name of a removed agent no longer resolves.
    next: { argv, check: (ended) => exits(ended, [0, 3]) },
    *finally(home) {
      for (const each of removed) if (home.agent(each) !== undefined) yield `${each} is gone`
      for (const each of [...doomed, 'stays'].filter((other) => !removed.includes(other)))
        if (home.agent(each) === undefined) yield `${each} still exists`
    },
  }
}
