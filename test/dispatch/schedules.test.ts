/** The fate of slots: which run, which are skipped or missed, and why. The calendar is hourly, in UTC. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Cron } from 'croner'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { clock } from '../../src/clock.js'
import { configure } from '../../src/operations/configure.js'
import { decide } from '../../src/operations/decide.js'
import { deliver } from '../../src/operations/deliver.js'
import { setGate } from '../../src/operations/gate.js'
import { queue } from '../../src/operations/message/queue.js'
import { resume } from '../../src/operations/resume.js'
import { changeSchedule } from '../../src/operations/schedule/change.js'
import { suspend } from '../../src/operations/stop-agent.js'
import { terminate } from '../../src/operations/terminate.js'
import { deriveId } from '../../src/session/ids.js'
import { openForRead } from '../../src/session/load.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { accountsOf } from '../../stress/schedules/account.js'
import { contextAt } from '../support/contexts.js'
import { sendRequest } from '../support/send-request.js'
import { newAgent, recordsOf, reopen, startedRun } from '../support/sessions.js'
import { tempDirectory, tempStore } from '../support/temp.js'
import { messagesIn, scheduled, setTime, slotsIn, tickAt } from '../support/ticks.js'

const DAY = '2026-11-20T'
const at = (time: string): string => `${DAY}${time}:00.000Z`

let store: FileStore
let id: string

beforeEach(async () => {
  store = tempStore()
  setTime(at('09:30'))
  id = await newAgent(store, { name: 'report' })
})

function expectEachSlotOnce(): void {
  for (const { faults } of accountsOf(recordsOf(store, id))) expect(faults).toEqual([])
}

test('a slot runs at the first tick after it, and once', async () => {
  await scheduled(store, id)
  await tickAt(store, at('09:59'))
  expect(slotsIn(store, id)).toEqual([])
  await tickAt(store, at('10:00'))
  await tickAt(store, at('10:01'))
  await tickAt(store, at('10:59'))
  expect(slotsIn(store, id)).toEqual(['ran 10:00'])
  await tickAt(store, at('11:00'))
  expect(slotsIn(store, id)).toEqual(['ran 10:00', 'ran 11:00'])
  expectEachSlotOnce()
})

test('the id of the message follows from the schedule and the slot', async () => {
  const schedule = await scheduled(store, id)
  await tickAt(store, at('10:00'))
  expect(messagesIn(store, id)).toMatchObject([
    {
      message_id: deriveId(schedule, at('10:00')),
      schedule_id: schedule,
      content: 'go',
      sent_at: at('10:00'),
    },
  ])
})

test('each slot has a turn of its own, beside those of other schedules and of mail', async () => {
  await scheduled(store, id)
  await scheduled(store, id, { name: 'other', content: 'look' })
  setTime(at('10:00'))
  queue(contextAt(store).ctx, sendRequest(id, { isQueued: true, kind: 'notification' }))
  await tickAt(store, at('10:00'))
  const runs = messagesIn(store, id).map(({ run_id }) => run_id)
  expect(new Set(runs).size).toBe(3)
  expectEachSlotOnce()
})

test('two tickers at once run the slot once', async () => {
  await scheduled(store, id)
  await Promise.all([tickAt(store, at('10:00')), tickAt(store, at('10:00'))])
  expect(slotsIn(store, id)).toEqual(['ran 10:00'])
})

describe('after hours without a tick', () => {
  test('once runs the last slot, and its message names the others', async () => {
    await scheduled(store, id, { missed: 'once' })
    await tickAt(store, at('13:20'))
    expect(slotsIn(store, id)).toEqual(['missed 10:00-12:00 3 late', 'ran 13:00'])
    expect(messagesIn(store, id)).toMatchObject([
      {
        content: expect.stringMatching(
          /^go\n\n\[3 times of this schedule were missed, .*: 2026-11-20 10:00:00Z, 2026-11-20 11:00:00Z, 2026-11-20 12:00:00Z\]$/,
        ),
      },
    ])
    expectEachSlotOnce()
  })

  test('skip runs none of them, and the next one on time', async () => {
    await scheduled(store, id, { missed: 'skip' })
    await tickAt(store, at('13:20'))
    expect(slotsIn(store, id)).toEqual(['missed 10:00-13:00 4 late'])
    await tickAt(store, at('14:01'))
    expect(slotsIn(store, id)).toEqual(['missed 10:00-13:00 4 late', 'ran 14:00'])
    expect(messagesIn(store, id)).toMatchObject([{ content: 'go' }])
    expectEachSlotOnce()
  })

  test('skip runs the last slot if it is on time', async () => {
    await scheduled(store, id, { missed: 'skip' })
    await tickAt(store, at('13:02'))
    expect(slotsIn(store, id)).toEqual(['missed 10:00-12:00 3 late', 'ran 13:00'])
    expect(messagesIn(store, id)).toMatchObject([{ content: 'go' }])
  })

  test('all runs each of them, in order', async () => {
    await scheduled(store, id, { missed: 'all' })
    await tickAt(store, at('13:20'))
    expect(slotsIn(store, id)).toEqual(['ran 10:00', 'ran 11:00', 'ran 12:00', 'ran 13:00'])
    expectEachSlotOnce()
  })

  test('all makes one turn of more than 100 slots', async () => {
    await scheduled(store, id, { missed: 'all' })
    await tickAt(store, '2026-11-27T09:30:00.000Z')
    const [missed, ran, ...others] = slotsIn(store, id)
    expect([missed, ran, others]).toEqual(['missed 10:00-08:00 167 late', 'ran 09:00', []])
    expectEachSlotOnce()
  })

  test('a minute schedule that slept for a year is two records', async () => {
    await scheduled(store, id, { when: 'every 1m', zone: 'Europe/Berlin' })
    await tickAt(store, '2027-11-20T09:30:00.000Z')
    expect(slotsIn(store, id)).toEqual(['missed 09:31-09:29 525599 late', 'ran 09:30'])
  })
})

describe('while the turn of an earlier slot waits for approval', () => {
  async function waiting(overlap: 'skip' | 'queue'): Promise<void> {
    const call = { tools: [{ name: 'shell', input: { command: 'true' } }] }
    const file = join(tempDirectory(), 'scenario.json')
    writeFileSync(file, JSON.stringify({ responses: [call, { say: 'done' }] }))
    id = await newAgent(store, { name: 'asker', options: { scenario: file } })
    await scheduled(store, id, { overlap })
    await tickAt(store, at('10:00'))
    await tickAt(store, at('11:00'))
    await tickAt(store, at('12:30'))
    expect(slotsIn(store, id)).toEqual(['ran 10:00'])
    setTime(at('12:40'))
    const { ctx } = contextAt(store)
    await decide(
      ctx,
      { agentId: id, token: null, tokenId: null, decision: 'deny', text: '' } as never,
      () => undefined,
    )
  }

  test('slots are skipped with overlap skip, in one record', async () => {
    await waiting('skip')
    expect(slotsIn(store, id)).toEqual(['ran 10:00', 'skipped 11:00-12:00 2 overlap'])
    await tickAt(store, at('13:00'))
    expect(slotsIn(store, id)).toEqual(['ran 10:00', 'skipped 11:00-12:00 2 overlap', 'ran 13:00'])
    expectEachSlotOnce()
  })

  test('with overlap queue, one turn follows for all of them', async () => {
    await waiting('queue')
    await tickAt(store, at('12:41'))
    expect(slotsIn(store, id)).toEqual(['ran 10:00', 'missed 11:00-11:00 1 busy', 'ran 12:00'])
    expectEachSlotOnce()
  })
})

test('a turn that died with its process does not hide the slots of the week until it continues', async () => {
  const schedule_id = await scheduled(store, id)
  setTime(at('10:00'))
  const session = await reopen(store, id)
  const run_id = deriveId(id, 'run')
  const message_id = deriveId(schedule_id, at('10:00'))
  session.append([
    { kind: 'session.activated', boot_id: 'b' },
    { ...startedRun(run_id), origin: 'mail' },
    ...([
      {
        kind: 'mail.delivered',
        run_id,
        message_id,
        from: id,
        mail_kind: 'notification',
        content: 'go',
        sent_at: at('10:00'),
        schedule_id,
      },
    ] as const),
    {
      kind: 'schedule.fired',
      schedule_id,
      name: 'hourly',
      run_id,
      message_id,
      due_at: at('10:00'),
      next_at: at('11:00'),
    },
  ])
  await session.abandon()
  await tickAt(store, at('14:30'))
  expect(slotsIn(store, id)).toEqual(['ran 10:00', 'missed 11:00-13:00 3 late', 'ran 14:00'])
  expect(openForRead(store, id)?.state.schedules?.[0]?.recent).toMatchObject([
    { outcome: 'ran', status: 'completed' },
    { outcome: 'missed', count: 3 },
    { outcome: 'ran', status: 'completed' },
  ])
  expectEachSlotOnce()
})

test('missed slots are one event for the targets of notify, in the batch of their record', async () => {
  await scheduled(store, id)
  setTime(at('13:20'))
  const rule = {
    target: 'me',
    covers: (_: string, event: string) => event === 'missed',
    lifetimeMs: () => 1000,
  }
  const { ctx } = contextAt(store, {
    outbound: {
      rules: [rule],
      secrets: {},
      wake: () => undefined,
      untilSent: async () => undefined,
    } as never,
  })
  await deliver(ctx, { all: true, agentIds: [] }, () => undefined)
  const records = recordsOf(store, id)
  const queued = records.filter((record) => record.kind === 'outbound.queued')
  expect(queued).toMatchObject([
    {
      event: 'missed',
      content:
        'report missed 3 slots of its schedule hourly (2026-11-20 10:00:00Z to 2026-11-20 12:00:00Z): no command came in time.\nsubstrat schedule show report hourly',
      batch: records.find(({ kind }) => kind === 'schedule.missed')?.batch,
    },
  ])
})

describe('slots that something prevents are one record when it ends', () => {
  test('a gate', async () => {
    await scheduled(store, id)
    await setGate(contextAt(store).ctx, id, 'gate')
    for (const time of ['10:00', '11:00', '12:10']) await tickAt(store, at(time))
    expect(slotsIn(store, id)).toEqual([])
    await setGate(contextAt(store).ctx, id, 'ungate')
    expect(slotsIn(store, id)).toEqual(['skipped 10:00-12:00 3 gated'])
    await tickAt(store, at('13:00'))
    expect(slotsIn(store, id)).toEqual(['skipped 10:00-12:00 3 gated', 'ran 13:00'])
    expectEachSlotOnce()
  })

  test('a hold', async () => {
    await scheduled(store, id)
    await suspend(contextAt(store).ctx, id, true)
    await tickAt(store, at('11:10'))
    await resume(contextAt(store).ctx, id, { reseed: false }, () => undefined)
    expect(slotsIn(store, id)).toEqual(['skipped 10:00-11:00 2 hold'])
    expectEachSlotOnce()
  })

  test('a pause, although the agent is gated too', async () => {
    await scheduled(store, id)
    await changeSchedule(contextAt(store).ctx, id, 'hourly', 'paused')
    await setGate(contextAt(store).ctx, id, 'gate')
    await tickAt(store, at('11:10'))
    await setGate(contextAt(store).ctx, id, 'ungate')
    expect(slotsIn(store, id)).toEqual([])
    await changeSchedule(contextAt(store).ctx, id, 'hourly', 'resumed')
    expect(slotsIn(store, id)).toEqual(['skipped 10:00-11:00 2 paused'])
    await tickAt(store, at('12:00'))
    expect(slotsIn(store, id)).toEqual(['skipped 10:00-11:00 2 paused', 'ran 12:00'])
    expectEachSlotOnce()
  })
})

test('slots while a turn waits for its budget are skipped for it', async () => {
  await scheduled(store, id)
  await configure(contextAt(store).ctx, id, { budget: [{ unit: 'turns', max: 1, per: 'day' }] })
  for (const time of ['10:00', '11:00', '12:00', '15:30']) await tickAt(store, at(time))
  expect(slotsIn(store, id)).toEqual(['ran 10:00', 'ran 11:00'])
  await tickAt(store, '2026-11-21T00:00:30.000Z')
  expect(slotsIn(store, id)).toEqual(['ran 10:00', 'ran 11:00', 'skipped 12:00-00:00 13 budget'])
  expectEachSlotOnce()
})

test('a schedule that is replaced while a slot is due skips it, and the new one begins with its next slot', async () => {
  const old = await scheduled(store, id)
  setTime(at('10:00'))
  const changed = await scheduled(store, id, { content: 'go on' })
  expect(changed).not.toBe(old)
  expect(slotsIn(store, id)).toEqual(['skipped 10:00-10:00 1 replaced'])
  await tickAt(store, at('11:00'))
  expect(messagesIn(store, id)).toMatchObject([{ content: 'go on', schedule_id: changed }])
  expectEachSlotOnce()
})

test('a removed schedule skips its due slots and has no more', async () => {
  await scheduled(store, id)
  setTime(at('10:30'))
  await changeSchedule(contextAt(store).ctx, id, 'hourly', 'removed')
  await tickAt(store, at('11:00'))
  expect(slotsIn(store, id)).toEqual(['skipped 10:00-10:00 1 removed'])
  expect(openForRead(store, id)?.state.schedules).toBeUndefined()
})

test('a terminated agent skips its due slots and has no more', async () => {
  await scheduled(store, id)
  setTime(at('10:30'))
  await terminate(contextAt(store).ctx, id, false, () => undefined)
  await tickAt(store, at('11:00'))
  expect(slotsIn(store, id)).toEqual(['skipped 10:00-10:00 1 terminated'])
})

test('a clock that goes back runs no slot again', async () => {
  await scheduled(store, id)
  await tickAt(store, at('10:00'))
  await tickAt(store, at('11:00'))
  for (const time of ['09:40', '10:00', '10:40', '11:00', '11:30']) await tickAt(store, at(time))
  expect(slotsIn(store, id)).toEqual(['ran 10:00', 'ran 11:00'])
  await tickAt(store, at('12:00'))
  expect(slotsIn(store, id)).toEqual(['ran 10:00', 'ran 11:00', 'ran 12:00'])
  expectEachSlotOnce()
})

test('a clock that was ahead for a while runs its slots once, and none of them after it is right', async () => {
  await scheduled(store, id)
  await tickAt(store, at('15:00'))
  for (const time of ['10:00', '11:00', '14:00', '15:00']) await tickAt(store, at(time))
  expect(slotsIn(store, id)).toEqual(['missed 10:00-14:00 5 late', 'ran 15:00'])
  await tickAt(store, at('16:00'))
  expectEachSlotOnce()
})

test('no slot is later than --until, and the schedule then has ended', async () => {
  await scheduled(store, id, { until: at('11:30') })
  await tickAt(store, at('10:00'))
  await tickAt(store, at('15:00'))
  expect(slotsIn(store, id)).toEqual(['ran 10:00', 'ran 11:00'])
  expect(openForRead(store, id)?.state.schedules).toMatchObject([{ next_at: null }])
  expect(store.visits.isMarked(id)).toBe(false)
})

test('the jitter of a slot is always the same, and shorter than it may be', async () => {
  await scheduled(store, id, { jitter_ms: 600_000 })
  const copy = openForRead(store, id)?.state.schedules?.[0]
  await tickAt(store, at('10:10'))
  expect(slotsIn(store, id)).toEqual(['ran 10:00'])
  expect(copy?.jitter_ms).toBe(600_000)
  await tickAt(store, at('11:00'))
  await tickAt(store, at('14:00'))
  await tickAt(store, at('14:10'))
  expectEachSlotOnce()
  expect(slotsIn(store, id).at(-1)).toBe('ran 14:00')
})

test('a command whose turn lasts longer than the time between two slots ends', async () => {
  await scheduled(store, id, { when: 'every 1m', overlap: 'queue' })
  setTime(at('09:31'))
  let now = clock.now()
  clock.now = () => {
    now += 10_000
    return now
  }
  await deliver(contextAt(store).ctx, { all: true, agentIds: [] }, () => undefined)
  expect(slotsIn(store, id).filter((slot) => slot.startsWith('ran')).length).toBeLessThan(4)
  expectEachSlotOnce()
})

describe('a slot whose jitter has not passed is recorded as skipped', () => {
  const jitter = { jitter_ms: 50 * 60_000 }
  const skipped = (why: string): string[] => [`skipped 10:00-10:00 1 ${why}`]

  /** At 10:00:00, the jitter of every slot is still to pass. */
  beforeEach(async () => {
    await scheduled(store, id, jitter)
    await tickAt(store, at('10:00'))
    expect(slotsIn(store, id)).toEqual([])
  })

  test('when its schedule is removed', async () => {
    await changeSchedule(contextAt(store).ctx, id, 'hourly', 'removed')
    expect(slotsIn(store, id)).toEqual(skipped('removed'))
    expectEachSlotOnce()
  })

  test('when its schedule is replaced', async () => {
    await scheduled(store, id, { ...jitter, content: 'go on' })
    expect(slotsIn(store, id)).toEqual(skipped('replaced'))
    expect(openForRead(store, id)?.state.schedules?.[0]?.next_at).toBe(at('11:00'))
    expectEachSlotOnce()
  })

  test('when its agent is terminated', async () => {
    await terminate(contextAt(store).ctx, id, false, () => undefined)
    expect(slotsIn(store, id)).toEqual(skipped('terminated'))
    expectEachSlotOnce()
  })

  test('when its paused schedule is removed', async () => {
    await changeSchedule(contextAt(store).ctx, id, 'hourly', 'paused')
    setTime(at('11:00'))
    await changeSchedule(contextAt(store).ctx, id, 'hourly', 'removed')
    expect(slotsIn(store, id)).toEqual(['skipped 10:00-11:00 2 paused'])
  })
})

