// npm run stress:budgets -- [--children N] [--kills N] [--step TOKENS] [--seed S] [--longer] [--canary NAME]
// Children of one parent work side by side under its cap, and their processes are killed. A model server keeps its own count. Exits 1 if
// more was charged than the cap allows, or if a request was refused that the cap allowed.
import { parseArgs } from 'node:util'
import { Random } from '../test/support/random.js'
import { runTrial } from './budgets/trial.js'
import { brokenSources } from './mutants/canaries.js'
import { Databases, skipWithoutPostgres } from './support/databases.js'
import { Lab, repository } from './support/lab.js'
import { recordResult } from './support/result.mjs'

const { values } = parseArgs({
  options: {
    children: { type: 'string', default: '50' },
    kills: { type: 'string', default: '300' },
    step: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    longer: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
    canary: { type: 'string' },
  },
})
const lab = Lab.open(values.canary === undefined ? undefined : brokenSources({ name: values.canary }))
if (values.postgres) skipWithoutPostgres()
const databases = values.postgres ? new Databases(lab) : undefined
let isBad = false
try {
  lab.linkPlugin('@substrat/provider-openai', `${repository}/plugins/provider-openai`)
  await lab.warm()
  console.log(`seed ${values.seed}`)
  const modes = values.longer ? [false, true] : [false]
  const results = []
  for (const longer of modes) {
    const random = new Random(Number(values.seed))
    const kills = Math.ceil(Number(values.kills) / modes.length)
    const options = {
      children: Number(values.children),
      kills,
      random,
      longer,
      capStep: Number(values.step ?? Number(values.children) * 3500),
      databases,
    }
    const result = await runTrial(lab, options)
    results.push(result)
    const { violations, ...figures } = result
    console.log(`${longer ? 'longer replies' : 'exact replies'}: ${JSON.stringify(figures)}`)
    for (const violation of violations) console.log(violation)
  }
  const violations = results.flatMap((result) => result.violations).length
  recordResult({
    lab: values.postgres ? 'budgets-postgres' : 'budgets',
    sample: `${values.children} children of one parent, kills of substrat, of a tool, and of the whole process group`,
    cases: results.reduce((sum, { kills }) => sum + kills, 0),
    violations,
    details: results.map(({ violations: _, ...figures }) => figures),
  })
  isBad = violations > 0
} finally {
  databases?.close()
  lab.close()
}
process.exitCode = isBad === (values.canary !== undefined) ? 0 : 1
