/** The final report of the fault sweep. */
import type { Experiment } from './real-trial.js'
import type { ScenarioReport, Violation } from './sweep.js'

export function summary(reports: ScenarioReport[]): string {
  const sum = (of: (report: ScenarioReport) => number): number =>
    reports.reduce((total, report) => total + of(report), 0)
  const rows = reports.map((report) => rowOf(report.scenario, report))
  const total = {
    steps: sum(({ steps }) => steps),
    cases: sum(({ cases }) => cases),
    violations: reports.flatMap(({ violations }) => violations),
    seconds: sum(({ seconds }) => seconds),
  }
  return [row(['command', 'steps', 'cases', 'violations', 'seconds']), ...rows, rowOf('all', total)].join(
    '\n',
  )
}

/** The number of cases by fault. */
export function coverage(reports: ScenarioReport[]): string {
  const names = [...new Set(reports.flatMap(({ byFault }) => Object.keys(byFault)))].sort()
  const rows = names.map((name) => {
    const counts = reports.map(({ byFault }) => byFault[name] ?? { cases: 0, injected: 0 })
    const sum = (of: 'cases' | 'injected'): number => counts.reduce((total, count) => total + count[of], 0)
    return `${name.padEnd(40)}${String(sum('cases')).padStart(10)}${String(sum('injected')).padStart(10)}`
  })
  return [`${'fault'.padEnd(40)}${'cases'.padStart(10)}${'steps hit'.padStart(10)}`, ...rows].join('\n')
}

/** One violation of each kind, with the number of its kind. */
export function violationsInShort(violations: Violation[]): string[] {
  const kinds = new Map<string, Violation[]>()
  for (const violation of violations) {
    const kind = `${violation.scenario} ${violation.point} ${withoutChance(violation.broken)}`
    kinds.set(kind, [...(kinds.get(kind) ?? []), violation])
  }
  return [...kinds.values()].map((alike) => describeViolation(alike[0] as Violation, alike.length))
}

export function describeViolation(violation: Violation, count = 1): string {
  const { scenario, step, fault, point, order, broken } = violation
  return [
    `${scenario}, ${fault} at step ${step} (${point}); ${order}${count > 1 ? `; and ${count - 1} more like it` : ''}`,
    `  must hold: ${broken}`,
    `  again: npm run stress:faults -- --scenarios ${scenario} --step ${step} --fault '${fault}'`,
  ].join('\n')
}

export function describeExperiment({ name, skipped, cases, exits, broken }: Experiment): string {
  if (skipped !== undefined) return `${name}: skipped, ${skipped}`
  const ends = Object.entries(exits).map(([code, count]) => `${count} exit ${code}`)
  return [`${name}: ${cases} cases (${ends.join(', ')}), ${broken.length} violations`, ...broken].join('\n  ')
}

function rowOf(
  name: string,
  { steps, cases, violations, seconds }: Pick<ScenarioReport, 'steps' | 'cases' | 'violations' | 'seconds'>,
): string {
  return row([name, steps, cases, violations.length, Math.round(seconds)])
}

function row([first, ...rest]: (string | number)[]): string {
  return `${String(first).padEnd(24)}${rest.map((cell) => String(cell).padStart(11)).join('')}`
}

function withoutChance(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,}|\d+-\w+\.tmp|E[A-Z]{2,}/g, '…')
    .slice(0, 200)
}
