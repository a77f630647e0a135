// npm run stress:powercut -- [--scenarios send,spawn] [--seed N] [--sample N] [--every N] [--nested N] [--json FILE]
// Cuts the power under each command, after each of its steps on the disk, in every way that the disk may come out of it.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { Desk } from './powercut/desk.js'
import { describeCommand, describeViolation, summary } from './powercut/report.js'
import { SCENARIOS } from './powercut/scenarios.js'
import { type SurveyReport, survey } from './powercut/survey.js'

const { values } = parseArgs({
  options: {
    scenarios: { type: 'string' },
    seed: { type: 'string', default: '1' },
    sample: { type: 'string', default: '20' },
    every: { type: 'string', default: '1' },
    nested: { type: 'string', default: '50' },
    'nested-sample': { type: 'string', default: '5' },
    state: { type: 'string' },
    json: { type: 'string' },
  },
})

const words = values.scenarios?.split(',')
const chosen = SCENARIOS.filter(({ name }) => words?.includes(name) ?? true)
const desk = Desk.open()
if (values.state !== undefined) desk.onEnd = (argv, ended) => console.log(describeCommand(argv, ended))
try {
  const reports: SurveyReport[] = []
  for (const scenario of chosen) {
    const report = await survey(desk, scenario, {
      seed: Number(values.seed),
      sample: Number(values.sample),
      every: Number(values.every),
      nestedEvery: Number(values.nested),
      nestedSample: Number(values['nested-sample']),
      only: values.state,
    })
    reports.push(report)
    console.log(summary([report]).split('\n')[1])
    for (const violation of report.violations.slice(0, 10))
      console.log(describeViolation(violation, Number(values.seed)))
  }
  console.log(`\n${summary(reports)}`)
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(reports, null, 2)}\n`)
  if (reports.some(({ violations }) => violations.length > 0)) process.exitCode = 1
} finally {
  desk.close()
}
process.exit()
