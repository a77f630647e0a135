// npm run stress:kill -- [--commands send,spawn] [--every 10] [--syscalls rename,fsync] [--nested 20] [--jobs 2] [--json FILE]
// Kills each command before each of its file-changing system calls; exits 1 where the contract is broken.
import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { coverage, describeViolation, summary } from './kill/report.js'
import { SCENARIOS } from './kill/scenarios.js'
import { whyNoStrace } from './kill/strace.js'
import { type ScenarioReport, sweep } from './kill/sweep.js'
import { Lab } from './support/lab.js'

const { values } = parseArgs({
  options: {
    /** Names of scenarios, or beginnings of them. */
    commands: { type: 'string' },
    every: { type: 'string', default: '1' },
    syscalls: { type: 'string' },
    /** Recovery is itself swept after every so many kills; 1 for all, 0 for none. */
    nested: { type: 'string', default: '25' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    /** One kill, as a violation names it: pwrite64:3 */
    point: { type: 'string' },
    'nested-point': { type: 'string' },
    keep: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
})

const why = whyNoStrace()
if (why !== undefined) {
  console.log(`skipped: ${why}`)
  process.exit(0)
}
const words = values.commands?.split(',')
const chosen = SCENARIOS.filter(({ name }) => words?.includes(name) ?? true)
if (chosen.length === 0) {
  console.error(`--commands takes some of: ${SCENARIOS.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}
const lab = Lab.open()
try {
  await lab.warm()
  const reports: ScenarioReport[] = []
  for (const scenario of chosen) {
    const report = await sweep(lab, scenario, {
      every: Number(values.every),
      syscalls: values.syscalls?.split(','),
      nestedEvery: values['nested-point'] === undefined ? Number(values.nested) : 1,
      jobs: Number(values.jobs),
      point: pointOf(values.point),
      nestedPoint: pointOf(values['nested-point']),
      keep: values.keep,
    })
    reports.push(report)
    console.log(summary([report]).split('\n')[1])
    for (const violation of report.violations) console.log(describeViolation(violation))
  }
  console.log(`\n${summary(reports)}\n\n${coverage(reports)}`)
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(reports, null, 2)}\n`)
  if (reports.some(({ violations }) => violations.length > 0)) process.exitCode = 1
} finally {
  if (values.keep) console.log(`kept: ${lab.root}`)
  else lab.close()
}

function pointOf(text: string | undefined): { syscall: string; n: number } | undefined {
  const [syscall, n] = text?.split(':') ?? []
  return syscall === undefined ? undefined : { syscall, n: Number(n) }
}
