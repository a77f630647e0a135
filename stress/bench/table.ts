/** The table that a run prints and records: the measured values, their targets, and the lower bounds. */

export interface Row {
  what: string
  /** The measurement in words, with the base of the ratio. */
  measured: string
  value: number | null
  /** From the fastest runs: other load on the machine only adds time. */
  valueOfMinima: number | null
  target: string
  floor: string
  /** Null without a target or a measurement. */
  isMet: boolean | null
}

export interface Target {
  atMost?: number
  atLeast?: number
  floor?: string
}

const NONE: Target = {}

export function row(
  what: string,
  value: number | null,
  measured: string,
  target: Target = NONE,
  valueOfMinima: number | null = null,
): Row {
  const { atMost, atLeast, floor = '' } = target
  const held = atMost === undefined ? (atLeast === undefined ? '' : `>= ${atLeast}`) : `<= ${atMost}`
  const isMet =
    value === null || held === ''
      ? null
      : value <= (atMost ?? Number.POSITIVE_INFINITY) && value >= (atLeast ?? Number.NEGATIVE_INFINITY)
  return { what, measured, value, valueOfMinima, target: held, floor, isMet }
}

export interface Measured {
  median: number
  least: number
}

export function ratio(what: string, a: Measured, b: Measured, unit: string, target: Target = NONE): Row {
  const [x, y] = [a.median, b.median]
  const value = x / y
  const digits = Math.min(x, y) < 10 ? 1 : 0
  const measured = `${value.toFixed(2)}x (${x.toFixed(digits)} : ${y.toFixed(digits)} ${unit})`
  return row(what, value, measured, target, a.least / b.least)
}

/** A row for a measurement that is not available here, with the reason. */
export function skippedRow(what: string, why: string, target: Target = NONE): Row {
  return row(what, null, `skipped: ${why}`, target)
}

export function print(rows: Row[]): void {
  const cells = rows.map(({ what, measured, target, floor, isMet }) => [
    what,
    measured,
    target,
    floor,
    isMet === null ? '' : isMet ? 'yes' : 'NO',
  ])
  const all = [['what', 'measured', 'target', 'floor', 'met'], ...cells]
  const widths = all[0]?.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0))) ?? []
  for (const line of all)
    console.log(
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}
