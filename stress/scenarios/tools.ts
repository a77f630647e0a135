/** Turns that call tools: each effect happens once, or no result claims that it did. */
import type { HomeView } from '../support/home-view.js'
import { type Broken, replyIsKept, takenOnce } from '../support/promises.js'
import type { ScriptedEntry } from '../turns/agent.js'
import { calls, withScript } from './homes.js'
import { effect, effectsOf, effectsOnce, exits } from './promises.js'
import type { Scenario } from './scenario.js'

/** Too long for a record: the items of its response go to a blob. */
const LONG = 'because of this, and of that. '.repeat(3000)
const SAYS: ScriptedEntry = { say: 'all done' }

export const TOOLS: Scenario[] = [
  toolScenario('send-tool-read', [calls(['read_file', { path: 'missing.txt' }]), SAYS]),
  toolScenario('send-tool-shell', [calls(['shell', { command: effect() }]), SAYS], {
    programs: 'short',
    always: (home) => effectsOnce(home, 'a'),
  }),
  toolScenario(
    'send-tool-hung',
    [calls(['shell', { command: `${effect()}; sleep 0.4; ${effect('late')}` }]), SAYS],
    {
      programs: 'long',
      always: (home) => effectsOnce(home, 'a'),
      not: {
        powercut: 'no program outlives a power cut; the disks are those of send-tool-shell',
        faults: 'a command that meets a fault is not killed, and waits for its tool as in send-tool-shell',
      },
    },
  ),
  toolScenario('send-tool-reasoning', [
    {
      ...calls(['read_file', { path: 'missing.txt' }], ['set_metadata', { metadata: { progress: 'half' } }]),
      items: [{ reasoning: 'first' }, { reasoning: LONG }],
    },
    { ...calls(['read_file', { path: 'missing.txt' }]), items: [{ reasoning: 'again' }] },
    { ...SAYS, items: [{ reasoning: 'so' }] },
  ]),
  toolScenario('send-tool-write', [calls(['write_file', { path: 'written.txt', content: 'text' }]), SAYS]),
  toolScenario(
    'send-tools',
    [
      calls(['read_file', { path: 'missing.txt' }], ['shell', { command: effect() }], ['list_children', {}]),
      calls(['set_metadata', { metadata: { progress: 'half' } }]),
      SAYS,
    ],
    {
      programs: 'short',
      *always(home) {
        yield* effectsOnce(home, 'a')
        if (home.agent('a')?.state.metadata.progress !== 'half') yield 'the metadata is set'
      },
    },
  ),
  toolScenario(
    'send-tool-twice',
    [calls(['shell', { command: effect() }], ['shell', { command: effect('other') }]), SAYS],
    {
      programs: 'short',
      *always(home) {
        const effects = effectsOf(home.path)
        for (const name of ['done', 'other'])
          if (effects.filter((line) => line === name).length > 1) yield `the tool has its effect ${name} once`
      },
    },
  ),
  toolScenario(
    'send-tool-child',
    [calls(['spawn_agent', { name: 'kid' }], ['remind_me', { content: 'later', delay_seconds: 3600 }]), SAYS],
    {
      *always(home) {
        const kids = home.livingNamed('kid')
        if (kids.length !== 1) yield `spawn_agent creates one child, not ${kids.length}`
        const reminders = home.agent('a')?.state.reminders ?? []
        if (reminders.length !== 1) yield `remind_me sets one reminder, not ${reminders.length}`
      },
    },
  ),
]

interface Calling {
  programs?: 'short' | 'long'
  not?: Scenario['not']
  always?(home: HomeView): Broken
}

/**
 * If an external effect was interrupted, the operator decides. The same key, like `resume`, then continues the turn.
 */
function toolScenario(
  name: string,
  responses: ScriptedEntry[],
  { programs, always, not }: Calling = {},
): Scenario {
  const argv = ['send', 'a', '--key', 'k', 'go']
  return {
    name,
    argv,
    ...(programs === undefined ? {} : { programs }),
    ...(not === undefined ? {} : { not }),
    prepare: (stage) => withScript(stage, responses, '--allow', 'all'),
    *checkAcknowledged(told, home) {
      yield* replyIsKept(told, home.agent('a'), 'go', 'all done')
      const effects = effectsOf(home.path).filter((line) => line === 'done').length
      if (effects > 1) yield 'a tool has its effect once'
      if (effects > 0 && home.agent('a')?.records.some(({ kind }) => kind === 'tool.started') !== true)
        yield 'a tool that ran was recorded before it ran'
    },
    next: { argv, check: (ended) => exits(ended, 0, 'all done\n') },
    *finally(home) {
      yield* takenOnce(home.agent('a'), 'go', 'all done')
      yield* always?.(home) ?? []
    },
  }
}
