/** Settings of an agent and of the home: the old ones or the new ones, whole. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HomeView } from '../support/home-view.js'
import { LARGE, withAgent } from './homes.js'
import { exits } from './promises.js'
import type { Scenario } from './scenario.js'

export const SETTINGS: Scenario[] = [
  setting(),
  configuring('config-set', '2'),
  configuring('config-set-first', undefined),
]

function setting(): Scenario {
  const argv = ['set', 'a', '--title', 'new', '--model', 'other', '--system', LARGE]
  const isSet = (home: HomeView): boolean => {
    const { title, model } = home.agent('a')?.state ?? {}
    return title === 'new' && model === 'other'
  }
  return {
    name: 'set',
    argv,
    prepare: (stage) => withAgent(stage),
    *acknowledged(told, home) {
      if (/is changed/.test(told.stdout) && !isSet(home)) yield 'an agent that was said to be changed is'
    },
    next: { argv, check: (ended) => exits(ended, 0) },
    *finally(home) {
      if (!isSet(home)) yield 'the agent is changed'
    },
  }
}

/** `before`: the setting that is there already. */
function configuring(name: string, before: string | undefined): Scenario {
  const argv = ['config', 'set', 'slots_max', '8']
  return {
    name,
    argv,
    faults: { isKilled: true },
    // The file is written by a thread of a pool: it is always the same one.
    env: { UV_THREADPOOL_SIZE: '1' },
    async prepare(stage) {
      await withAgent(stage)
      if (before !== undefined) await stage.do('config', 'set', 'slots_max', before)
      return undefined
    },
    *acknowledged(told, home) {
      if (slotsIn(home) !== '8' && slotsIn(home) !== String(before))
        yield `a setting is the old one or the new one, not ${slotsIn(home)}`
      if (/is 8/.test(told.stdout) && slotsIn(home) !== '8') yield 'a setting that was said to be so is'
    },
    next: { argv, check: (ended) => exits(ended, 0) },
    *finally(home) {
      if (slotsIn(home) !== '8') yield 'the setting is changed'
    },
  }
}

function slotsIn({ path }: HomeView): string {
  const file = join(path, 'config.json')
  try {
    return String(JSON.parse(existsSync(file) ? readFileSync(file, 'utf8') : '{}').slots_max)
  } catch {
    return 'half a file'
  }
}
