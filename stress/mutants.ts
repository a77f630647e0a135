// npm run stress:mutants -- [--only RULE|NAME]… [--jobs N] [--json FILE [--left]] [--markdown FILE]
// Removes each barrier and each check in turn; the suites must notice. FILE keeps the results of mutants that this run does
// not try. --left tries the mutants without a good result in FILE.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { MUTANTS } from './mutants/all.js'
import { type Result, tryAll } from './mutants/campaign.js'
import { isBad, line, markdown, summary } from './mutants/report.js'
import { countOf, recordResult } from './support/result.mjs'

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    jobs: { type: 'string', default: '1' },
    json: { type: 'string' },
    left: { type: 'boolean', default: false },
    markdown: { type: 'string' },
  },
})

const { only, json } = values
const isMeant = (mutant: { rule: string; name: string }): boolean =>
  only.length === 0 || only.some((word) => mutant.rule === word || mutant.name.includes(word))
const results = new Map<string, Result>()
const kept =
  json !== undefined && existsSync(json) ? (JSON.parse(readFileSync(json, 'utf8')) as Result[]) : []
for (const result of kept) results.set(result.name, result)
const knownResults = (): Result[] =>
  MUTANTS.flatMap(({ name, rule }) => {
    const result = results.get(name)
    return result === undefined ? [] : [{ ...result, rule }]
  })

const isLeft = ({ name }: { name: string }): boolean => {
  const result = results.get(name)
  return !values.left || result === undefined || isBad(result)
}
const chosen = MUTANTS.filter((mutant) => isMeant(mutant) && isLeft(mutant))
if (MUTANTS.filter(isMeant).length === 0) {
  console.error(`no mutant has the rule or the name ${only.join(', ')}`)
  process.exit(2)
}

await tryAll(chosen, Number(values.jobs), (result) => {
  results.set(result.name, result)
  console.log(line(result))
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(knownResults(), null, 2)}\n`)
})
const all = knownResults()
console.log(`\n${summary(all)}`)
for (const result of all.filter(isBad)) console.log(line(result))
recordResult({
  lab: 'mutants',
  sample: countOf(all.length, MUTANTS.length, 'mutants'),
  cases: all.length,
  violations: all.filter(isBad).length,
})
if (values.markdown !== undefined) writeFileSync(values.markdown, markdown(all, MUTANTS))
process.exit(all.some(isBad) ? 1 : 0)
