/** One module writes the fields of a snapshot in a fixed order and relies on that order to read them. */
import { expect, test } from 'vitest'
import { idleSummary, snapshotFields } from '../../src/session/snapshot-layout.js'
import type { State } from '../../src/session/state.js'
import { newSession } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

async function stateAtRest(): Promise<State> {
  const session = await newSession(tempStore(), { name: 'a' })
  const { state } = session
  await session.close(() => false)
  return state
}

/** The same fields in reverse order, as another program may build them. */
function reversed<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).reverse()) as T
}

const bodyOf = (state: State): string => JSON.stringify(snapshotFields(state)).slice(1, -1)

test('the field order of a state does not change its snapshot', async () => {
  const state = await stateAtRest()
  const other = reversed({ ...state, gate: reversed(state.gate), recovery: reversed(state.recovery) })
  expect(bodyOf(other)).toBe(bodyOf(state))
  expect(idleSummary(bodyOf(other))).toEqual(idleSummary(bodyOf(state)))
  expect(idleSummary(bodyOf(other))).toMatchObject({ id: state.id, name: 'a', log_bytes: state.log_bytes })
})

test('the field order of a run does not change the snapshot', async () => {
  const run = { status: 'completed', boot_id: 'b', run_id: 'r', steps: 1 } as unknown as State['run']
  expect(bodyOf({ ...(await stateAtRest()), run })).toContain(
    '"run":{"run_id":"r","boot_id":"b","status":"completed","steps":1}',
  )
})

test('the fast path leaves a gated agent, and a name that needs escapes, to the parser', async () => {
  const state = await stateAtRest()
  expect(idleSummary(bodyOf({ ...state, gate: { isGated: true, permits: 0 } }))).toBeUndefined()
  expect(idleSummary(bodyOf({ ...state, name: 'a "b"' }))).toBeUndefined()
})
