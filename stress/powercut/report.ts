/** The final report of a survey. */
import type { Ended } from '../machine/process.js'
import { type Dropped, HARMLESS } from './drops.js'
import type { RealReport } from './real.js'
import type { FoundViolation, SurveyReport } from './survey.js'

export function summary(reports: SurveyReport[]): string {
  const cells = (of: SurveyReport): number[] => [
    of.steps,
    of.enumerated,
    of.states,
    of.nestedStates,
    of.commands,
    of.violations.length,
    Math.round(of.seconds),
  ]
  const total = reports
    .map(cells)
    .reduce((sums, row) => sums.map((sum, index) => sum + (row[index] as number)))
  return [
    row(['scenario', 'steps', 'legal', 'states', 'in recovery', 'commands', 'violations', 'seconds']),
    ...reports.map((report) => row([report.scenario, ...cells(report)])),
    row(['all', ...total]),
  ].join('\n')
}

export function describeViolation(violation: FoundViolation, seed: number): string {
  const { scenario, state, lost, order, nested, broken } = violation
  const also = nested === undefined ? '' : ` --nested-state ${nested.state}`
  return [
    `${scenario}, power cut after step ${state.split(':')[0]}${order === undefined ? '' : `; ${order}`}`,
    `  must hold: ${broken}`,
    ...lost.map((what) => `  ${what}`),
    ...(nested === undefined
      ? []
      : ['  and in the recovery from that:', ...nested.lost.map((what) => `  ${what}`)]),
    `  again: npm run stress:powercut -- --seed ${seed} --scenarios ${scenario} --state ${state}${also}`,
  ].join('\n')
}

export function describeDrop({ point, scenarios, states, found }: Dropped): string {
  const tried = `${states} state${states === 1 ? '' : 's'} of ${scenarios} command${scenarios === 1 ? '' : 's'}`
  if (found !== undefined) return `${point}: needed (${found.scenario}: ${found.broken}), after ${tried}`
  const why = HARMLESS[point]
  return `${point}: ${why === undefined ? 'NO TEST NOTICES THAT IT IS MISSING' : `harmless, ${why}`}, in ${tried}`
}

export function describeReal(report: RealReport): string {
  const { fileSystem, skipped, cuts, acknowledged, unacknowledged, violations, seconds } = report
  if (skipped !== undefined) return `skipped: real power cuts of ${fileSystem} (${skipped})`
  const counts = `${cuts} cuts, ${acknowledged} commands acknowledged, ${unacknowledged} not`
  const head = `${fileSystem}: ${counts}, ${violations.length} violations, ${Math.round(seconds)} s`
  return [head, ...violations.slice(0, 5)].join('\n  ')
}

export function describeCommand(argv: string[], { status, stdout, stderr }: Ended): string {
  const said = `${stdout}${stderr}`.trimEnd().replaceAll('\n', '\n    ')
  return `  $ substrat ${argv.join(' ').slice(0, 100)} [${status}]${said === '' ? '' : `\n    ${said}`}`
}

function row([first, ...rest]: (string | number)[]): string {
  return `${String(first).padEnd(20)}${rest.map((cell) => String(cell).padStart(12)).join('')}`
}
