// npm run stress:tree -- [--seed 1] [--shape 2x9x10] [--messages 5000] [--kills 300] [--shells 3] [--postgres] [--canary] [--keep]
// A tree of agents exchanges mail while processes are killed. Exits 1 if a promise is broken. With --canary
// it runs on the canaries (stress/mutants/canaries.ts) with a small tree, and exits 1 if one of them is not caught.
//
// The seed decides the tree, the words and actions of each agent, the commands and their order, and the time of each kill.
// Chance decides the process that a kill meets, the faster shell, and the turn of an agent when a message arrives.
import { parseArgs } from 'node:util'
import { brokenSources, CANARIES } from './mutants/canaries.js'
import { Databases, skipWithoutPostgres } from './support/databases.js'
import { Lab } from './support/lab.js'
import { recordResult } from './support/result.mjs'
import type { Shape } from './tree/family.js'
import { runTrial, type TrialOptions, type TrialReport } from './tree/trial.js'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    /** The numbers of roots, of agents below each root, and of agents below each of these. */
    shape: { type: 'string', default: '2x9x10' },
    messages: { type: 'string', default: '5000' },
    kills: { type: 'string', default: '300' },
    shells: { type: 'string', default: '3' },
    /** The home is in a database. */
    postgres: { type: 'boolean', default: false },
    canary: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
})

const options: TrialOptions = {
  seed: Number(values.seed),
  shape: shapeOf(values.shape),
  messages: Number(values.messages),
  kills: Number(values.kills),
  shells: Number(values.shells),
  note: (text) => console.error(text),
}

if (values.postgres) skipWithoutPostgres()
if (values.canary) await catchCanaries()
else {
  const report = await reportOn(Lab.open(), options)
  print(report)
  if (report.violations.length > 0) process.exitCode = 1
}

async function catchCanaries(): Promise<void> {
  const small = {
    ...options,
    shape: { roots: 2, middles: 2, leaves: 3 },
    messages: 150,
    kills: 20,
    note: () => {},
  }
  for (const canary of CANARIES.tree) {
    const { violations, seconds } = await reportOn(Lab.open(brokenSources(canary)), small)
    const [first] = violations
    console.log(`${first === undefined ? 'NOT CAUGHT' : 'caught'}: ${canary.name} (${seconds.toFixed(0)} s)`)
    if (first === undefined) process.exitCode = 1
    else console.log(`  ${violations.length} violations, the first: ${first}`)
  }
}

async function reportOn(lab: Lab, trial: TrialOptions): Promise<TrialReport> {
  let databases: Databases | undefined
  try {
    // A canary may break the warm-up itself.
    if (!values.canary) await lab.warm()
    if (!values.postgres) return await runTrial(lab, trial)
    databases = new Databases(lab)
    return await runTrial(lab, { ...trial, home: await databases.newHome() })
  } finally {
    databases?.close()
    if (values.keep) console.log(`kept: ${lab.root}`)
    else lab.close()
  }
}

function shapeOf(text: string): Shape {
  const [roots = 0, middles = 0, leaves = 0] = text.split('x').map(Number)
  if (roots * middles * leaves > 0) return { roots, middles, leaves }
  throw new Error(
    '--shape takes the numbers of roots, of agents below each, and of agents below each of those: 2x9x10',
  )
}

function print({ agents, kills, killsOf, counts, violations, seconds }: TrialReport): void {
  const of = Object.entries(killsOf).map(([verb, count]) => `${verb} ${count}`)
  console.log(`seed ${values.seed}, ${values.shells} shells: ${agents} agents`)
  console.log(`  kills that hit: ${kills} (${of.join(', ')})`)
  for (const [what, count] of Object.entries(counts)) console.log(`  ${what}: ${count}`)
  console.log(`  violations: ${violations.length}`)
  console.log(`  ${seconds.toFixed(0)} s`)
  for (const violation of violations.slice(0, 30)) console.log(`  BROKEN: ${violation}`)
  recordResult({
    lab: values.postgres ? 'tree-postgres' : 'tree',
    sample: `${agents} agents, ${values.messages} messages, ${values.shells} shells`,
    cases: kills,
    violations: violations.length,
    details: { killsOf, ...counts },
  })
}
