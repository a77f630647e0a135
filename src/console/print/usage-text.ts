/** The output of `usage` without `--json`, and the total in `show`. */
import type { UsageRow, UsedView } from '../../schema/output-overview.js'
import type { SessionUsage } from '../../schema/types.js'
import { budgetText } from './budget-text.js'
import { table } from './table.js'
import { displayWidth, fitted } from './width.js'

const COUNTS = ['TURNS', 'INPUT', 'CACHED', 'WRITTEN', 'OUTPUT', 'REASONING', 'COST']

/** Left out in this order, if a terminal has no room for the names. */
const OPTIONAL = ['WRITTEN', 'CACHED', 'REASONING', 'COST']
const NAME_COLUMNS_MIN = 20

/** `columns`: of a terminal, where no line is wider. The name is the last column: it is cut off before any number. */
export function usageText(
  { by, rows, total, budgets = [] }: UsedView,
  columns = Number.POSITIVE_INFINITY,
): string {
  const cells = [
    [...COUNTS, by.toUpperCase()],
    ...rows.map((row) => [...countsOf(row), nameOf(row)]),
    [...countsOf(total), 'total'],
  ]
  const [head = [], ...lines] = narrowed(cells, columns)
  const text = table(head, lines, (line) => line)
  const fits = text.split('\n').map((line) => fitted(line, columns))
  const left = budgets.map((use) => fitted(`budget ${budgetText(use)}`, columns))
  return [...fits, knowledgeOf(total), ...left].join('\n')
}

/** Without the optional columns for which there is no room, first those without any count. */
function narrowed(rows: string[][], columns: number): string[][] {
  const isEmpty = (title: string): boolean => {
    const at = rows[0]?.indexOf(title) ?? -1
    return rows.slice(1).every((row) => row[at] === '-')
  }
  let shown = rows
  for (const title of [...OPTIONAL.filter(isEmpty), ...OPTIONAL.filter((title) => !isEmpty(title))]) {
    const widths = (shown[0] ?? []).map((_, at) =>
      Math.max(...shown.map((row) => displayWidth(row[at] ?? ''))),
    )
    const names = widths.pop() ?? 0
    const counts = widths.reduce((sum, width) => sum + width + 2, 0)
    if (counts + Math.min(names, NAME_COLUMNS_MIN) <= columns) break
    const at = shown[0]?.indexOf(title)
    shown = shown.map((row) => row.filter((_, index) => index !== at))
  }
  return shown
}

/** One line for `show`. */
export function totalText(usage: SessionUsage): string {
  const { input_tokens, output_tokens, cost_usd } = usage
  const cost = cost_usd === undefined ? '' : `, ${dollars(cost_usd)}`
  return `${number(input_tokens)} input and ${number(output_tokens)} output tokens${cost}; ${knowledgeOf(usage)}`
}

function countsOf(usage: SessionUsage): string[] {
  const { runs, runs_with_usage, input_tokens, output_tokens, cost_usd } = usage
  const isUnknown = runs > 0 && runs_with_usage === 0
  const parts = [usage.cache_read_tokens, usage.cache_write_tokens]
  const [read, written] = parts.map((count) => (count === undefined ? '-' : number(count)))
  const reasoning = usage.reasoning_tokens === undefined ? '-' : number(usage.reasoning_tokens)
  const cost = cost_usd === undefined ? '-' : dollars(cost_usd)
  return [
    number(runs),
    isUnknown ? '-' : number(input_tokens),
    read as string,
    written as string,
    isUnknown ? '-' : number(output_tokens),
    reasoning,
    cost,
  ]
}

/** An unknown usage is not zero, so the line says for how many turns it is known. */
function knowledgeOf({ runs, runs_with_usage, runs_with_cost }: SessionUsage): string {
  const turns = `${number(runs)} ${runs === 1 ? 'turn' : 'turns'}`
  return `tokens known for ${number(runs_with_usage)} of ${turns}, cost for ${runs_with_cost === 0 ? 'none' : number(runs_with_cost)}`
}

function nameOf({ path, removed_at, model, day, schedule }: UsageRow): string {
  if (schedule !== undefined) return schedule === null ? '(no schedule)' : `${path} ${schedule}`
  return (removed_at === undefined ? path : `${path} (removed)`) ?? day ?? model ?? '(unknown)'
}

function number(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** A small cost must not look like none. */
function dollars(cost: number): string {
  if (cost > 0 && cost < 0.0001) return '<$0.0001'
  const [whole, fraction] = cost.toFixed(cost < 1 ? 4 : 2).split('.')
  return `$${number(Number(whole))}.${fraction}`
}
