/** A lab ends although one of its scenarios fails, because the servers and turns of the scenario end with it. */
import { expect, test } from 'vitest'
import { endingOnFailure, withOthers } from '../../stress/scenarios/ends.js'
import type { Stage } from '../../stress/scenarios/stage.js'

const failing = async (): Promise<never> => {
  throw new Error('it fails')
}

test('the work beside a command is waited for, also if the command cannot run', async () => {
  let isReleased = false
  const meanwhile = async () => async () => {
    isReleased = true
  }
  await expect(withOthers({ meanwhile }, {} as Stage, failing)).rejects.toThrow('it fails')
  expect(isReleased).toBe(true)
})

test('a stage ends at a failure, and stays open after a success', async () => {
  let ends = 0
  const stage = { end: () => void ends++ }
  expect(await endingOnFailure(stage, async () => 'done')).toBe('done')
  expect(ends).toBe(0)
  await expect(endingOnFailure(stage, failing)).rejects.toThrow('it fails')
  expect(ends).toBe(1)
})
