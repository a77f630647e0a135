/** The output of `usage` without `--json`, and the total in `show`. */
import type { UsageRow, UsedView } from '../../schema/output-overview.js'
import type { SessionUsage } from '../../schema/types.js'
import { table } from './table.js'

const COUNTS = ['TURNS', 'INPUT', 'CACHED', 'WRITTEN', 'OUTPUT', 'REASONING', 'COST']

/** The name is the last column, so that a narrow terminal cuts no number. */
export function usageText({ by, rows, total }: UsedView): string {
  const lines = table([...COUNTS, by.toUpperCase()], [...rows, TOTAL], (row) =>
    row === TOTAL ? [...countsOf(total), 'total'] : [...countsOf(row as UsageRow), nameOf(row as UsageRow)],
  )
  return `${lines}\n${knowledgeOf(total)}`
}

/** One line for `show`. */
export function totalText(usage: SessionUsage): string {
  const { input_tokens, output_tokens, cost_usd } = usage
  const cost = cost_usd === undefined ? '' : `, ${dollars(cost_usd)}`
  return `${number(input_tokens)} input and ${number(output_tokens)} output tokens${cost}; ${knowledgeOf(usage)}`
}

const TOTAL = {}

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

function nameOf({ path, model, day }: UsageRow): string {
  return path ?? day ?? model ?? '(unknown)'
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
