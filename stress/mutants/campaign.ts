/** Tries every mutant against its suites, one after the other, until one notices. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { repository } from '../support/lab.js'
import type { RuleMutant } from './all.js'
import { Copy } from './copy.js'
import { type Run, Suites, type Trial } from './suites.js'

export type Outcome = 'noticed' | 'survived' | 'equivalent' | 'broken' | 'timed_out'

export interface Result {
  rule: string
  name: string
  outcome: Outcome
  /** The suite and the test that noticed, and the error. */
  suite: string | null
  title: string | null
  error: string | null
  seconds: number
  /** Why no test could notice. */
  why: string | null
}

/** The number of programs in one process. */
const TOGETHER_MAX = 12

interface Open {
  mutant: RuleMutant
  seconds: number
}

/** Calls back with each finished mutant. */
export async function tryAll(
  mutants: RuleMutant[],
  jobs: number,
  onResult: (result: Result) => void,
): Promise<void> {
  let open: Open[] = mutants.map((mutant) => ({ mutant, seconds: 0 }))
  for (let round = 0; open.length > 0; round++) {
    const left: Open[] = []
    const batches = batchesOf(open, round)
    const worker = async (): Promise<void> => {
      const copy = Copy.open()
      const suites = new Suites(copy)
      try {
        for (let batch = batches.shift(); batch !== undefined; batch = batches.shift())
          for (const [each, run] of await runBatch(suites, batch, round)) {
            const seconds = each.seconds + run.seconds
            const isLast = round === each.mutant.suites.length - 1
            if (run.verdict === 'passed' && !isLast) left.push({ ...each, seconds })
            else onResult(resultOf(each.mutant, run, seconds))
          }
      } finally {
        await suites.close()
        copy.close()
      }
    }
    await Promise.all(Array.from({ length: Math.min(jobs, batches.length) }, worker))
    open = left
  }
}

/** Groups mutants by suite; mutants with slow suites come last. */
function batchesOf(open: Open[], round: number): Open[][] {
  const bySuite = new Map<string, Open[]>()
  for (const each of open) {
    const suite = each.mutant.suites[round] as string
    bySuite.set(suite, [...(bySuite.get(suite) ?? []), each])
  }
  const suites = [...bySuite].sort(([a], [b]) => Number(startsCli(a)) - Number(startsCli(b)))
  return suites.flatMap(([, all]) =>
    Array.from({ length: Math.ceil(all.length / TOGETHER_MAX) }, (_, index) =>
      all.slice(index * TOGETHER_MAX, (index + 1) * TOGETHER_MAX),
    ),
  )
}

async function runBatch(suites: Suites, batch: Open[], round: number): Promise<[Open, Run][]> {
  const suite = batch[0]?.mutant.suites[round] as string
  const trials: Trial[] = batch.map(({ mutant }) => ({ suite, mutant }))
  // The unchanged program comes last: it must pass, even after the leftovers of the others.
  const whole: Trial = { suite, mutant: undefined }
  let runs = startsCli(suite)
    ? await oneByOne(suites, [whole, ...trials], true)
    : await suites.runTogether([...trials, whole]).then((all) => [...all.slice(-1), ...all.slice(0, -1)])
  // Not every suite works in a shared process.
  if (!startsCli(suite) && !['passed', 'timed_out'].includes(runs[0]?.verdict ?? ''))
    runs = await oneByOne(suites, [whole, ...trials], false)
  const [first, ...others] = runs as [Run, ...Run[]]
  // One mutant hangs, and the whole batch with it.
  if (first.verdict === 'timed_out' && batch.length > 1) {
    const pairs: [Open, Run][] = []
    for (const each of batch) pairs.push(...(await runBatch(suites, [each], round)))
    return pairs
  }
  if (first.verdict !== 'passed') {
    const error = `the unchanged program fails it: ${first.title}: ${first.error}`
    return batch.map((each) => [each, { ...first, verdict: 'broken', error }])
  }
  const pairs: [Open, Run][] = []
  for (const [index, run] of others.entries()) {
    const trial = trials[index] as Trial
    pairs.push([batch[index] as Open, await confirm(suites, trial, run)])
  }
  return pairs
}

async function confirm(suites: Suites, trial: Trial, run: Run): Promise<Run> {
  if (run.verdict === 'timed_out') return verdictOfHang((await suites.runTogether([trial]))[0] as Run)
  // Some suites start processes from the sources on disk.
  if (run.verdict !== 'passed' || !startsSources(trial.suite)) return run
  const first = await suites.runInCopy(trial, false)
  return first.verdict === 'timed_out' ? verdictOfHang(await suites.runInCopy(trial, false)) : first
}

/**
 * A test may time out on a busy machine. If it times out twice, it waits for an event that the mutant prevents: the
 * unchanged program has passed.
 */
function verdictOfHang(again: Run): Run {
  return again.verdict === 'timed_out' && again.title !== null ? { ...again, verdict: 'failed' } : again
}

async function oneByOne(suites: Suites, trials: Trial[], isBuilt: boolean): Promise<Run[]> {
  const runs: Run[] = []
  for (const trial of trials) {
    const run = await suites.runInCopy(trial, isBuilt)
    // With real processes a busy machine may fail a test by chance, a mutant always does.
    const isDoubtful = trial.mutant !== undefined && run.verdict === 'failed' && run.title !== null
    const [file] = trial.suite.split('#')
    runs.push(isDoubtful ? await suites.runInCopy({ ...trial, suite: `${file}#${run.title}` }, isBuilt) : run)
    if (trial.mutant === undefined && run.verdict !== 'passed') break
  }
  return runs
}

function startsCli(suite: string): boolean {
  return /support\/(cli|kept-server|native|postgres)\.js/.test(textOf(suite))
}

function startsSources(suite: string): boolean {
  return /support\/(storage-process|scripts)\.js/.test(textOf(suite))
}

function textOf(suite: string): string {
  const [file] = suite.split('#')
  const path = join(repository, 'test', `${file}.test.ts`)
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

function resultOf(mutant: RuleMutant, run: Run, seconds: number): Result {
  const { rule, name, equivalent } = mutant
  const [suite = ''] = run.suite.split('#')
  const isNoticed = run.verdict !== 'passed'
  return {
    rule,
    name,
    outcome: outcomeOf(run, equivalent !== undefined),
    suite: isNoticed ? suite : null,
    title: run.title,
    error: run.error,
    seconds,
    why: equivalent ?? null,
  }
}

function outcomeOf({ verdict }: Run, isEquivalent: boolean): Outcome {
  if (verdict === 'failed') return 'noticed'
  if (verdict === 'passed') return isEquivalent ? 'equivalent' : 'survived'
  return verdict
}
