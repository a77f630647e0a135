/** Settings of an agent and of the home: the old ones or the new ones, never a mix. */
import { openHome } from '../../src/storage/open.js'
import type { HomeView } from '../support/home-view.js'
import { LARGE, withAgent } from './homes.js'
import { exits } from './promises.js'
import type { Scenario } from './scenario.js'

export const SETTINGS: Scenario[] = [
  setScenario(),
  compactScenario(),
  configScenario('config-set', '2'),
  configScenario('config-set-first', undefined),
]

function setScenario(): Scenario {
  const argv = ['set', 'a', '--title', 'new', '--model', 'other', '--system', LARGE]
  const isSet = (home: HomeView): boolean => {
    const { title, model } = home.agent('a')?.state ?? {}
    return title === 'new' && model === 'other'
  }
  return {
    name: 'set',
    argv,
    prepare: (stage) => withAgent(stage),
    *checkAcknowledged(told, home) {
      if (/is changed/.test(told.stdout) && !isSet(home)) yield 'an acknowledged change of an agent is there'
    },
    next: { argv, check: (ended) => exits(ended, 0) },
    *finally(home) {
      if (!isSet(home)) yield 'the agent is changed'
    },
  }
}

/** The conversation is the whole one or the shorter one. A repeated command leaves out nothing more. */
function compactScenario(): Scenario {
  const argv = ['compact', 'a']
  const count = (home: HomeView): number =>
    home.agent('a')?.records.filter(({ kind }) => kind === 'context.compacted').length ?? 0
  return {
    name: 'compact',
    argv,
    async prepare(stage) {
      await withAgent(stage)
      await stage.do('send', 'a', 'again')
      await stage.do('recover', '--all')
      return undefined
    },
    *checkAcknowledged(told, home) {
      if (/are left out/.test(told.stdout) && count(home) !== 1)
        yield 'an acknowledged shorter conversation is there'
    },
    next: { argv, check: (ended) => exits(ended, 0) },
    *finally(home) {
      if (count(home) !== 1) yield `the conversation was compacted once, not ${count(home)} times`
    },
  }
}

/** `before` is the existing setting. */
function configScenario(name: string, before: string | undefined): Scenario {
  const argv = ['config', 'set', 'slots_max', '8']
  return {
    name,
    argv,
    faults: { isKilled: true },
    // A thread of the pool writes the file. With one thread it is always the same.
    env: { UV_THREADPOOL_SIZE: '1' },
    async prepare(stage) {
      await withAgent(stage)
      if (before !== undefined) await stage.do('config', 'set', 'slots_max', before)
      return undefined
    },
    *checkAcknowledged(told, home) {
      if (slotsIn(home) !== '8' && slotsIn(home) !== String(before))
        yield `a setting is the old one or the new one, not ${slotsIn(home)}`
      if (/is set to 8/.test(told.stdout) && slotsIn(home) !== '8') yield 'an acknowledged setting is there'
    },
    next: { argv, check: (ended) => exits(ended, 0) },
    *finally(home) {
      if (slotsIn(home) !== '8') yield 'the setting is changed'
    },
  }
}

function slotsIn({ path }: HomeView): string {
  try {
    return String(JSON.parse(openHome(path)?.readConfig()?.toString() ?? '{}').slots_max)
  } catch {
    return 'half a file'
  }
}
