/**
 * The verdict of the accounts of budgets about the next request of an agent.
 *
 * Invariants: the logs are the truth. An entry of an agent that no process holds may be too high, because its process died between its
 * entry and its record; it is read from the log before it refuses anything. An entry is never too low.
 */
import type { Amounts, BudgetState, Cap, WindowIds } from '../../schema/budget.js'
import { BUDGET_PERIODS, type BudgetPeriod } from '../../schema/words.js'
import { FIELDS } from '../../session/budget/caps.js'
import { WINDOWS } from '../../session/fold/budget.js'
import type { Account, AccountEntry } from '../../storage/store.js'
import type { Scope } from './scopes.js'

/** A cap that the next request would exceed. */
export interface Excess {
  scope: Scope
  cap: Cap
  /** The window. Empty for a total. */
  window: string
  spent: number
  /** By requests that run now, of other agents. */
  held: number
  /** The next request's own. */
  next: number
}

export interface Verdict {
  excesses: Excess[]
  /** Whether the excess ends if running requests use less than they hold. */
  isBusy: boolean
}

export function entryOf(agentId: string, budget: BudgetState): AccountEntry {
  const windows: AccountEntry['windows'] = {}
  for (const name of WINDOWS) {
    const window = budget[name]
    if (window !== undefined)
      windows[name] = { id: window.id, spent: difference(window.spent, window.granted ?? {}) }
  }
  const { hold } = budget
  return { agentId, windows, ...(hold === undefined ? {} : { hold: larger(hold.amounts, hold.used) }) }
}

const AMOUNTS = ['tokens', 'usd', 'turns', 'requests', 'time_ms'] as const

function difference(a: Amounts, b: Amounts): Amounts {
  return Object.fromEntries(AMOUNTS.map((field) => [field, (a[field] ?? 0) - (b[field] ?? 0)]))
}

export function larger(a: Amounts, b: Amounts): Amounts {
  return Object.fromEntries(AMOUNTS.map((field) => [field, Math.max(a[field] ?? 0, b[field] ?? 0)]))
}

/** The latest windows that any of these entries knows. */
export function latestWindows(entries: Iterable<AccountEntry>): WindowIds {
  const latest: WindowIds = {}
  for (const { windows } of entries)
    for (const period of BUDGET_PERIODS) {
      const id = windows[period]?.id
      if (id !== undefined && id > (latest[period] ?? '')) latest[period] = id
    }
  return latest
}

/** The use of a cap by all agents below it but one. */
export function usedOf(
  { unit, per }: Cap,
  window: string,
  entries: AccountEntry[],
  except?: string,
): { spent: number; held: Map<string, number> } {
  const field = FIELDS[unit]
  const held = new Map<string, number>()
  let spent = 0
  for (const { agentId, windows, hold } of entries) {
    const found = windows[per ?? 'total']
    if (agentId === except || found === undefined || found.id !== window) continue
    // More than it has used was granted to this agent alone.
    spent += Math.max(0, found.spent[field] ?? 0)
    const amount = hold?.[field] ?? 0
    if (amount > 0) held.set(agentId, amount)
  }
  return { spent: round(spent), held }
}

export function windowOf({ per }: Cap, windows: WindowIds): string {
  return per === undefined ? '' : (windows[per as BudgetPeriod] ?? '')
}

/** Whether the agent may hold what its entry says. `accounts` are those of the scopes. `patient`: of the agents above it. */
export function judge(
  scopes: Scope[],
  accounts: Pick<Account, 'entries'>[],
  own: AccountEntry,
  windows: WindowIds,
): Verdict {
  const excesses: Excess[] = []
  let isBusy = true
  const above = new Set(scopes.map(({ id }) => id))
  scopes.forEach((scope, index) => {
    for (const cap of scope.caps) {
      const next = own.hold?.[FIELDS[cap.unit]] ?? 0
      // A turn that was counted goes on. Any other cap that is reached also stops a request with a hold of nothing.
      if (next === 0 && cap.unit === 'turns') continue
      const window = windowOf(cap, windows)
      const others = usedOf(cap, window, accounts[index]?.entries ?? [], own.agentId)
      const spent = round(others.spent + (own.windows[cap.per ?? 'total']?.spent[FIELDS[cap.unit]] ?? 0))
      const held = round([...others.held.values()].reduce((all, each) => all + each, 0))
      const isOver = next === 0 ? round(spent + held) >= cap.max : round(spent + held + next) > cap.max
      if (!isOver) continue
      excesses.push({ scope, cap, window, spent, held, next })
      // The request of an agent above may run until this agent has ended its turn.
      const stays = [...others.held].filter(([id]) => above.has(id)).reduce((all, [, each]) => all + each, 0)
      if (next === 0 ? round(spent + stays) >= cap.max : round(spent + stays + next) > cap.max) isBusy = false
    }
  })
  return { excesses, isBusy: excesses.length > 0 && isBusy }
}

/** Sums of dollars have no digits that no provider reported. */
function round(amount: number): number {
  return Math.round(amount * 1e9) / 1e9
}
