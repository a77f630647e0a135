/** The results of the mutants, as tables. */

import type { RuleMutant } from './all.js'
import type { Outcome, Result } from './campaign.js'

/** A noticed mutant that claims to be equivalent is bad too. */
export function isBad({ outcome, why }: Result): boolean {
  return ['survived', 'broken', 'timed_out'].includes(outcome) || (outcome === 'noticed' && why !== null)
}

export function line(result: Result): string {
  const { rule, name, seconds } = result
  return `${WORDS[result.outcome].padEnd(10)} ${seconds.toFixed(1).padStart(6)} s  ${rule}: ${name}${noticedBy(result)}`
}

const WORDS: Record<Outcome, string> = {
  noticed: 'noticed',
  survived: 'SURVIVED',
  equivalent: 'equivalent',
  broken: 'BROKEN',
  timed_out: 'TIMED OUT',
}

function noticedBy({ outcome, suite, title, error }: Result): string {
  if (outcome === 'noticed') return `\n${' '.repeat(21)}by ${suite}: ${title}`
  return error === null ? '' : `\n${' '.repeat(21)}${suite}: ${title ?? ''} ${error}`
}

interface Total {
  rule: string
  mutants: number
  noticed: number
  equivalent: number
  bad: number
}

function totalsOf(results: Result[]): Total[] {
  const rules = [...new Set(results.map(({ rule }) => rule))]
  const of = (rule: string, all: Result[]): Total => ({
    rule,
    mutants: all.length,
    noticed: all.filter((each) => each.outcome === 'noticed' && !isBad(each)).length,
    equivalent: all.filter(({ outcome }) => outcome === 'equivalent').length,
    bad: all.filter(isBad).length,
  })
  const each = rules.map((rule) =>
    of(
      rule,
      results.filter((result) => result.rule === rule),
    ),
  )
  return [...each, of('all', results)]
}

export function summary(results: Result[]): string {
  const rows = totalsOf(results).map(
    ({ rule, mutants, noticed, equivalent, bad }) =>
      `${rule.padEnd(18)}${[mutants, noticed, equivalent, bad].map((count) => String(count).padStart(12)).join('')}`,
  )
  const head = `${'rule'.padEnd(18)}${['mutants', 'noticed', 'equivalent', 'not noticed'].map((word) => word.padStart(12)).join('')}`
  return [head, ...rows].join('\n')
}

/** All mutants; a mutant without a result shows the tests that must notice it. */
export function markdown(results: Result[], mutants: RuleMutant[]): string {
  const byName = new Map(results.map((result) => [result.name, result]))
  const totals = totalsOf(results).map(
    ({ rule, mutants, noticed, equivalent, bad }) =>
      `| ${rule} | ${mutants} | ${noticed} | ${equivalent} | ${bad} |`,
  )
  const rules = [...new Set(mutants.map(({ rule }) => rule))]
  const sections = rules.map((rule) => {
    const rows = mutants
      .filter((mutant) => mutant.rule === rule)
      .map((mutant) => row(mutant, byName.get(mutant.name)))
    return `## ${rule}\n\n| the defect | its code | is noticed by | s |\n|---|---|---|---|\n${rows.join('\n')}\n`
  })
  return `# Mutants

Each mutant is the program with one barrier, check or order taken out. The table shows the code that it changes and the first test that
notices it. A row without a time was not tried, and names the tests that must notice it.
\`npm run stress:mutants -- --json FILE --markdown FILE.md\` makes this page.

Tried: ${results.length} of ${mutants.length}.

| rule | mutants | noticed | equivalent | not noticed |
|---|---|---|---|---|
${totals.join('\n')}

${sections.join('\n')}`
}

function placeOf(mutant: RuleMutant): string {
  if ('step' in mutant) return `step \`${mutant.step}\` left out`
  return mutant.edits.map(([code]) => `\`\`${code.replaceAll(/\s+/g, ' ')}\`\``).join(', ')
}

function row(mutant: RuleMutant, result: Result | undefined): string {
  const seconds = result === undefined ? '' : result.seconds.toFixed(1)
  return `| ${cell(mutant.name)} | ${placeOf(mutant)} | ${cell(noticerOf(mutant, result))} | ${seconds} |`
}

function noticerOf({ suites, equivalent }: RuleMutant, result: Result | undefined): string {
  if (equivalent !== undefined) return `no test can: ${equivalent}`
  if (result === undefined) return suites.map((suite) => `\`${suite}\``).join(', ')
  return {
    noticed: `\`${result.suite}\`: ${result.title}`,
    equivalent: '',
    survived: '**no test**',
    broken: '**the program does not run**',
    timed_out: '**it hangs**',
  }[result.outcome]
}

function cell(text: string): string {
  return text.replaceAll(/[\n|]/g, ' ')
}
