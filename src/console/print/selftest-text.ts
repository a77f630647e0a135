/** The output of `selftest` without `--json`: a row for each check, then what helps. */
import type { SelftestCheck, SelftestReport } from '../../schema/output-home.js'
import { oneLine } from '../output.js'
import { table } from './table.js'

const WORDS: Record<SelftestCheck['verdict'], string> = {
  holds: 'holds',
  does_not_hold: 'does not hold',
  unknown: 'unknown',
}

export function selftestText({ home, checks }: SelftestReport): string {
  const rows = table(['check', 'result', 'detail'], checks, ({ what, verdict, detail }) => [
    what,
    WORDS[verdict],
    oneLine(detail),
  ])
  const advice = checks.flatMap(({ what, next }) =>
    next === null ? [] : [`next, for "${what}": ${oneLine(next)}`],
  )
  return [
    rows,
    ...(advice.length === 0 ? [] : ['', ...advice]),
    '',
    `${oneLine(home)}: ${countsOf(checks)}`,
  ].join('\n')
}

function countsOf(checks: SelftestCheck[]): string {
  const count = (verdict: SelftestCheck['verdict']): number =>
    checks.filter((each) => each.verdict === verdict).length
  const failed = count('does_not_hold')
  return `${count('holds')} hold, ${failed} ${failed === 1 ? 'does' : 'do'} not hold, ${count('unknown')} unknown`
}
