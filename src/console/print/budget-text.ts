/** The rest of a budget, in words. */
import { readableTime } from '../../clock.js'
import type { BudgetUse } from '../../schema/output.js'
import { amountText, formatCap } from '../../session/budget/caps.js'

/** `tokens=2M/day of lead: 1,000 tokens left, 200 tokens held; refills at 2026-11-30 00:00:00Z`. `of`: the agent that `show` shows. */
export function budgetText(use: BudgetUse, of?: string): string {
  const { unit, max, per, held, left, refills_at, path } = use
  const cap = formatCap({ unit, max, ...(per === null ? {} : { per }) })
  const whose = path === of ? '' : ` of ${path ?? 'the home'}`
  const holds = held === 0 ? '' : `, ${amountText(unit, held)} held by running requests`
  const refill = refills_at === null ? '' : `; refills at ${readableTime(refills_at)}`
  return `${cap}${whose}: ${amountText(unit, left)} left${holds}${refill}`
}

/** `12% of its budget left`: of the cap of which the least is left. Empty without a cap. */
export function shareLeft(uses: BudgetUse[] = []): string {
  if (uses.length === 0) return ''
  const least = Math.min(...uses.map(({ left, max }) => left / max))
  return `${Math.floor(least * 100)}% of its budget left`
}
