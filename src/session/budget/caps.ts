/** Budgets as people write them: `tokens=2M/day,usd=5`. */
import { readableTime } from '../../clock.js'
import type { Amounts, Cap } from '../../schema/budget.js'
import { BUDGET_PERIODS, BUDGET_UNITS, type BudgetPeriod, type BudgetUnit } from '../../schema/words.js'
import { isPeriod } from './calendar.js'

const SYNTAX = 'UNIT=NUMBER[/PERIOD], as in tokens=2M/day,usd=5'
const FACTORS: Record<string, number> = { '': 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9 }
const TIME_MS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
/** Sums of many agents stay exact. */
const COUNT_MAX = 1e15
const USD_MAX = 1e9

/** The caps, or why the text has none: the end of a sentence. An empty text has no caps. */
export function parseCaps(text: string): Cap[] | string {
  const caps: Cap[] = []
  for (const part of text.split(',').map((each) => each.trim())) {
    if (part === '' && text.trim() === '') continue
    const cap = parseCap(part)
    if (typeof cap === 'string') return cap
    if (caps.some(({ unit, per }) => unit === cap.unit && per === cap.per))
      return `it has two caps ${formatCap({ ...cap }).replace(/=[^/]*/, '')}`
    caps.push(cap)
  }
  return caps
}

/** Amounts without a period: `tokens=200k,usd=1`. */
export function parseAmounts(text: string): Amounts | string {
  const caps = parseCaps(text)
  if (typeof caps === 'string') return caps
  if (caps.length === 0) return 'it is empty'
  const withPeriod = caps.find(({ per }) => per !== undefined)
  if (withPeriod !== undefined) return `an amount has no period: ${formatCap(withPeriod)}`
  return Object.fromEntries(caps.map(({ unit, max }) => [FIELDS[unit], max]))
}

function parseCap(part: string): Cap | string {
  const [, unit = '', number = '', period] = /^([^=]*)=([^/]*)(?:\/(.*))?$/.exec(part) ?? []
  if (!isUnit(unit))
    return `${JSON.stringify(part)} is not ${SYNTAX}; the units are ${BUDGET_UNITS.join(', ')}`
  if (period !== undefined && !isPeriod(period))
    return `${JSON.stringify(period)} is not a period; the periods are ${BUDGET_PERIODS.join(', ')}`
  const max = parseMax(unit, number)
  if (typeof max === 'string') return `${part}: ${max}`
  return period === undefined ? { unit, max } : { unit, max, per: period as BudgetPeriod }
}

function parseMax(unit: BudgetUnit, text: string): number | string {
  const [, digits, suffix = ''] = /^(-?\d+(?:\.\d+)?)([a-zA-Z]*)$/.exec(text) ?? []
  const factor = unit === 'time' ? TIME_MS[suffix] : FACTORS[suffix]
  if (digits === undefined || factor === undefined)
    return unit === 'time' ? 'a time has a unit: 30m, 2h or 1d' : 'a number is written as 5, 200k or 2M'
  const max = Number((Number(digits) * factor).toPrecision(15))
  if (max <= 0) return 'a cap is larger than 0'
  if (max > (unit === 'usd' ? USD_MAX : COUNT_MAX)) return 'the number is too large'
  if (unit !== 'usd' && !Number.isInteger(max)) return 'the cap is a whole number'
  return max
}

function isUnit(word: string): word is BudgetUnit {
  return BUDGET_UNITS.some((unit) => unit === word)
}

/** The field of a unit in `Amounts`. */
export const FIELDS: Record<BudgetUnit, keyof Amounts> = {
  tokens: 'tokens',
  usd: 'usd',
  turns: 'turns',
  requests: 'requests',
  time: 'time_ms',
}

export function formatCaps(caps: Cap[]): string {
  return caps.map(formatCap).join(',')
}

/** As `parseAmounts` reads them, never less. */
export function formatAmounts(amounts: Amounts): string {
  return formatCaps(
    BUDGET_UNITS.flatMap((unit) => {
      const max = amounts[FIELDS[unit]] ?? 0
      return max > 0 ? [{ unit, max }] : []
    }),
  )
}

export function formatCap({ unit, max, per }: Cap): string {
  return `${unit}=${formatMax(unit, max)}${per === undefined ? '' : `/${per}`}`
}

function formatMax(unit: BudgetUnit, max: number): string {
  if (unit === 'usd') return String(Math.round(max * 1e6) / 1e6)
  const scales: [string, number][] =
    unit === 'time'
      ? TIMES
      : [
          ['G', 1e9],
          ['M', 1e6],
          ['k', 1e3],
        ]
  const [suffix, scale] = scales.find(
    ([, each]) => max >= each && max % (unit === 'time' ? each : each / 10) === 0,
  ) ?? ['', 1]
  if (unit === 'time' && suffix === '') return `${Math.ceil(max / 1000)}s`
  return `${max / scale}${suffix}`
}

const TIMES: [string, number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
]

/** The amount for a person: `200,000 tokens`, `$1.25`, `3 turns`, `90 s`. */
export function amountText(unit: BudgetUnit, amount: number): string {
  if (unit === 'usd')
    return `$${(Math.round(amount * 1e4) / 1e4).toLocaleString('en-US', { maximumFractionDigits: 4 })}`
  if (unit === 'time') return `${Math.round(amount / 1000).toLocaleString('en-US')} s`
  const noun = amount === 1 ? unit.slice(0, -1) : unit
  return `${amount.toLocaleString('en-US')} ${noun}`
}

/** When a used-up budget allows more, as the end of a sentence. */
export function refillText(notBefore: string | null): string {
  return notBefore === null ? 'it does not refill' : `it refills at ${readableTime(notBefore)}`
}
