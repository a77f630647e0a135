/** Schedules: the old one or the new one, and each slot once, with its turn. */
import { clock } from '../../src/clock.js'

import { openForAppend } from '../../src/session/session.js'
import { openOrCreateHome } from '../../src/storage/open.js'
import { resolveAgent } from '../../src/tree/names.js'
import { accountsOf } from '../schedules/account.js'
import type { HomeView } from '../support/home-view.js'
import type { Broken } from '../support/promises.js'
import { withAgent } from './homes.js'
import { exits } from './promises.js'
import type { Scenario } from './scenario.js'
import type { Stage } from './stage.js'

const HOUR_MS = 3600 * 1000

export const SCHEDULES: Scenario[] = [
  addScenario('schedule-add', undefined),
  addScenario('schedule-add-replaces', 'earlier'),
  slotScenario('deliver-slots', ['deliver', '--all']),
  slotScenario('schedule-remove', ['schedule', 'remove', 'a', 'hourly'], 2),
]

function addScenario(name: string, before: string | undefined): Scenario {
  const add = (content: string): string[] => [
    'schedule',
    'add',
    'a',
    '0 7 * * *',
    content,
    '--name',
    'daily',
    '--tz',
    'UTC',
  ]
  const argv = add('later')
  const isSet = (home: HomeView): boolean =>
    home.agent('a')?.state.schedules?.some(({ content }) => content === 'later') === true
  return {
    name,
    argv,
    async prepare(stage) {
      await withAgent(stage)
      if (before !== undefined) await stage.do(...add(before))
      return undefined
    },
    *checkAcknowledged(told, home) {
      if (/next slot/.test(told.stdout) && !isSet(home)) yield 'an acknowledged schedule is there'
    },
    next: { argv, check: (ended) => exits(ended, 0) },
    *finally(home) {
      const { schedules = [] } = home.agent('a')?.state ?? {}
      if (schedules.length !== 1 || !isSet(home))
        yield `there are ${schedules.length} schedules, not the new one alone`
      yield* eachSlotOnce(home)
    },
  }
}

/** The slots of three hours are due. `again`: the exit status of the command when it has nothing left to do. */
function slotScenario(name: string, argv: string[], again = 0): Scenario {
  return {
    name,
    argv,
    prepare: withDueSlots,
    checkAcknowledged: () => [],
    next: { argv, check: (ended) => exits(ended, [0, again]) },
    afterwards: [{ argv: ['deliver', '--all'], check: (ended) => exits(ended, 0) }],
    finally: eachSlotOnce,
  }
}

/** No command can set a schedule in the past. */
async function withDueSlots(stage: Stage): Promise<undefined> {
  await withAgent(stage)
  await stage.do('schedule', 'add', 'a', '0 7 * * *', 'other', '--name', 'daily', '--tz', 'UTC')
  await stage.act(async () => {
    const store = openOrCreateHome(stage.home)
    const session = await openForAppend(store, resolveAgent(store, 'a'), { command: 'stress', waitMs: 0 })
    const now = clock.now()
    const first = new Date(now - (now % HOUR_MS) - 2 * HOUR_MS).toISOString()
    const set = { schedule_id: SLOTS_ID, name: 'hourly', when: 'every 1h', calendar: '0 * * * *' }
    const rules = { every_ms: HOUR_MS, missed: 'once' as const, overlap: 'skip' as const }
    session.append([
      { kind: 'schedule.set', ...set, time_zone: 'UTC', content: 'slot', next_at: first, ...rules },
    ])
    await session.close(() => true)
  })
}

const SLOTS_ID = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'

function* eachSlotOnce(home: HomeView): Broken {
  const records = home.agent('a')?.records ?? []
  for (const { name, faults, ran, skipped, missed } of accountsOf(records)) {
    for (const fault of faults) yield `each slot is accounted for once: ${name}: ${fault}`
    if (name === 'hourly' && ran + skipped + missed < 3)
      yield `the due slots are accounted for: ${ran} ran, ${skipped} skipped, ${missed} missed`
  }
}
