/** What came of the mutants, as tables. */
import type { Outcome, Result } from './campaign.js'
import type { Mutant } from './mutant.js'

/** An equivalent one that was noticed is none, and says so. */
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

export function markdown(results: Result[], mutants: Mutant[]): string {
  const places = new Map(mutants.map((mutant) => [mutant.name, placeOf(mutant)]))
  const totals = totalsOf(results).map(
    ({ rule, mutants, noticed, equivalent, bad }) =>
      `| ${rule} | ${mutants} | ${noticed} | ${equivalent} | ${bad} |`,
  )
  const rules = [...new Set(results.map(({ rule }) => rule))]
  const sections = rules.map((rule) => {
    const rows = results
      .filter((result) => result.rule === rule)
      .map((result) => row(result, places.get(result.name) ?? ''))
    return `## ${rule}\n\n| the program with this change | its place | is noticed by | s |\n|---|---|---|---|\n${rows.join('\n')}\n`
  })
  return `# Mutants

The program with one barrier, check or order taken out at a time, and the first test that notices. Made by
\`npm run stress:mutants -- --markdown FILE\`; see [docs/mutants.md](../../docs/mutants.md).

| rule | mutants | noticed | equivalent | not noticed |
|---|---|---|---|---|
${totals.join('\n')}

${sections.join('\n')}`
}

function placeOf(mutant: Mutant): string {
  if ('step' in mutant) return `step \`${mutant.step}\` left out`
  return `\`${mutant.place}\` at ${Object.keys(mutant.edits)
    .map((address) => `\`${address}\``)
    .join(', ')}`
}

function row({ name, outcome, suite, title, why, seconds }: Result, place: string): string {
  const by = {
    noticed: `\`${suite}\`: ${title}`,
    equivalent: `nobody can notice: ${why}`,
    survived: '**nobody**',
    broken: '**it is no program**',
    timed_out: '**it hangs**',
  }[outcome]
  return `| ${cell(name)} | ${place} | ${cell(by)} | ${seconds.toFixed(1)} |`
}

function cell(text: string): string {
  return text.replaceAll(/[\n|]/g, ' ')
}
