/** Runs a sample of `npm run stress:fuzz`, and shows that the lab catches a broken program. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')

/** The last line of its output; rejects if its exit status is not 0. */
async function fuzz(...words: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [join(root, 'stress/run.mjs'), 'fuzz', ...words], {
    cwd: root,
  })
  return stdout.trim().split('\n').at(-1) ?? ''
}

test.for([
  ['51, which produces the same bytes twice', '51', '--twice'],
  ['53', '53'],
])(
  'random commands with kills, power cuts and disk faults keep every promise: seed %s',
  async ([, seed, ...how]) => {
    expect(await fuzz('--seed', seed as string, ...how)).toMatch(/seeds 1, .* 0 failures$/)
  },
)

test.for([
  ['an agent that completes during recovery is not an effect of a terminate that was harmed', 'terminate'],
  ['a message that a later power cut takes is not an effect of a send that did not acknowledge it', 'queue'],
  ['a replaced turn is an effect of a killed send that repeats the key of a pending message', 'again'],
  ['a decision without the token that a killed command did not print is the same in the twin', 'decide'],
  [
    'an interrupted turn that recovery leaves, because its agent is on hold, is not expected of the twin',
    'hold',
  ],
])('%s', async ([, history]) => {
  expect(await fuzz('--effects', history as string)).toMatch(/^effects: harmed [1-9]\d*; 0 failures$/)
})

// Several seeds each, because a change of the program moves the steps that a seed meets.
test.for([
  ['a message with a key is delivered without looking up the key', '273'],
  ['append does not fsync the batch', '3'],
] as const)('the fuzzer catches a program with this defect: %s', async ([canary, seed]) => {
  expect(await fuzz('--seed', seed, '--seeds', '12', '--canary', canary)).toBe(`caught: ${canary}`)
})
