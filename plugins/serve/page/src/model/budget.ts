/** A budget in words. */
import type { ShownAgent } from '../api/types.js'
import { costText, shortCount } from './time.js'

type BudgetUse = NonNullable<ShownAgent['budgets']>[number]

/** `1.2M of 2M tokens per day left`, with the agent above whose budget it is. */
export function budgetText({ unit, max, per, left, path }: BudgetUse, own: string | null): string {
  const amount = (value: number): string =>
    unit === 'usd' ? costText(value) : unit === 'time' ? `${Math.round(value / 1000)} s` : shortCount(value)
  const noun = unit === 'usd' || unit === 'time' ? '' : ` ${unit}`
  const whose = path === null ? ' (the home)' : path === own ? '' : ` (${path})`
  return `${amount(left)} of ${amount(max)}${noun}${per === null ? '' : ` per ${per}`} left${whose}`
}
