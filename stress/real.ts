// npm run test:real -- [--only claude,codex] [--cases 'new turn,kill']
//                      -- --kills 40 [--only claude,exec] [--modes program] [--phases tool] [--seed 1] [--lanes 2] [--json FILE]
// Runs the real agent programs under substrat, against a model on the loopback. Exits 1 if a program fails a case.
// --kills N kills and continues N turns of each program instead, in every mode and phase. --kill N or N-M repeats some of them.
import { parseArgs } from 'node:util'
import { CASES } from './real/cases.js'
import { family } from './real/family.js'
import { install } from './real/install.js'
import { killAll } from './real/kills/campaign.js'
import { PHASES } from './real/kills/job.js'
import { MODES } from './real/kills/modes.js'
import { summariesOf } from './real/kills/summary.js'
import { CASE_NAMES, type CaseName, type RealProgram } from './real/program.js'
import { KILLED_PROGRAMS, PROGRAMS } from './real/programs.js'
import { Trial } from './real/trial.js'
import { countOf, recordResult } from './support/result.mjs'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    cases: { type: 'string' },
    kills: { type: 'string' },
    kill: { type: 'string' },
    modes: { type: 'string' },
    phases: { type: 'string' },
    seed: { type: 'string', default: '1' },
    lanes: { type: 'string', default: '1' },
    json: { type: 'string' },
  },
})
/** A tree of two programs; see `family`. */
const TREE = 'tree'
/** Enough for every mode in every phase. */
const KILLS = 40
const tried = { ok: 0, FAILED: 0, cannot: 0 }

if (values.kills !== undefined || values.kill !== undefined) {
  const names = choose(values.only, nameOfEach(KILLED_PROGRAMS))
  const kills = await killAll(
    KILLED_PROGRAMS.filter(({ name }) => names.includes(name)),
    {
      kills: Number(values.kills ?? KILLS),
      seed: Number(values.seed),
      lanes: Number(values.lanes),
      modes: choose(values.modes, nameOfEach(MODES)),
      phases: choose(values.phases, PHASES),
      range: values.kill === undefined ? undefined : rangeOf(values.kill),
      json: values.json,
    },
  )
  const failed = kills.filter(({ violations }) => violations.length > 0).length
  recordResult({
    lab: 'real-kills',
    sample: `${values.kills ?? KILLS} kills of each of ${names.join(', ')}`,
    cases: kills.length,
    violations: failed,
    details: summariesOf(kills),
  })
  process.exitCode = failed > 0 ? 1 : 0
} else {
  const names = choose(values.only, [...nameOfEach(PROGRAMS), TREE])
  const cases = choose(values.cases, CASE_NAMES) as CaseName[]
  for (const program of PROGRAMS.filter(({ name }) => names.includes(name))) await tryCases(program, cases)
  if (names.includes(TREE)) await tryTree()
  recordResult({
    lab: 'real',
    sample: `${countOf(names.length, PROGRAMS.length + 1, 'programs')}, ${countOf(cases.length, CASE_NAMES.length, 'cases')}`,
    cases: tried.ok + tried.FAILED,
    violations: tried.FAILED,
  })
}

async function tryCases(program: RealProgram, cases: CaseName[]): Promise<void> {
  const version = Object.entries(program.packages)
    .map(([name, number]) => `${name} ${number}`)
    .join(', ')
  const executable = await install(program).catch((error: Error) => {
    console.log(`${program.name}: skipped, ${version} cannot be installed: ${error.message}`)
  })
  if (executable === undefined) return
  console.log(`${program.name}: ${version}`)
  await goThrough(program, executable, cases)
}

async function tryTree(): Promise<void> {
  console.log('tree: a scripted root, a child of Claude Code, a child of Codex')
  await family().then(
    (remark) => say('two kills', 'ok', remark),
    (error: Error) => {
      say('two kills', 'FAILED', error.message)
      process.exitCode = 1
    },
  )
}

/** The cases share their agents: each case begins with the state that the previous case left. */
async function goThrough(program: RealProgram, executable: string, cases: CaseName[]): Promise<void> {
  const trial = await Trial.open(program, executable)
  try {
    for (const name of cases) {
      const why = program.cannot?.[name]
      if (why !== undefined) {
        say(name, 'cannot', why)
        continue
      }
      const started = performance.now()
      try {
        const remark = await CASES[name](trial)
        say(name, 'ok', remark ?? `${((performance.now() - started) / 1000).toFixed(1)} s`)
      } catch (error) {
        say(name, 'FAILED', (error as Error).message)
        process.exitCode = 1
      }
      trial.isSlow = false
    }
  } finally {
    await trial.close()
  }
}

function say(name: string, outcome: keyof typeof tried, remark: string): void {
  tried[outcome] += 1
  console.log(`  ${name.padEnd(12)} ${outcome.padEnd(8)} ${remark}`)
}

/** The range that `7` or `0-9` names. */
function rangeOf(words: string): { from: number; to: number } {
  const [from = 0, to = from] = words.split('-').map(Number)
  return { from, to }
}

function nameOfEach(all: { name: string }[]): string[] {
  return all.map(({ name }) => name)
}

function choose(words: string | undefined, all: readonly string[]): string[] {
  const wanted = words?.split(',') ?? [...all]
  const unknown = wanted.find((word) => !all.includes(word))
  if (unknown === undefined) return wanted
  console.error(`there is no ${unknown}; there are: ${all.join(', ')}`)
  process.exit(2)
}
