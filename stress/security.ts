// npm run stress:security -- [--every N] [--only TEXT] [--canary NAME]
// Plants links and hostile names in homes, runs hostile programs, and searches every written byte for secrets. Exits 1
// if a command follows a link, obeys hostile output, leaks a secret, or crashes. --only runs the cases whose line has
// TEXT.
import { parseArgs } from 'node:util'
import { MachineLab } from './machine/lab.js'
import { runHostileAgents } from './security/agents.js'
import { Findings } from './security/finding.js'
import { plantLinks } from './security/links.js'
import { lookAtModes } from './security/modes.js'
import { tryWords } from './security/names.js'
import { lookAtOwners } from './security/owners.js'
import { plantFields } from './security/planted.js'
import { runHostilePrograms } from './security/programs.js'
import { lookForSecrets } from './security/secrets.js'
import { lookAtTerminal } from './security/terminal.js'
import { Lab } from './support/lab.js'
import { everyNth, recordResult } from './support/result.mjs'

const { values } = parseArgs({
  options: { every: { type: 'string', default: '1' }, only: { type: 'string' }, canary: { type: 'string' } },
})

const start = performance.now()
const findings = new Findings(values.only)
const every = Number(values.every)
for (const look of [lookForSecrets, plantLinks, tryWords, plantFields]) {
  const lab = MachineLab.open()
  try {
    await look(lab, findings, every)
  } finally {
    lab.close()
  }
  if (values.canary !== undefined && findings.broken.length > 0) break
}
// Real processes run the built program, which no canary changes.
if (values.canary === undefined) await runProcesses()
for (const { kind, name, command, what } of findings.broken)
  console.log(
    `BROKEN ${kind}: ${name}\n  substrat ${command}: ${what}\n  again: npm run stress:security -- --only ${JSON.stringify(name)}`,
  )
for (const [kind, count] of findings.counts) console.log(`${kind}: ${count} cases`)
recordResult({
  lab: 'security',
  sample: `${everyNth(every, 'case')}${values.only === undefined ? '' : ` with ${values.only}`}`,
  cases: [...findings.counts.values()].reduce((sum, count) => sum + count, 0),
  violations: findings.broken.length,
  details: Object.fromEntries(findings.counts),
})
console.log(`${findings.broken.length} broken, ${((performance.now() - start) / 1000).toFixed(1)} s`)
const isBroken = findings.broken.length > 0
if (values.canary !== undefined) console.log(`${isBroken ? 'caught' : 'NOT CAUGHT'}: ${values.canary}`)
process.exit(isBroken === (values.canary === undefined) ? 1 : 0)

async function runProcesses(): Promise<void> {
  const lab = Lab.open()
  try {
    for (const look of [lookAtModes, lookAtOwners, runHostilePrograms, lookAtTerminal])
      await look(lab, findings)
    await runHostileAgents(lab, findings, every)
  } finally {
    lab.close()
  }
}
