/** Checks a budget before it is set. */

import { clock } from '../clock.js'
import { SubstratError } from '../errors.js'
import type { Provider } from '../provider/contract.js'
import type { Cap } from '../schema/budget.js'
import { amountText, formatCap, formatCaps } from '../session/budget/caps.js'
import type { State } from '../session/state.js'
import { noAccountsError } from '../turn/budget/turn-budget.js'
import { useOf } from '../turn/budget/use.js'
import type { Context } from './context.js'
import { wordOf } from './outcome.js'

export interface Counted {
  provider: string
  reports: Provider['reports']
}

/** Throws PROVIDER_MISCONFIGURED for a cap that the provider does not report, and USAGE for a window without a time zone. */
export function checkBudget({ store, bounds }: Context, caps: Cap[], { provider, reports }: Counted): void {
  if (caps.length === 0) return
  if (store.accounts === undefined) throw noAccountsError(store)
  if (caps.some(({ unit }) => unit === 'usd') && reports?.usd !== true) {
    const others = caps.filter(({ unit }) => unit !== 'usd')
    const without = others.length === 0 ? 'tokens=NUMBER' : formatCaps(others)
    throw new SubstratError(
      'USAGE',
      `a budget in usd would not hold: the provider ${provider} reports no cost`,
      {
        hint: `count something that it reports: --budget ${without}`,
        facts: { provider },
      },
    )
  }
  const windowed = caps.find(({ per }) => per !== undefined)
  if (windowed === undefined || bounds.budget.zone() !== undefined) return
  throw new SubstratError('USAGE', `${formatCap(windowed)} needs a time zone, and this machine names none`, {
    hint: 'substrat config set timezone Europe/Berlin',
  })
}

/** A new cap must leave something: the use so far counts. */
export function checkUsed({ store, bounds }: Context, state: State, caps: Cap[]): void {
  for (const { cap, spent } of useOf(store, state.id, caps, bounds.budget, clock.now())) {
    if (spent < cap.max) continue
    throw new SubstratError(
      'USAGE',
      `${formatCap(cap)} is not more than ${state.path} and the agents below it have used: ${amountText(cap.unit, spent)}`,
      {
        hint: `choose more, or remove its caps: substrat set ${wordOf(state)} --budget ''`,
        facts: { agent_id: state.id },
      },
    )
  }
}
