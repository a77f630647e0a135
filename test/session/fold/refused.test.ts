import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { limits } from '../../../src/limits.js'
import type { RefusalCause } from '../../../src/schema/words.js'
import { isNewRefusal } from '../../../src/session/fold/refused.js'
import type { NewRecord } from '../../../src/session/records.js'
import type { State } from '../../../src/session/state.js'
import { foldAll } from '../../support/folding.js'
import { createdRecord, startedRun } from '../../support/sessions.js'

const RUN = randomUUID()
const CREATED = createdRecord(randomUUID(), { name: 'night' })
const ACTIVATED: NewRecord = { kind: 'session.activated', boot_id: 'b' }
const HELD: NewRecord = { kind: 'session.configured', hold: true }
const GATED: NewRecord = { kind: 'agent.gated', message_id: randomUUID(), from: 'operator' }

function refused(cause: RefusalCause, key?: string): NewRecord<'turn.refused'> {
  const fact = {
    kind: 'turn.refused' as const,
    cause,
    code: 'PROVIDER_MISCONFIGURED',
    message: `no ${cause}`,
  }
  return { ...fact, command: 'substrat send', ...(key === undefined ? {} : { key }) }
}

const causes = ({ refused = [] }: State): string[] =>
  refused.map(({ cause, key }) => (key === null ? cause : `${cause} ${key}`))

describe('a refusal in the state', () => {
  test('is there once for each key and cause, with the time of the first', () => {
    const state = foldAll([
      CREATED,
      refused('authentication', 'n1'),
      refused('authentication', 'n1'),
      refused('authentication', 'n2'),
      refused('settings', 'n1'),
      refused('settings'),
      refused('settings'),
    ])
    expect(causes(state)).toEqual(['authentication n1', 'authentication n2', 'settings n1', 'settings'])
    expect(state.refused?.[0]?.since).toBe('2026-01-01T00:00:02.000Z')
  })

  test('is new for 100 keys, then for one more, and then once in 12 hours', () => {
    const many = Array.from({ length: limits.refusedKeysMax }, (_, index) => refused('gate', `n${index}`))
    const full = foldAll([CREATED, ...many])
    expect(isNewRefusal(full, refused('gate', 'x1'), Date.now())).toBe(true)
    const over = foldAll([refused('gate', 'x1')], full)
    const since = Date.parse(over.refused?.at(-1)?.since ?? '')
    expect(isNewRefusal(over, refused('gate', 'x1'), since + limits.refusalPauseMs)).toBe(false)
    expect(isNewRefusal(over, refused('gate', 'x2'), since + limits.refusalPauseMs - 1)).toBe(false)
    expect(isNewRefusal(over, refused('gate', 'x2'), since + limits.refusalPauseMs)).toBe(true)
    expect(isNewRefusal(over, refused('gate'), since)).toBe(true)
  })

  test('takes the place of the newest one if the state is full, and then says that there are more', () => {
    const many = Array.from({ length: limits.refusedKeysMax }, (_, index) => refused('gate', `n${index}`))
    const { refused: known = [] } = foldAll([CREATED, ...many, refused('gate', 'x1'), refused('gate', 'x2')])
    expect(known).toHaveLength(limits.refusedKeysMax)
    expect(known.at(-2)).toMatchObject({ key: `n${limits.refusedKeysMax - 2}` })
    expect(known.at(-1)).toMatchObject({ key: 'x2', more: true })
    const left = foldAll(
      [ACTIVATED, startedRun(RUN, 'x2')],
      foldAll([CREATED, ...many, refused('gate', 'x2')]),
    )
    expect(left.refused?.at(-1)).toMatchObject({ key: `n${limits.refusedKeysMax - 2}`, more: true })
  })

  test('ends when a turn begins, unless it is of a hold or a gate that is still there', () => {
    const before = foldAll([CREATED, ACTIVATED, refused('authentication'), refused('hold'), refused('gate')])
    expect(foldAll([startedRun(RUN)], before)).not.toHaveProperty('refused')
    expect(causes(foldAll([HELD, startedRun(RUN)], before))).toEqual(['hold'])
    expect(causes(foldAll([GATED, startedRun(RUN)], before))).toEqual(['gate'])
  })

  test('stays as a past one after other turns if it has a key, until a run has that key', () => {
    const before = foldAll([CREATED, ACTIVATED, refused('waiting', 'n2'), refused('waiting', 'n3')])
    const past = [
      { key: 'n2', past: true },
      { key: 'n3', past: true },
    ]
    expect(foldAll([startedRun(RUN)], before).refused).toMatchObject(past)
    expect(foldAll([startedRun(RUN, 'n2')], before).refused).toMatchObject([past[1]])
    const again = foldAll([startedRun(RUN), refused('gate', 'n2')], before).refused
    expect(again).toMatchObject([{ cause: 'gate', key: 'n2' }, past[1]])
    expect(again?.[0]).not.toHaveProperty('past')
  })

  test('ends when a person forgets it', () => {
    const state = foldAll([
      CREATED,
      refused('waiting', 'n2'),
      { kind: 'session.configured', forgets_refusals: true },
    ])
    expect(state).not.toHaveProperty('refused')
  })

  test('ends when an interrupted turn is resumed', () => {
    const resumed: NewRecord = { kind: 'run.resumed', run_id: RUN, boot_id: 'b', auto: false, attempt: 1 }
    const state = foldAll([CREATED, ACTIVATED, startedRun(RUN), refused('authentication'), resumed])
    expect(state).not.toHaveProperty('refused')
  })

  test('stays until the next turn begins if a waiting turn is the cause', () => {
    const resumed: NewRecord = { kind: 'run.resumed', run_id: RUN, boot_id: 'b', auto: false, attempt: 1 }
    const ended: NewRecord = { kind: 'run.interrupted', run_id: RUN, reason: 'process_exit' }
    const before = [CREATED, ACTIVATED, startedRun(RUN), refused('waiting', 'n2'), resumed, ended]
    const continued = {
      ...startedRun(randomUUID()),
      origin: 'continuation' as const,
      continues: RUN,
      auto: true,
    }
    expect(causes(foldAll([...before, continued]))).toEqual(['waiting n2'])
    expect(foldAll([...before, startedRun(randomUUID())]).refused).toMatchObject([{ key: 'n2', past: true }])
  })

  test('changes neither the run nor the keys', () => {
    const before = foldAll([CREATED, ACTIVATED, startedRun(RUN)])
    const { run, keys, state } = foldAll([refused('settings', 'n1')], before)
    expect({ run, keys, state }).toEqual({ run: before.run, keys: before.keys, state: before.state })
  })
})
