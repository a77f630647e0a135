/** A sample of `npm run stress:fuzz`, on each run of the tests; and that it would tell. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')

/** The last of what it prints; rejects where it exits with another status than 0. */
async function fuzz(...words: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [join(root, 'stress/run.mjs'), 'fuzz', ...words], {
    cwd: root,
  })
  return stdout.trim().split('\n').at(-1) ?? ''
}

test.for([
  ['51, which comes to the same bytes twice', '51', '--twice'],
  ['53', '53'],
])('random commands that are killed, cut and failed break no promise: seed %s', async ([, seed, ...how]) => {
  expect(await fuzz('--seed', seed as string, ...how)).toMatch(/seeds 1, .* 0 failures$/)
})

// Where a change of the program has moved what the seed meets, one of those behind it does.
test.for([
  ['a key is not looked up before its message is taken', '273'],
  ['an appended batch is not synced', '3'],
] as const)('the fuzzer catches this: %s', async ([canary, seed]) => {
  expect(await fuzz('--seed', seed, '--seeds', '12', '--canary', canary)).toBe(`caught: ${canary}`)
})
