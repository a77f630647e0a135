/** The final report of the kill sweep. */
import { MOMENTS } from './named.js'
import type { ScenarioReport, Violation } from './swept.js'

const COLUMNS = ['points', 'killed', 'states', 'recovery', 'states', 'violations', 'seconds']

export function headLine(): string {
  return row(['scenario', ...COLUMNS])
}

export function scenarioLine(report: ScenarioReport): string {
  return row([report.scenario, ...figures([report])])
}

/** Totals by command, over all its scenarios. `recovery` counts the kills inside the recovery that follows. */
export function summary(reports: ScenarioReport[]): string {
  const rows = [...byCommand(reports)].map(([command, its]) => row([command, ...figures(its)]))
  return [row(['command', ...COLUMNS]), ...rows, row(['all', ...figures(reports)])].join('\n')
}

function figures(reports: ScenarioReport[]): number[] {
  const sum = (of: (report: ScenarioReport) => number): number =>
    reports.reduce((total, report) => total + of(report), 0)
  return [
    sum(({ points }) => points),
    sum(({ killed }) => killed),
    sum(({ states }) => states),
    sum(({ nestedKilled }) => nestedKilled),
    sum(({ nestedStates }) => nestedStates),
    sum(({ violations }) => violations.length),
    Math.round(sum(({ seconds }) => seconds)),
  ]
}

function byCommand(reports: ScenarioReport[]): Map<string, ScenarioReport[]> {
  const commands = new Map<string, ScenarioReport[]>()
  for (const report of reports) {
    const command = report.scenario.split('-')[0] as string
    commands.set(command, [...(commands.get(command) ?? []), report])
  }
  return commands
}

/** The number of kills by command and system call. */
export function coverage(reports: ScenarioReport[]): string {
  const syscalls = [...new Set(reports.flatMap(({ bySyscall }) => Object.keys(bySyscall)))].sort()
  const rows = [...byCommand(reports)].map(([command, its]) =>
    row([command, ...syscalls.map((name) => sumOf(its, ({ bySyscall }) => bySyscall[name]))]),
  )
  return [row(['command', ...syscalls]), ...rows].join('\n')
}

/** The number of kills at each named moment, with the violations that they caused. */
export function moments(reports: ScenarioReport[]): string {
  const names = new Set([...MOMENTS.map(({ name }) => name), 'in mid-inference'])
  const lines = [...names].map((name) => {
    const kills = sumOf(reports, ({ named }) => named[name])
    const broken = reports.flatMap(({ violations }) => violations).filter(({ point }) => point.named === name)
    return `${name.padEnd(44)}${String(kills).padStart(8)}${String(broken.length).padStart(12)}`
  })
  return [`${'moment'.padEnd(44)}${'killed'.padStart(8)}${'violations'.padStart(12)}`, ...lines].join('\n')
}

function sumOf(reports: ScenarioReport[], of: (report: ScenarioReport) => number | undefined): number {
  return reports.reduce((total, report) => total + (of(report) ?? 0), 0)
}

export function describeViolation({ scenario, point, nested, order, broken }: Violation): string {
  const where = ({ syscall, n, what }: Violation['point']): string => `${syscall} ${n}${what && ` (${what})`}`
  const recovery = nested === undefined ? '' : `, recovery killed before ${where(nested)}`
  const isInPostgres = /^un(sent|answered)$/.test(point.syscall)
  const flags = [
    isInPostgres ? '--postgres ' : '',
    `--commands ${scenario} --point ${point.syscall}:${point.n}`,
    nested === undefined ? '' : ` --nested-point ${nested.syscall}:${nested.n}`,
  ]
  return [
    `${scenario} killed ${isInPostgres ? 'at' : 'before'} ${where(point)}${recovery}${order === undefined ? '' : `; ${order}`}`,
    `  must hold: ${broken}`,
    `  again: npm run stress:kill -- ${flags.join('')}`,
  ].join('\n')
}

function row([first, ...rest]: (string | number)[]): string {
  return `${String(first).padEnd(20)}${rest.map((cell) => String(cell).padStart(11)).join('')}`
}
