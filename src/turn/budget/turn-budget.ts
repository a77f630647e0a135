/**
 * Holds what the next request of a turn may use, from every budget over its agent.
 *
 * Before a request, the entry of the agent in each account has the new hold, and then `budget.held` is recorded in one batch with the
 * request. A kill between the two leaves an entry that is too high until the agent is visited, or until another agent reads its log.
 * A kill after the batch leaves a hold without an answer, which counts as spent.
 */
import { clock } from '../../clock.js'
import { assert, SubstratError } from '../../errors.js'
import type { Amounts, BudgetState, Cap, WindowIds } from '../../schema/budget.js'
import { endOfWindow, windowsNow } from '../../session/budget/calendar.js'
import { amountText, FIELDS, formatCap } from '../../session/budget/caps.js'
import { held, unanswered } from '../../session/fold/budget.js'
import type { NewRecord } from '../../session/records.js'
import type { Session } from '../../session/session.js'
import type { AccountEntry } from '../../storage/store.js'
import { type Excess, entryOf, judge, latestWindows, type Verdict } from './account.js'
import { completeEntries, type Known, refreshed } from './rebuild.js'
import { type BudgetRules, hasUnit, periodsOf, type Scope, scopesOver } from './scopes.js'

/** The most that the next request may use. `tokensMin`: less would be of no use to it. */
export interface Wanted {
  runId: string
  /** The request is the first one of a new turn. */
  isNewTurn: boolean
  tokens: number
  tokensMin?: number | undefined
  /** The part of `tokens` that only the setting `budget_turn` says. */
  assumed?: number
  /** The budget of the agent once the records before the request are there. Default: as it is now. */
  own?: BudgetState | undefined
}

export type Reserved =
  /** No cap is over the agent. */
  | { type: 'none' }
  | { type: 'held'; record: NewRecord<'budget.held'> }
  /** Running requests hold what it needs. They may use less. */
  | ({ type: 'busy' } & Over)
  | ({ type: 'over' } & Over)

export interface Over {
  /** The cap that is reached, in a sentence without a stop. */
  why: string
  /** When its window refills. Null: it does not. */
  notBefore: string | null
  needs: Amounts
  /** How much more the caps must allow for it. */
  missing: Amounts
}

export class TurnBudget {
  private scopes: Scope[] = []

  constructor(
    private readonly session: Session,
    private readonly rules: BudgetRules,
    private readonly command: string,
  ) {}

  /** Undefined if no cap is over the agent. */
  static of(session: Session, rules: BudgetRules, command: string): TurnBudget | undefined {
    const budget = new TurnBudget(session, rules, command)
    if (budget.lookUp().length === 0) return undefined
    if (session.store.accounts === undefined) throw noAccountsError(session.store)
    return budget
  }

  /** For a turn that has begun without a cap. Looks at the agents above and the settings. */
  get applies(): boolean {
    return this.lookUp().length > 0
  }

  /** Whether a cap over the agent counts the unit. */
  counts(unit: Cap['unit']): boolean {
    return hasUnit(this.scopes, unit)
  }

  private lookUp(): Scope[] {
    this.scopes = scopesOver(this.session.store, this.session.state, this.rules)
    return this.scopes
  }

  /** Throws LOCKED. */
  async reserve(wanted: Wanted): Promise<Reserved> {
    // A person may have changed the caps since the latest request.
    const scopes = this.lookUp()
    if (scopes.length === 0) return { type: 'none' }
    const hold = (tokens: number): ReturnType<TurnBudget['tryAmounts']> =>
      this.tryAmounts(scopes, wanted, this.amountsOf(scopes, { ...wanted, tokens }), true)
    const { tokens, tokensMin = tokens } = wanted
    const reserved = await hold(tokens)
    if (reserved.type !== 'over' || reserved.room === undefined) return reserved
    const room = Math.min(tokens, Math.floor(reserved.room))
    return room < tokensMin ? reserved : hold(room)
  }

