/** The holds of one turn, with their records. */
import { clock } from '../../clock.js'
import type { ModelProvider, ProviderSettings } from '../../provider/contract.js'
import type { NewRecord } from '../../session/records.js'
import type { Session } from '../../session/session.js'
import type { TurnPorts } from '../ports.js'
import { conversation, type Shortened } from '../prompt/history.js'
import { overBudgetRecords } from '../step/budget.js'
import type { Effect, TurnEvent } from '../step/turn-event.js'
import type { MintedToken } from '../tokens.js'
import type { Over, Reserved, Wanted } from './turn-budget.js'

/** A response without a limit of its own gets this one, where a cap applies. */
const RESPONSE_TOKENS = 16_000
/** A shorter response would be of no use. */
const RESPONSE_TOKENS_MIN = 1024
/** English text has about four bytes in a token, code and other languages have fewer. */
const BYTES_PER_TOKEN = 3
/** The service adds words of its own around a conversation. */
const EXTRA_TOKENS = 64
const PAUSE_MS_MIN = 20
const PAUSE_MS_MAX = 500
const EXPIRY_AFTER_REFILL_MS = 7 * 24 * 3_600_000

interface Owner {
  /** The shorter conversation that the next request sends. */
  tried(): Shortened | undefined
  newToken(expiresAt?: string): MintedToken
}

/** The parts of a turn that holds depend on. */
type Ports = Pick<TurnPorts, 'provider' | 'settings' | 'budget' | 'tokenExpiry' | 'note'> & {
  toolbox: Pick<TurnPorts['toolbox'], 'definitions'>
}

type OverBudget = Extract<TurnEvent, { type: 'over_budget' }>

export class Holds {
  /** The record of a program's hold, until the program is launched. */
  private pending: NewRecord<'budget.held'> | undefined
  private current: NewRecord<'budget.held'> | undefined
  private promptTokens = 0
  private hasApplied = false
  private waitsSince: number | undefined
  private nextPauseMs = PAUSE_MS_MIN

  constructor(
    private readonly session: Session,
    private readonly ports: Ports,
    private readonly owner: Owner,
  ) {}

  /** Whether a cap is over the agent. A person may set the first one during the turn. */
  private appliesNow(): boolean {
    this.hasApplied ||= this.ports.budget?.of.applies === true
    return this.hasApplied
  }

  /** Whether these records are to be checked against the budgets. Without a cap, only a request looks for one. */
  isFor(records: NewRecord[]): boolean {
    if (this.hasApplied) return true
    return records.some(({ kind }) => kind === 'model.requested') && this.appliesNow()
  }

  /** Claude Code takes a limit of 0 for none. */
  get usd(): number | undefined {
    const usd = this.current?.amounts.usd ?? 0
    return usd > 0 ? usd : undefined
  }

  /** Puts the hold of a program before the record of its launch. */
  take(records: NewRecord[]): NewRecord[] {
    const { pending } = this
    if (pending === undefined || !records.some(({ kind }) => kind === 'provider.started')) return records
    this.pending = undefined
    return [pending, ...records]
  }

  /** The records of a step, with what the budgets say about the request among them. */
  async beforeRequest(
    records: NewRecord[],
  ): Promise<{ records: NewRecord[]; effect: Effect | 'same' | undefined }> {
    const at = records.findLastIndex(({ kind }) => kind === 'model.requested')
    const requested = records[at]
    if (requested?.kind !== 'model.requested') return { records, effect: 'same' }
    const before = records.slice(0, at)
    // A response, a grant or both may be in the same batch.
    const own = before.length === 0 ? undefined : this.session.encode(before).state.budget
    const reserved = await this.reserve({ ...this.wantedOf(requested.run_id, before), own })
    switch (reserved.type) {
      case 'none':
        return { records, effect: 'same' }
      case 'held':
        return { records: [...before, reserved.record, requested], effect: 'same' }
      case 'busy':
        return { records: before, effect: { type: 'await_budget', why: reserved.why } }
      case 'over': {
        const { type: _, ...over } = reserved
        const token = this.owner.newToken(this.expiryOf(over))
        return {
          records: [...before, ...overBudgetRecords(requested.run_id, { ...over, token })],
          effect: undefined,
        }
      }
    }
  }

  /** Before the request for a summary, or the launch of a program. Undefined without a cap over the agent. */
  async before(
    what: 'summary' | 'program',
  ): Promise<Extract<Reserved, { type: 'held' | 'busy' }> | OverBudget | undefined> {
    if (!this.appliesNow()) return undefined
    const { run } = this.session.state
    if (run === null) return undefined
    const reserved = await this.reserve(
      what === 'summary' ? this.wantedOf(run.run_id, []) : this.wantedOfProgram(run.run_id),
    )
    if (reserved.type === 'none') return undefined
    if (reserved.type === 'held' && what === 'program') this.pending = reserved.record
    if (reserved.type !== 'over') return reserved
    const { type: _, ...over } = reserved
    return { type: 'over_budget', ...over, token: this.owner.newToken(this.expiryOf(over)) }
  }

