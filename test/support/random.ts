/** Pseudo-random numbers from a seed (mulberry32). */
export class Random {
  private state: number

  constructor(readonly seed: number) {
    this.state = seed
  }

  /** From SEED, or from another seed in each run. It is announced before the run, so that a failure can be repeated. */
  static announced(run: string): Random {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
    console.info(`${run} SEED=${seed}`)
    return new Random(seed)
  }

  /** At least 0, and less than 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  below(bound: number): number {
    return Math.floor(this.next() * bound)
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(items: T[]): T {
    return items[this.below(items.length)] as T
  }

  /** Picks one of the words by weight. */
  pickWeighted<K extends string>(weights: Record<K, number>): K {
    const entries = Object.entries(weights) as [K, number][]
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [word, weight] of entries) {
      left -= weight
      if (left < 0) return word
    }
    return (entries.at(-1) as [K, number])[0]
  }
}