  /** Whether the request could be held now. Holds nothing. */
  async fits(runId: string, needs: Amounts): Promise<boolean> {
    const scopes = this.lookUp()
    if (scopes.length === 0) return true
    const { type } = await this.tryAmounts(scopes, { runId }, needs, false)
    return type === 'held'
  }

  private async tryAmounts(
    scopes: Scope[],
    { runId, own: given }: Pick<Wanted, 'runId' | 'own'>,
    amounts: Amounts,
    holds: boolean,
  ): Promise<Reserved & { room?: number }> {
    const { session, rules } = this
    const { store, id, state } = session
    const own = unanswered(given ?? state.budget ?? {})
    const isFree = own.free_run === runId
    let reserved: (Reserved & { room?: number }) | undefined
    await this.accounts.exchange(
      scopes.map((scope) => scope.id),
      this.command,
      (found) => {
        let known = found.map((account, index) => completeEntries(store, scopes[index] as Scope, account))
        for (const [index, { unknown }] of known.entries())
          if (unknown.length > 0) throw unknownUseError(scopes[index] as Scope, unknown)
        const seen = [entryOf(id, own), ...known.flatMap(({ entries }) => entries)]
        const windows = windowsNow(periodsOf(scopes), clock.now(), this.zone, latestWindows(seen))
        const weight = rules.cachedWeight === 1 ? {} : { cached_weight: rules.cachedWeight }
        const record = { kind: 'budget.held' as const, run_id: runId, amounts, windows, ...weight }
        const after = entryOf(id, held(own, { ...record, ts: new Date(clock.now()).toISOString() }))
        const judged = (): Verdict =>
          isFree ? { excesses: [], isBusy: false } : judge(scopes, known, after, windows)
        let verdict = judged()
        if (verdict.excesses.length > 0) {
          // An entry of a dead process may be too high.
          known = known.map((each) => refreshed(store, each, id))
          verdict = judged()
        }
        if (verdict.excesses.length === 0) {
          reserved = { type: 'held', record }
          return known.map((each) => withEntry(each, holds ? after : entryOf(id, own)))
        }
        reserved = { ...this.overOf(verdict, amounts), room: roomIn(verdict) }
        return known.map((each) => withEntry(each, entryOf(id, own)))
      },
    )
    assert(reserved !== undefined, 'an exchange decides')
    return reserved
  }

  /** The windows of the caps over the agent. */
  windowsNow(): WindowIds {
    const { scopes, session } = this
    const entries = scopes.flatMap(({ id }) => this.accounts.read(id).entries)
    const seen = [entryOf(session.id, session.state.budget ?? {}), ...entries]
    return windowsNow(periodsOf(scopes), clock.now(), this.zone, latestWindows(seen))
  }

  /** After the end of a request, so that others can use what it has not used. */
  async publish(): Promise<void> {
    const { session } = this
    const { budget } = session.state
    if (budget === undefined) return
    // A cap that was set meanwhile counts this request too.
    const scopes = this.lookUp()
    if (scopes.length === 0) return
    const entry = entryOf(session.id, budget)
    await this.accounts.exchange(
      scopes.map(({ id }) => id),
      this.command,
      (found) => found.map(({ isTrusted }) => (isTrusted ? [entry] : undefined)),
    )
  }

  /** `set` and `spawn` refuse a window without a zone. A machine may lose its zone later. */
  private get zone(): string {
    return this.rules.zone() ?? 'UTC'
  }

  private get accounts(): NonNullable<Session['store']['accounts']> {
    const { accounts } = this.session.store
    assert(accounts !== undefined, 'a cap is only in a store with accounts')
    return accounts
  }

