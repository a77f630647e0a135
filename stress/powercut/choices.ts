/**
 * The disk states tried after a step. Up to 256 possible states: all of them. Otherwise:
 * - everything kept, and everything lost, each also with the leftovers of earlier commands lost
 * - every state in which one pending change differs from these, and every state in which a pair differs
 * - a random sample
 *
 * Leftovers of earlier commands, and data that is not part of the truth (lock holders, slots, requests), are not varied
 * in pairs.
 */
import type { Random } from '../../test/support/random.js'
import type { Pending } from './disk.js'

/** For each pending change, the number of its option. */
export type Choice = readonly number[]

const ALL_MAX = 256
const ADVISORY = /^(lock|slot|request|server|edge)\./

export function* choicesOf(pending: readonly Pending[], random: Random, sample: number): Generator<Choice> {
  const sizes = pending.map(({ options }) => options.length)
  if (sizes.reduce((product, size) => Math.min(product * size, ALL_MAX + 1), 1) <= ALL_MAX)
    return yield* all(sizes)
  for (const [fresh, old] of [
    [0, 0],
    [1, 0],
    [1, 1],
    [0, 1],
  ] as const) {
    const base = pending.map(({ isOld }) => (isOld ? old : fresh))
    yield base
    yield* singles(base, sizes, ({ isOld }) => !isOld || fresh + old === 0, pending)
    if (old === 0) yield* pairs(base, sizes, pending)
  }
  for (let count = 0; count < sample; count++) yield sizes.map((size) => random.below(size))
}

function* all(sizes: number[]): Generator<Choice> {
  const choice = sizes.map(() => 0)
  for (;;) {
    yield [...choice]
    let at = 0
    while (at < sizes.length && choice[at] === (sizes[at] as number) - 1) choice[at++] = 0
    if (at === sizes.length) return
    choice[at] = (choice[at] as number) + 1
  }
}

function* singles(
  base: Choice,
  sizes: number[],
  goesOtherWays: (pending: Pending) => boolean,
  pending: readonly Pending[],
): Generator<Choice> {
  for (const [at, one] of pending.entries()) if (goesOtherWays(one)) yield* others(base, sizes, at)
}

function* pairs(base: Choice, sizes: number[], pending: readonly Pending[]): Generator<Choice> {
  const matters = pending.map(({ isOld, point }) => !isOld && !ADVISORY.test(point))
  for (let one = 0; one < sizes.length; one++) {
    if (matters[one] !== true) continue
    for (const first of others(base, sizes, one))
      for (let other = one + 1; other < sizes.length; other++)
        if (matters[other] === true) yield* others(first, sizes, other)
  }
}

/** Every other option at that place. */
function* others(base: Choice, sizes: number[], at: number): Generator<Choice> {
  for (let option = 0; option < (sizes[at] as number); option++)
    if (option !== base[at]) yield base.map((now, index) => (index === at ? option : now))
}
