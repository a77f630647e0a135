/** Errors of schedules. */
import { limits } from '../../src/limits.js'
import type { House } from '../../test/support/cli.js'
import { cutShort, ended, gated, row, usage, waiting, worker } from './setups.js'
import type { History } from './walk.js'

const ADD = 'schedule add a'

const daily = (house: House): Promise<unknown> =>
  house.ok('schedule', 'add', 'a', '0 7 * * *', 'go', '--name', 'daily')

const withDaily =
  (prepare: (house: House) => Promise<unknown>) =>
  async (house: House): Promise<void> => {
    await prepare(house)
    await daily(house)
  }

const crowded = async (house: House): Promise<void> => {
  await worker(house)
  for (let n = 0; n < limits.schedulesMax; n++) await house.ok('schedule', 'add', 'a', '0 7 * * *', `go ${n}`)
}

const endedDaily = async (house: House): Promise<void> => {
  await worker(house)
  await daily(house)
  await house.ok('terminate', 'a')
}

export const SCHEDULES: History[] = [
  usage('an interval does not divide its unit', [`${ADD} 'every 61m' go`]),
  usage('a calendar has a minute 61', [`${ADD} '61 * * * *' go`]),
  usage('a calendar never matches', [`${ADD} '0 0 30 2 *' go`]),
  usage('a calendar has six fields', [`${ADD} '* * * * * *' go`]),
  usage('the first slot is after --until', [`${ADD} '0 7 1 1 *' go --until 1m`]),
  usage('a time zone does not exist', [`${ADD} '0 7 * * *' go --tz Europe/Berlim`]),
  usage('a jitter is longer than the time between two slots', [`${ADD} 'every 1m' go --jitter 5m`]),
  usage('a schedule cannot have this name', [`${ADD} 'every 1m' go --name a/b`]),
  usage('an agent has no schedules', ['schedule show a daily']),
  usage('an agent has no schedule of this name', ['schedule pause a weekly', 'schedule pause a daily'], {
    prepare: withDaily(worker),
  }),
  row('QUEUE_FULL', 'an agent has too many schedules', `${ADD} 'every 1m' one-more`, {
    prepare: crowded,
    isMended: true,
  }),
  row('SESSION_STATE', 'a terminated agent is to have a schedule', "schedule add ID '0 7 * * *' go", {
    prepare: ended,
  }),
  row('SESSION_STATE', 'the schedule of a terminated agent is to be changed', 'schedule pause ID daily', {
    prepare: endedDaily,
  }),
  row('GATED', 'the message of a schedule is for a gated agent', 'schedule run-now a daily', {
    prepare: withDaily(gated),
  }),
  row('SESSION_STATE', 'the message of a schedule is for a terminated agent', 'schedule run-now ID daily', {
    prepare: endedDaily,
  }),
  row('WAITING', 'the message of a schedule comes while a turn waits', 'schedule run-now a daily', {
    prepare: withDaily((house) => waiting(house)),
  }),
  row(
    'INTERRUPTED',
    'the message of a schedule comes after a call of unknown outcome',
    'schedule run-now a daily',
    {
      prepare: withDaily(cutShort),
    },
  ),
]
