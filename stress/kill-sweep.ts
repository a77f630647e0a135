// npm run stress:kill -- [--commands send,'spawn*'] [--every 10] [--syscalls rename,fsync] [--nested 5] [--jobs 2] [--json FILE] [--list]
// Kills each command before each of its file-changing system calls. With --postgres the homes are in a database, and commands
// are killed at each of its calls. Exits 1 if the contract is broken.
import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { whyNoPostgres } from '../test/support/postgres.js'
import { type Ground, InFiles } from './kill/ground.js'
import { InPostgres } from './kill/in-postgres.js'
import { coverage, describeViolation, headLine, moments, scenarioLine, summary } from './kill/report.js'
import { whyNoStrace } from './kill/strace.js'
import { pointsOf, prepareTemplate, sweep } from './kill/sweep.js'
import type { ScenarioReport, SweepOptions } from './kill/swept.js'
import { leftOutBy, scenariosOf } from './scenarios/all.js'
import { endingOnFailure } from './scenarios/ends.js'
import type { Scenario } from './scenarios/scenario.js'
import { Databases } from './support/databases.js'
import { Lab } from './support/lab.js'
import { countOf, everyNth, recordResult } from './support/result.mjs'

const { values } = parseArgs({
  options: {
    /** Names of scenarios, or prefixes with a `*`. */
    commands: { type: 'string' },
    every: { type: 'string', default: '1' },
    syscalls: { type: 'string' },
    /** Sweeps recovery from every N-th state that the kills left: 1 for all, 0 for none. */
    nested: { type: 'string', default: '5' },
    /** Continues after each kill, even if another kill left the same state. */
    unmerged: { type: 'boolean', default: false },
    jobs: { type: 'string', default: String(availableParallelism()) },
    /** One kill, in the words of a violation: pwrite64:3. */
    point: { type: 'string' },
    'nested-point': { type: 'string' },
    /** Prints the kill points and runs nothing. */
    list: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    json: { type: 'string' },
    postgres: { type: 'boolean', default: false },
  },
})

const why = values.postgres ? whyNoPostgres() : whyNoStrace()
if (why !== undefined) {
  console.log(`skipped: ${why}`)
  process.exit(0)
}
const SCENARIOS = scenariosOf(values.postgres ? 'postgres' : 'kill')
const words = values.commands?.split(',')
const chosen = SCENARIOS.filter(({ name }) => words?.some((word) => isOf(name, word)) ?? true)
if (chosen.length === 0) {
  console.error(`--commands takes some of: ${SCENARIOS.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}
const lab = Lab.open()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => end(130))
let databases: Databases | undefined
let notRun = 0
try {
  await lab.warm()
  databases = values.postgres ? new Databases(lab) : undefined
  const ground = databases === undefined ? new InFiles(lab) : new InPostgres(lab, databases)
  if (values.list && values.postgres)
    for (const [name, reason] of leftOutBy('postgres')) console.log(`${name}: ${reason}`)
  const reports: ScenarioReport[] = []
  if (!values.list) console.log(headLine())
  for (const scenario of chosen) {
    if (values.list) {
      console.log((await listPoints(ground, scenario)).join('\n'))
      continue
    }
    const report = await tried(ground, scenario, {
      every: Number(values.every),
      syscalls: values.syscalls?.split(','),
      nestedEvery: values['nested-point'] === undefined ? Number(values.nested) : 1,
      isUnmerged: values.unmerged,
      jobs: Number(values.jobs),
      point: pointOf(values.point),
      nestedPoint: pointOf(values['nested-point']),
      keep: values.keep,
    })
    if (report === undefined) continue
    reports.push(report)
    console.log(scenarioLine(report))
    if (report.violations.length > 0) console.log(firstOf(report.violations.map(describeViolation)))
  }
  if (!values.list) console.log(`\n${summary(reports)}\n\n${coverage(reports)}`)
  if (!values.list && !values.postgres) console.log(`\n${moments(reports)}`)
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(reports, null, 2)}\n`)
  const calls = everyNth(Number(values.every), 'call')
  const states = Number(values.nested) === 0 ? 'no state' : everyNth(Number(values.nested), 'state')
  recordResult({
    lab: values.postgres ? 'kill-postgres' : 'kill-sweep',
    sample: `${calls} of ${countOf(chosen.length, SCENARIOS.length, 'scenarios')}; recovery from ${states}`,
    cases: reports.reduce((sum, { killed, nestedKilled }) => sum + killed + nestedKilled, 0),
    violations: notRun + reports.flatMap(({ violations }) => violations).length,
  })
  if (reports.some(({ violations }) => violations.length > 0)) process.exitCode = 1
} finally {
  databases?.close()
  if (values.keep) console.log(`kept: ${lab.root}`)
  else lab.close()
}

const SHOWN_MAX = 10

function firstOf(sentences: string[]): string {
  const more = sentences.length - SHOWN_MAX
  return [...sentences.slice(0, SHOWN_MAX), ...(more > 0 ? [`… and ${more} more`] : [])].join('\n')
}

function end(code: number): never {
  databases?.close()
  lab.close()
  process.exit(code)
}

/** A scenario that does not run is a failure, and the others run nevertheless. */
async function tried(
  ground: Ground,
  scenario: Scenario,
  options: SweepOptions,
): Promise<ScenarioReport | undefined> {
  try {
    return await sweep(ground, scenario, options)
  } catch (error) {
    console.log(`${scenario.name} does not run: ${error}`)
    notRun += 1
    process.exitCode = 1
    return undefined
  }
}

async function listPoints(ground: Ground, scenario: Scenario): Promise<string[]> {
  const template = await prepareTemplate(ground, scenario)
  const points = await endingOnFailure(template.stage, () => pointsOf(ground, template))
  template.stage.end()
  return points.map(({ syscall, n, what, named = '' }) => `${scenario.name} ${syscall}:${n} ${what} ${named}`)
}

/** Accepts a name, or the prefix of several: `send*`. */
function isOf(name: string, word: string): boolean {
  return word.endsWith('*') ? name.startsWith(word.slice(0, -1)) : name === word
}

function pointOf(text: string | undefined): { syscall: string; n: number } | undefined {
  const [syscall, n] = text?.split(':') ?? []
  return syscall === undefined ? undefined : { syscall, n: Number(n) }
}
