// npm run stress:mutants -- [--only RULE|NAME] [--jobs N] [--json FILE] [--markdown FILE]
// Takes out each barrier and each check in turn; the suites must notice. With --json what FILE has of the others is kept.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { MUTANTS } from './mutants/all.js'
import { type Result, tryAll } from './mutants/campaign.js'
import { isBad, line, markdown, summary } from './mutants/report.js'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    jobs: { type: 'string', default: '1' },
    json: { type: 'string' },
    markdown: { type: 'string' },
  },
})

const { only, json } = values
const chosen = MUTANTS.filter(({ rule, name }) => only === undefined || rule === only || name.includes(only))
if (chosen.length === 0) {
  console.error(`no mutant has the rule or the name ${only}`)
  process.exit(2)
}

const results = new Map<string, Result>()
const kept =
  json !== undefined && existsSync(json) ? (JSON.parse(readFileSync(json, 'utf8')) as Result[]) : []
for (const result of kept) results.set(result.name, result)
const known = (): Result[] =>
  MUTANTS.flatMap(({ name, rule }) => {
    const result = results.get(name)
    return result === undefined ? [] : [{ ...result, rule }]
  })

await tryAll(chosen, Number(values.jobs), (result) => {
  results.set(result.name, result)
  console.log(line(result))
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(known(), null, 2)}\n`)
})
const all = known()
console.log(`\n${summary(all)}`)
for (const result of all.filter(isBad)) console.log(line(result))
if (values.markdown !== undefined) writeFileSync(values.markdown, markdown(all))
process.exit(all.some(isBad) ? 1 : 0)
