/** What the sweep says at its end. */
import type { ScenarioReport, Violation } from './sweep.js'

export function summary(reports: ScenarioReport[]): string {
  const rows = reports.map(({ scenario, points, killed, nestedKilled, violations, seconds }) =>
    row([scenario, points, killed, nestedKilled, violations.length, Math.round(seconds)]),
  )
  const sum = (of: (report: ScenarioReport) => number): number =>
    reports.reduce((total, report) => total + of(report), 0)
  const total = row([
    'all',
    sum(({ points }) => points),
    sum(({ killed }) => killed),
    sum(({ nestedKilled }) => nestedKilled),
    sum(({ violations }) => violations.length),
    Math.round(sum(({ seconds }) => seconds)),
  ])
  return [row(['command', 'points', 'killed', 'recovery', 'violations', 'seconds']), ...rows, total].join(
    '\n',
  )
}

/** Kills by command and system call. */
export function coverage(reports: ScenarioReport[]): string {
  const syscalls = [...new Set(reports.flatMap(({ bySyscall }) => Object.keys(bySyscall)))].sort()
  const rows = reports.map(({ scenario, bySyscall }) =>
    row([scenario, ...syscalls.map((name) => bySyscall[name] ?? 0)]),
  )
  return [row(['command', ...syscalls]), ...rows].join('\n')
}

export function describeViolation({ scenario, point, nested, order, broken }: Violation): string {
  const where = ({ syscall, n, what }: Violation['point']): string => `${syscall} ${n}${what && ` (${what})`}`
  const recovery = nested === undefined ? '' : `, recovery killed before ${where(nested)}`
  const flags = [
    `--commands ${scenario} --point ${point.syscall}:${point.n}`,
    nested === undefined ? '' : ` --nested-point ${nested.syscall}:${nested.n}`,
  ]
  return [
    `${scenario} killed before ${where(point)}${recovery}${order === undefined ? '' : `; ${order}`}`,
    `  must hold: ${broken}`,
    `  again: npm run stress:kill -- ${flags.join('')}`,
  ].join('\n')
}

function row([first, ...rest]: (string | number)[]): string {
  return `${String(first).padEnd(16)}${rest.map((cell) => String(cell).padStart(11)).join('')}`
}
