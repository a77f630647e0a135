/** The rest of budgets, as commands and servers show it. Only homes with a budget read anything for it. */
import { clock } from '../clock.js'
import { HOME_ACCOUNT, isPlainObject } from '../format.js'
import type { BudgetUse } from '../schema/output.js'
import { isZone, machineZone } from '../session/budget/calendar.js'
import { parseCaps } from '../session/budget/caps.js'
import type { State } from '../session/state.js'
import type { Store } from '../storage/store.js'
import { type BudgetRules, mayHaveCaps, type Scope, scopesOver } from '../turn/budget/scopes.js'
import { useOf } from '../turn/budget/use.js'

type Capped = Pick<State, 'id' | 'path' | 'budget'>

/** The caps of the agent itself. */
export function ownBudget(store: Store, { id, path, budget }: Capped): BudgetUse[] {
  return budget?.caps === undefined ? [] : usesOf(store, { id, path, caps: budget.caps })
}

/** All caps over the agent: the home's, those of the agents above it, and its own. */
export function budgetsOver(store: Store, state: State): BudgetUse[] {
  if (!mayHaveCaps(store)) return []
  // The settings are read only in a home with an account: a home without budgets pays nothing.
  const rules = store.accounts?.isUsed === true ? rulesOf(store) : { caps: [] }
  return scopesOver(store, state, rules).flatMap((scope) => usesOf(store, scope))
}

export function homeBudget(store: Store): BudgetUse[] {
  if (store.accounts?.isUsed !== true) return []
  const { caps } = rulesOf(store)
  return caps.length === 0 ? [] : usesOf(store, { id: HOME_ACCOUNT, path: null, caps })
}

function usesOf(store: Store, { id, path, caps }: Scope): BudgetUse[] {
  return useOf(store, id, caps, rulesOf(store), clock.now()).map(({ cap, spent, held, refillsAtMs }) => ({
    agent_id: id === HOME_ACCOUNT ? null : id,
    path,
    unit: cap.unit,
    max: cap.max,
    per: cap.per ?? null,
    spent,
    held,
    left: Math.max(0, Math.round((cap.max - spent - held) * 1e9) / 1e9),
    refills_at: refillsAtMs === null ? null : new Date(refillsAtMs).toISOString(),
  }))
}

/** The rules with the caps of the home as they are now. A read of the settings of a database would cost each request a statement. */
export function withCapsNow(store: Store, rules: BudgetRules): BudgetRules {
  if (store.accounts?.isDeletable !== true) return rules
  // The command has just read them: only its later requests read them again.
  let isRead = true
  return {
    ...rules,
    get caps() {
      if (isRead) {
        isRead = false
        return rules.caps
      }
      const text = settingOf(store, 'budget', 'SUBSTRAT_BUDGET', () => undefined)
      const caps = text === undefined ? rules.caps : parseCaps(text)
      return typeof caps === 'string' ? rules.caps : caps
    },
  }
}

/** Empty if it is not set. `unread` has the value for settings that cannot be read. */
function settingOf<T>(store: Store, key: string, env: string, unread: () => T | string): T | string {
  const fromEnvironment = process.env[env] || undefined
  if (fromEnvironment !== undefined) return fromEnvironment
  try {
    const config: unknown = JSON.parse(store.readConfig()?.toString('utf8') ?? '{}')
    const value = isPlainObject(config) ? config[key] : undefined
    return typeof value === 'string' ? value : ''
  } catch {
    return unread()
  }
}

/** As the settings have them. A reader does not fail because of an invalid setting. */
function rulesOf(store: Store): Pick<BudgetRules, 'caps' | 'zone'> {
  const caps = parseCaps(settingOf(store, 'budget', 'SUBSTRAT_BUDGET', () => ''))
  return {
    caps: typeof caps === 'string' ? [] : caps,
    zone: () => {
      const zone = settingOf(store, 'timezone', 'SUBSTRAT_TIMEZONE', () => '')
      return zone !== '' && isZone(zone) ? zone : machineZone()
    },
  }
}
