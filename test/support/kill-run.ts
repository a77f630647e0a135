/**
 * The size of a test that kills at random, and its seed. `KILLS=100 SEED=1` make such a test longer and repeat it; the lab
 * `faces` (stress/README.md) sets both, and collects the counts in the file that KILLS_REPORT names.
 */
import { appendFileSync } from 'node:fs'
import { Random } from './random.js'

const DEFAULT_TIMEOUT_MS = 15 * 60_000
/** One kill with the prompts around it takes seconds, also on a slow machine. */
const KILL_MS_MAX = 60_000

export class KillRun {
  readonly seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
  readonly random = new Random(this.seed)
  readonly kills: number

  /** `kills`: the number of kills in the ordinary run of the tests. */
  constructor(
    readonly name: string,
    kills: number,
  ) {
    this.kills = Number(process.env.KILLS ?? kills)
  }

  get timeoutMs(): number {
    return DEFAULT_TIMEOUT_MS + this.kills * KILL_MS_MAX
  }

  /** Announces the seed before the run, so that a failure can be repeated. */
  begin(): void {
    console.info(`${this.name}: KILLS=${this.kills} SEED=${this.seed}`)
  }

  report(counts: Record<string, number>): void {
    console.info(`${this.name}, seed ${this.seed}:`, counts)
    const file = process.env.KILLS_REPORT
    if (file !== undefined)
      appendFileSync(file, `${JSON.stringify({ run: this.name, seed: this.seed, counts })}\n`)
  }
}
