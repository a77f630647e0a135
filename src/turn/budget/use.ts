/** The use of budgets, for people. Takes no lock. */
import { HOME_ACCOUNT } from '../../format.js'
import type { Cap } from '../../schema/budget.js'
import { endOfWindow, windowsNow } from '../../session/budget/calendar.js'
import type { Store } from '../../storage/store.js'
import { latestWindows, usedOf, windowOf } from './account.js'
import { completeEntries, refreshed } from './rebuild.js'
import type { BudgetRules } from './scopes.js'

export interface CapUse {
  cap: Cap
  spent: number
  /** By requests that run now. */
  held: number
  /** When the window ends, in ms. Null: never. */
  refillsAtMs: number | null
}

/** `scope`: an agent, or `HOME_ACCOUNT`. */
export function useOf(
  store: Store,
  scope: string,
  caps: Cap[],
  { zone }: Pick<BudgetRules, 'zone'>,
  nowMs: number,
): CapUse[] {
  const { accounts } = store
  if (accounts === undefined || caps.length === 0) return []
  const known = completeEntries(store, { id: scope, path: null, caps }, accounts.read(scope))
  const { entries } = refreshed(store, known, HOME_ACCOUNT)
  const timeZone = zone() ?? 'UTC'
  const periods = caps.flatMap(({ per }) => per ?? [])
  const windows = windowsNow(periods, nowMs, timeZone, latestWindows(entries))
  return caps.map((cap) => {
    const window = windowOf(cap, windows)
    const { spent, held } = usedOf(cap, window, entries)
    return {
      cap,
      spent: Math.max(0, spent),
      held: [...held.values()].reduce((all, each) => all + each, 0),
      refillsAtMs: cap.per === undefined ? null : endOfWindow(cap.per, window, nowMs, timeZone),
    }
  })
}
