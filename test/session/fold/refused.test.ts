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

  test('is new no more often than the limit for its cause, so keys without end add no record', () => {
    const many = Array.from({ length: limits.refusalsMax }, (_, index) => refused('gate', `n${index}`))
    const state = foldAll([CREATED, ...many])
    expect(isNewRefusal(state, refused('gate', 'another'))).toBe(false)
    expect(isNewRefusal(state, refused('hold', 'another'))).toBe(true)
    expect(foldAll([refused('gate', 'another')], state).refused).toEqual(state.refused)
  })

  test('ends when a turn begins, unless it is of a hold or a gate that is still there', () => {
    const before = foldAll([
      CREATED,
      ACTIVATED,
      refused('authentication', 'n1'),
      refused('hold', 'n2'),
      refused('gate', 'n3'),
    ])
    expect(foldAll([startedRun(RUN)], before)).not.toHaveProperty('refused')
    expect(causes(foldAll([HELD, startedRun(RUN)], before))).toEqual(['hold n2'])
    expect(causes(foldAll([GATED, startedRun(RUN)], before))).toEqual(['gate n3'])
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
    expect(foldAll([...before, startedRun(randomUUID())])).not.toHaveProperty('refused')
  })

  test('changes neither the run nor the keys', () => {
    const before = foldAll([CREATED, ACTIVATED, startedRun(RUN)])
    const { run, keys, state } = foldAll([refused('settings', 'n1')], before)
    expect({ run, keys, state }).toEqual({ run: before.run, keys: before.keys, state: before.state })
  })
})
