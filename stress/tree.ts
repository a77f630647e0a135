// npm run stress:tree -- [--seed 1] [--shape 2x9x10] [--messages 5000] [--kills 300] [--shells 3] [--canary] [--keep]
// A tree of agents that write to one another while processes are killed; exits 1 where a promise is broken. With --canary
// it is run on broken variants of the program, small, and exits 1 where one of them is not caught.
//
// Of a seed are the tree, what each agent says and does, the commands and their order, and which are to be killed after
// how long. Not of it: what a kill meets, which shell is quicker, which turn an agent is in when a message comes.
import { parseArgs } from 'node:util'
import { Lab } from './support/lab.js'
import { recordResult } from './support/result.mjs'
import type { Shape } from './tree/family.js'
import { broken, MUTANTS } from './tree/mutants.js'
import { runTrial, type TrialOptions, type TrialReport } from './tree/trial.js'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    /** Roots, agents below each of them, agents below each of those. */
    shape: { type: 'string', default: '2x9x10' },
    messages: { type: 'string', default: '5000' },
    kills: { type: 'string', default: '300' },
    shells: { type: 'string', default: '3' },
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

if (values.canary) await catchMutants()
else
  await inLab(
    (bundle) => bundle,
    options,
    (report) => {
      print(report)
      if (report.violations.length > 0) process.exitCode = 1
    },
  )

async function catchMutants(): Promise<void> {
  const small = {
    ...options,
    shape: { roots: 2, middles: 2, leaves: 3 },
    messages: 150,
    kills: 20,
    note: () => {},
  }
  for (const mutant of MUTANTS) {
    await inLab(
      (bundle) => broken(bundle, mutant),
      small,
      ({ violations, seconds }) => {
        const [first] = violations
        console.log(
          `${first === undefined ? 'NOT CAUGHT' : 'caught'}: ${mutant.name} (${seconds.toFixed(0)} s)`,
        )
        if (first === undefined) process.exitCode = 1
        else console.log(`  ${violations.length} violations, the first: ${first}`)
      },
    )
  }
}

async function inLab(
  mutate: (bundle: string) => string,
  trial: TrialOptions,
  then: (report: TrialReport) => void,
): Promise<void> {
  const lab = Lab.open(mutate)
  try {
    await lab.warm()
    then(await runTrial(lab, trial))
  } finally {
    if (values.keep) console.log(`kept: ${lab.root}`)
    else lab.close()
  }
}

function shapeOf(text: string): Shape {
  const [roots = 0, middles = 0, leaves = 0] = text.split('x').map(Number)
  if (roots * middles * leaves > 0) return { roots, middles, leaves }
  throw new Error('--shape is roots, agents below each, and below each of those: 2x9x10')
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
    lab: 'tree',
    sample: `seed ${values.seed}, ${agents} agents, ${values.messages} messages, ${values.shells} shells`,
    cases: kills,
    violations: violations.length,
    details: { killsOf, ...counts },
  })
}
