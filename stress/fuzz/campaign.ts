/** Runs seed after seed until the time is over. Reports the totals, and each failure with its shrunk sequence. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { Random } from '../../test/support/random.js'
import { sequencesAt } from './arbitrary.js'
import { noCounts } from './host.js'
import { type Hosts, openHosts } from './hosts.js'
import { type Mode, PACES } from './pace.js'
import { placesOf } from './places.js'
import type { Sequence } from './steps.js'
import { tell } from './tell.js'
import { type MakeHost, type Trial, tryOut } from './trial.js'

export interface CampaignOptions {
  mode: Mode
  seed: number
  stride: number
  seeds: number
  /** The size of a random tree for each seed; undefined for the fixed tree. */
  agents: number | undefined
  hasWrongClocks: boolean
  minutes: number
  shrinkSeconds: number
  /** Whether to stop at the first failure. */
  stops: boolean
  /** The path of a shrunk failure: run and describe only that one. */
  path: string | undefined
  /** Whether to run each sequence twice. Both runs must produce the same bytes. */
  twice: boolean
  json: string | undefined
  note(text: string): void
}

export type Totals = Trial['counts'] & {
  mode: Mode
  firstSeed: number
  seeds: number
  failures: number
  seconds: number
}

const SEEDS_PER_LINE = 10

export class Campaign {
  private readonly start = performance.now()
  private readonly totals: Totals

  constructor(private readonly options: CampaignOptions) {
    const { mode, seed } = options
    const none = { ...noCounts(), messages: 0, tokens: 0, notifications: 0, twins: 0, notCompared: 0 }
    this.totals = { mode, firstSeed: seed, seeds: 0, failures: 0, seconds: 0, ...none }
  }

  async run(): Promise<Totals> {
    const { seed, stride, seeds, minutes, mode, note } = this.options
    const directory = mkdtempSync(join(tmpdir(), 'substrat-fuzz-'))
    const hosts = await openHosts(mode)
    try {
      for (let count = 0; count < seeds && this.elapsed < minutes * 60; count++) {
        if (this.options.stops && this.totals.failures > 0) break
        await this.trySeed(hosts, directory, seed + count * stride)
        if (this.totals.seeds % SEEDS_PER_LINE === 0) note(this.line())
        this.save()
      }
    } finally {
      hosts.close()
      rmSync(directory, { recursive: true, force: true })
    }
    note(this.line())
    this.save()
    return this.totals
  }

  private get elapsed(): number {
    return (performance.now() - this.start) / 1000
  }

  private async trySeed(hosts: Hosts, directory: string, seed: number): Promise<void> {
    const { path, shrinkSeconds, note, mode, agents, hasWrongClocks } = this.options
    const pace = { ...PACES[mode], places: placesOf(agents, seed), hasWrongClocks }
    const makeHost: MakeHost = (name, salt) => hosts.make(name, salt, pace)
    let isFirst = true
    let failed: Trial | undefined
    let shrinksUntil = Number.POSITIVE_INFINITY
    const property = fc.asyncProperty(fc.noBias(sequencesAt(pace)), async (sequence: Sequence) => {
      // Without this check fast-check would continue after a shrunk failure that now passes.
      if (this.elapsed > shrinksUntil || (path !== undefined && !isFirst)) return
      const trial = await tryOut(makeHost, directory, sequence)
      if (this.options.twice)
        trial.violations.push(...unlike(trial, await tryOut(makeHost, directory, sequence)))
      // Reruns for shrinking do not count.
      if (isFirst) this.count(trial)
      isFirst = false
      if (path !== undefined) note(tell(trial.story).join('\n'))
      if (trial.violations.length === 0) return
      if (failed === undefined) shrinksUntil = this.elapsed + shrinkSeconds
      failed = trial
      throw new Error(trial.violations.join('\n'))
    })
    const result = await fc.check(property, {
      // With adjacent seeds fast-check would begin with similar values.
      seed: new Random(seed).below(2 ** 31),
      numRuns: 1,
      ...(path === undefined ? {} : { path, endOnFailure: true }),
    })
    this.totals.seeds += 1
    if (failed === undefined) return
    this.totals.failures += 1
    note(report(seed, this.options, result.counterexamplePath, failed))
  }

  private count({ counts }: Trial): void {
    for (const [what, count] of Object.entries(counts)) this.totals[what as keyof Trial['counts']] += count
  }

  private line(): string {
    const { mode, firstSeed, failures, ...counts } = this.totals
    const words = Object.entries({ ...counts, seconds: Math.round(this.elapsed) }).map(
      ([what, count]) => `${what} ${count}`,
    )
    return `${mode} from seed ${firstSeed}: ${words.join(', ')}; ${failures} failures`
  }

  private save(): void {
    this.totals.seconds = this.elapsed
    const { json } = this.options
    if (json !== undefined) writeFileSync(json, `${JSON.stringify(this.totals, null, 2)}\n`)
  }
}

function unlike(one: Trial, other: Trial): string[] {
  const [first, second] = [one, other].map(({ logs }) => logs) as [Trial['logs'], Trial['logs']]
  const ids = new Set([...first.keys(), ...second.keys()])
  return [...ids]
    .filter((id) => first.get(id)?.equals(second.get(id) ?? Buffer.alloc(0)) !== true)
    .map((id) => `the same sequence produces the same bytes: the log of ${id} does not`)
}

function report(
  seed: number,
  { mode, agents, hasWrongClocks }: CampaignOptions,
  path: string | null,
  { violations, story }: Trial,
): string {
  const tree = agents === undefined ? '' : ` --agents ${agents}`
  const clocks = hasWrongClocks ? ' --wrong-clocks' : ''
  return [
    `BROKEN with seed ${seed}, path ${path}:`,
    ...tell(story),
    ...violations.slice(0, 20).map((each) => `  must hold: ${each}`),
    `  again: npm run stress:fuzz -- --seed ${seed} --path ${path} --mode ${mode}${tree}${clocks}`,
  ].join('\n')
}