  /** The cap that the program's next turn would exceed after these records. The limit of its turn can be below every cap. */
  async overAfter(records: NewRecord[]): Promise<OverBudget | undefined> {
    const { run } = this.session.state
    if (run === null || !this.appliesNow()) return undefined
    const own = this.session.encode(records).state.budget
    const reserved = await this.reserve({ ...this.wantedOfProgram(run.run_id), own })
    if (reserved.type !== 'over' && reserved.type !== 'busy') return undefined
    const { type: _, ...over } = reserved
    return { type: 'over_budget', ...over, token: this.owner.newToken(this.expiryOf(over)) }
  }

  private async reserve(wanted: Wanted): Promise<Reserved> {
    const { budget } = this.ports
    if (budget === undefined) return { type: 'none' }
    const reserved = await budget.of.reserve(wanted)
    this.current = reserved.type === 'held' ? reserved.record : undefined
    if (reserved.type !== 'busy') {
      this.waitsSince = undefined
      this.nextPauseMs = PAUSE_MS_MIN
      return reserved
    }
    this.waitsSince ??= clock.monotonic()
    return clock.monotonic() - this.waitsSince < budget.waitMs ? reserved : { ...reserved, type: 'over' }
  }

  /** Says once that the turn waits. */
  pauseMs(why: string): number {
    const ms = this.nextPauseMs
    if (ms === PAUSE_MS_MIN) this.ports.note(`waiting for running requests: ${why}`)
    this.nextPauseMs = Math.min(ms * 1.5, PAUSE_MS_MAX)
    return ms
  }

  async publish(): Promise<void> {
    if (this.hasApplied) await this.ports.budget?.of.publish()
  }

  /** The settings of a request, whose response must not exceed what it holds. */
  bounded(settings: ProviderSettings): ProviderSettings {
    const tokens = this.current?.amounts.tokens
    const { provider } = this.ports
    if (tokens === undefined || !('max_tokens' in provider.options)) return settings
    const max = Math.max(1, Math.floor(tokens - this.promptTokens))
    return { ...settings, options: { ...settings.options, max_tokens: String(max) } }
  }

  private wantedOf(runId: string, before: NewRecord[]): Wanted {
    const { budget, settings, toolbox } = this.ports
    const provider = this.ports.provider as ModelProvider
    const sent = [
      JSON.stringify(conversation(this.session, this.owner.tried())),
      JSON.stringify(before),
      JSON.stringify(toolbox.definitions),
      settings.instructions ?? '',
    ]
    const bytes = sent.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
    this.promptTokens = Math.ceil(bytes / BYTES_PER_TOKEN) + EXTRA_TOKENS
    const isNewTurn = this.isNewTurn(runId, before)
    if (!('max_tokens' in provider.options))
      return {
        runId,
        isNewTurn,
        tokens: this.promptTokens + (budget?.turn.tokens ?? 0),
        assumed: budget?.turn.tokens ?? 0,
      }
    const chosen = provider.responseTokensMax?.(settings) ?? RESPONSE_TOKENS
    const useful = Math.max(RESPONSE_TOKENS_MIN, provider.responseTokensMin?.(settings) ?? 0)
    const least = settings.options.max_tokens === undefined ? Math.min(chosen, useful) : chosen
    return {
      runId,
      isNewTurn,
      tokens: this.promptTokens + chosen,
      tokensMin: this.promptTokens + least,
    }
  }

  private wantedOfProgram(runId: string): Wanted {
    const tokens = this.ports.budget?.turn.tokens ?? 0
    return { runId, isNewTurn: this.isNewTurn(runId, []), tokens, assumed: tokens }
  }

  /** A run that continues another one is of the same turn. */
  private isNewTurn(runId: string, before: NewRecord[]): boolean {
    const started = before.find((record) => record.kind === 'run.started')
    if (started?.kind === 'run.started') return started.continues === undefined
    const { run } = this.session.state
    return run?.run_id === runId && run.status === 'open' && run.continues === null
  }

  private expiryOf({ notBefore }: Over): string {
    const expiry = this.ports.tokenExpiry()
    if (notBefore === null) return expiry
    const late = new Date(Date.parse(notBefore) + EXPIRY_AFTER_REFILL_MS).toISOString()
    return late > expiry ? late : expiry
  }
}
