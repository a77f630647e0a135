import { beforeEach, describe, expect, test } from 'vitest'
import type { FileStore } from '../../src/storage/file-store.js'
import { killedAt } from '../support/killed.js'
import { tempStore } from '../support/temp.js'
import { CASES } from './cases.js'
import { changes, left, visit } from './visits.js'

let store: FileStore

beforeEach(() => {
  store = tempStore()
})

describe('recovery that is killed ends as if it had never been killed', () => {
  test.each(CASES)('in case $name, killed at each step in turn', async (recovery) => {
    const twin = (await visit(store, await left(store, recovery), recovery)).after.map(({ kind }) => kind)
    const id = await left(store, recovery)
    let killed = 0
    for (let step = 1; ; step++) {
      if (!(await killedAt(step, () => visit(store, id, recovery)))) break
      killed += 1
    }
    expect(killed).toBeGreaterThan(3)
    const { after } = await visit(store, id, recovery)
    expect(after.map(({ kind }) => kind)).toEqual(twin)
  })

  test.each(CASES)('in case $name, killed once at any step', async (recovery) => {
    const twin = (await visit(store, await left(store, recovery), recovery)).after.map(({ kind }) => kind)
    for (let step = 1; ; step++) {
      const id = await left(store, recovery)
      // A kill before a step that changes nothing leaves the same as a kill before the next step that changes something.
      const isKilled = await killedAt(step, () => visit(store, id, recovery), changes)
      const { after } = await visit(store, id, recovery)
      expect(
        after.map(({ kind }) => kind),
        `killed at step ${step}`,
      ).toEqual(twin)
      if (!isKilled) break
    }
  })
})
