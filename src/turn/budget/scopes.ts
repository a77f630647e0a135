/** The caps over an agent: of the home, of the agents above it, from the root down, and its own. */
import { HOME_ACCOUNT } from '../../format.js'
import type { Amounts, Cap } from '../../schema/budget.js'
import { BUDGET_PERIODS, type BudgetPeriod } from '../../schema/words.js'
import { peekState } from '../../session/peek-state.js'
import type { State } from '../../session/state.js'
import type { Store } from '../../storage/store.js'

export interface BudgetRules {
  /** The home's. */
  caps: Cap[]
  /** The time zone of the windows. Undefined if the machine names none. */
  zone(): string | undefined
  /** The hold of one turn of a program. */
  turn: Amounts
  /** How much a token of cached input counts. */
  cachedWeight: number
}

export interface Scope {
  /** The agent with these caps, or `HOME_ACCOUNT`. */
  id: string
  /** Null for the home. */
  path: string | null
  caps: Cap[]
}

/** Whether an agent may have a cap over it. A home in which no cap was ever set has no accounts. */
export function mayHaveCaps({ accounts }: Pick<Store, 'accounts'>): boolean {
  return accounts?.isUsed === true || accounts?.isDeletable === true
}

/** None for nearly every agent, and then this reads at most the agents above it. */
export function scopesOver(store: Store, state: State, rules: Pick<BudgetRules, 'caps'>): Scope[] {
  const { id, path, parent, budget } = state
  const home = rules.caps.length === 0 ? [] : [{ id: HOME_ACCOUNT, path: null, caps: rules.caps }]
  const above =
    parent === null || (budget === undefined && !mayHaveCaps(store)) ? [] : capsAbove(store, parent)
  const own = budget?.caps === undefined ? [] : [{ id, path, caps: budget.caps }]
  return [...home, ...above, ...own]
}

function capsAbove(store: Store, parent: string): Scope[] {
  const scopes: Scope[] = []
  const seen = new Set<string>()
  for (let id: string | null = parent; id !== null && !seen.has(id); ) {
    seen.add(id)
    const state: State | undefined = peekState(store, id)
    if (state?.budget?.caps !== undefined) scopes.unshift({ id, path: state.path, caps: state.budget.caps })
    id = state?.parent ?? null
  }
  return scopes
}

export function periodsOf(scopes: Scope[]): BudgetPeriod[] {
  return BUDGET_PERIODS.filter((period) => scopes.some(({ caps }) => caps.some(({ per }) => per === period)))
}

export function hasUnit(scopes: Scope[], unit: Cap['unit']): boolean {
  return scopes.some(({ caps }) => caps.some((cap) => cap.unit === unit))
}