test('a schedule that is replaced after the clock went back runs no slot again', async () => {
  await scheduled(store, id)
  await tickAt(store, at('10:00'))
  await tickAt(store, at('11:00'))
  setTime(at('09:40'))
  await scheduled(store, id, { content: 'go on' })
  await scheduled(store, id, { content: 'go further' })
  for (const time of ['10:00', '11:00', '12:00']) await tickAt(store, at(time))
  expect(slotsIn(store, id)).toEqual(['ran 10:00', 'ran 11:00', 'ran 12:00'])
  expectEachSlotOnce()
})

test('the slots of many schedules that slept are counted once for a visit', async () => {
  const year = '2027-11-20T09:40:00.000Z'
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
    await scheduled(store, id, { name, when: '0 7 * * *', content: name })
  const reads = vi.spyOn(Cron.prototype, 'nextRun')
  onTestFinished(() => reads.mockRestore())
  await tickAt(store, year)
  expect(slotsIn(store, id).filter((slot) => slot.startsWith('ran'))).toHaveLength(8)
  // Each of 8 schedules has 365 slots. A count for each turn would be 8 times as many.
  expect(reads.mock.calls.length).toBeLessThan(8 * 365 * 2)
})

describe('slots that were missed before something prevented later ones keep their turn', () => {
  const ends: Record<string, { why: string; begin(): Promise<unknown>; end(): Promise<unknown> }> = {
    gate: {
      why: 'gated',
      begin: () => setGate(contextAt(store).ctx, id, 'gate'),
      end: () => setGate(contextAt(store).ctx, id, 'ungate'),
    },
    hold: {
      why: 'hold',
      begin: () => suspend(contextAt(store).ctx, id, true),
      end: () => resume(contextAt(store).ctx, id, { reseed: false }, () => undefined),
    },
    pause: {
      why: 'paused',
      begin: () => changeSchedule(contextAt(store).ctx, id, 'hourly', 'paused'),
      end: () => changeSchedule(contextAt(store).ctx, id, 'hourly', 'resumed'),
    },
  }

  test.each(Object.keys(ends))('a %s', async (name) => {
    const { why, begin, end } = ends[name] as (typeof ends)[string]
    await scheduled(store, id)
    setTime(at('12:30'))
    await begin()
    await tickAt(store, at('13:10'))
    setTime(at('14:10'))
    await end()
    await tickAt(store, at('15:00'))
    const accounted = ['missed 10:00-11:00 2 late', 'ran 12:00', `skipped 13:00-14:00 2 ${why}`]
    expect(slotsIn(store, id)).toEqual([...accounted, 'ran 15:00'])
    expectEachSlotOnce()
  })

  test('a schedule that ends meanwhile has each slot with its cause', async () => {
    await scheduled(store, id)
    setTime(at('12:30'))
    await setGate(contextAt(store).ctx, id, 'gate')
    setTime(at('14:10'))
    await terminate(contextAt(store).ctx, id, false, () => undefined)
    expect(slotsIn(store, id)).toEqual(['missed 10:00-12:00 3 late', 'skipped 13:00-14:00 2 gated'])
    expectEachSlotOnce()
  })
})

test('the end of an agent skips only the slot that would have a turn, and the earlier ones were missed', async () => {
  await scheduled(store, id)
  setTime(at('12:30'))
  await terminate(contextAt(store).ctx, id, false, () => undefined)
  expect(slotsIn(store, id)).toEqual(['missed 10:00-11:00 2 late', 'skipped 12:00-12:00 1 terminated'])
  expectEachSlotOnce()
})

test('missed slots have a record for each cause', async () => {
  await scheduled(store, id, { overlap: 'queue' })
  const run_id = deriveId(id, 'other')
  setTime(at('11:30'))
  const session = await reopen(store, id)
  session.append([{ kind: 'session.activated', boot_id: 'b' }, startedRun(run_id)])
  setTime(at('13:30'))
  session.append([{ kind: 'run.cancelled', run_id, reason: 'cancelled' }])
  await session.abandon()
  await tickAt(store, at('15:30'))
  expect(slotsIn(store, id)).toEqual([
    'missed 10:00-11:00 2 late',
    'missed 12:00-13:00 2 busy',
    'missed 14:00-14:00 1 late',
    'ran 15:00',
  ])
  expect(messagesIn(store, id)[0]?.content).toContain('5 times of this schedule were missed')
  expectEachSlotOnce()
})