  /** A unit that no cap counts is not held. A hold of the setting is at most the whole cap: with a larger one no turn could ever run. */
  private amountsOf(scopes: Scope[], { runId, isNewTurn, tokens, assumed = 0 }: Wanted): Amounts {
    const { turn } = this.rules
    const least = (unit: Cap['unit']): number =>
      Math.min(...scopes.flatMap(({ caps }) => caps.flatMap((cap) => (cap.unit === unit ? cap.max : []))))
    const isCounted = this.session.state.budget?.counted_run === runId
    return {
      ...(hasUnit(scopes, 'tokens')
        ? { tokens: Math.min(tokens, Math.max(tokens - assumed, least('tokens'))) }
        : {}),
      ...(hasUnit(scopes, 'usd') ? { usd: Math.min(turn.usd ?? 0, least('usd')) } : {}),
      ...(isNewTurn && !isCounted ? { turns: 1 } : {}),
      requests: 1,
      ...(hasUnit(scopes, 'time') ? { time_ms: Math.min(turn.time_ms ?? 0, least('time')) } : {}),
    }
  }

  private overOf({ excesses, isBusy }: Verdict, needs: Amounts): { type: 'busy' | 'over' } & Over {
    const [first] = excesses as [Excess]
    const { zone } = this
    const ends = excesses.map(({ cap: { per, max }, window, next }) =>
      per === undefined || next > max ? undefined : endOfWindow(per, window, clock.now(), zone),
    )
    const last = ends.includes(undefined) ? null : Math.max(...(ends as number[]))
    const why = excessText(first)
    const missing = missingIn(excesses)
    if (isBusy) return { type: 'busy', why, notBefore: new Date(clock.now()).toISOString(), needs, missing }
    return {
      type: 'over',
      why,
      notBefore: last === null ? null : new Date(last).toISOString(),
      needs,
      missing,
    }
  }
}

export function noAccountsError({ address }: Pick<Session['store'], 'address'>): SubstratError {
  return new SubstratError(
    'CONFIG_INVALID',
    `the home ${address} cannot have a budget: its store keeps no accounts`,
    {
      hint: 'remove the setting: substrat config unset budget',
    },
  )
}

/** No account is written, so the next request looks again. */
function unknownUseError({ path }: Scope, [agentId = '']: string[]): SubstratError {
  const whose = path === null ? 'the home' : path
  return new SubstratError(
    'CORRUPT',
    `the use under the budget of ${whose} is unknown: the log of agent ${agentId} is damaged, and its snapshot is gone`,
    {
      hint: `see the damage: substrat doctor ${agentId}; restore the log from a backup, then run the command again`,
      facts: { agent_id: agentId },
    },
  )
}

/** How many tokens a smaller request could hold. Undefined if another unit is over. */
function roomIn({ excesses }: Verdict): number | undefined {
  if (excesses.some(({ cap }) => cap.unit !== 'tokens')) return undefined
  return Math.min(...excesses.map(({ cap, spent, held: others }) => cap.max - spent - others))
}

/** The amounts that suffice now, in whole cents and whole units. */
function missingIn(excesses: Excess[]): Amounts {
  const missing: Amounts = {}
  for (const { cap, spent, held: others, next } of excesses) {
    const [field, scale] = [FIELDS[cap.unit], cap.unit === 'usd' ? 100 : 1]
    const amount =
      Math.max(1, Math.ceil(Math.round((spent + others + next - cap.max) * scale * 1e6) / 1e6)) / scale
    missing[field] = Math.max(missing[field] ?? 0, amount)
  }
  return missing
}

function withEntry({ changed }: Known, entry: AccountEntry): AccountEntry[] {
  return [...changed.filter(({ agentId }) => agentId !== entry.agentId), entry]
}

function excessText({ scope, cap, spent, held: others, next }: Excess): string {
  const whose = scope.path === null ? 'the budget of the home' : `the budget of ${scope.path}`
  const heldText = others === 0 ? '' : `, running requests hold ${amountText(cap.unit, others)}`
  const used = `${amountText(cap.unit, spent)} used${heldText}`
  return `${whose}, ${formatCap(cap)}: ${used}, and the next request may use ${amountText(cap.unit, next)}`
}
