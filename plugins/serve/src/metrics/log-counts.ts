/**
 * Counts of what the logs record. They are a cache: a server that starts reads every log from its beginning, and has the same
 * counts again. After that it reads only new records. Each record is durable when it is counted, so that no count goes back.
 */
import type { Core, PageBounds, Position, SessionRecord, Store } from '../core.js'
import { Counter } from './families.js'

/** The other requests are answered in between. */
const SLICE_MS = 10
const PAGE: PageBounds = { records: 1000, bytes: 1024 * 1024, isFollowing: true }

/** The part of one log that was read. */
interface Progress {
  next: Position
  /** The size of the log at that time, which can end with an incomplete batch. */
  size: number
  usage: InstanceType<Core['UsageCounter']>
  /** The run that waits. */
  waiting: string | undefined
}

export class LogCounts {
  private readonly logs = new Map<string, Progress>()
  /** Agents that were removed before this server could read their logs. */
  private removed: Set<string> | undefined
  private running: Promise<void> | undefined
  private readonly turns: Counter
  private readonly interruptions: Counter
  private readonly retries: Counter
  private readonly waits: Counter
  private readonly tokens: Counter
  private readonly cached: Counter
  private readonly cost: Counter

  constructor(
    private readonly core: Core,
    private readonly onSync: (seconds: number) => void,
  ) {
    const words = (name: string, all: readonly string[]) => all.map((word) => ({ [name]: word }))
    this.turns = new Counter(
      'substrat_turns',
      'Turns that ended.',
      words('outcome', ['completed', 'failed', 'timed_out', 'cancelled']),
    )
    this.interruptions = new Counter(
      'substrat_interruptions',
      'Interruptions of turns that were detected.',
      words('kind', core.INTERRUPTIONS),
    )
    this.retries = new Counter('substrat_retries', 'Requests to models that failed and were repeated.', [{}])
    this.waits = new Counter(
      'substrat_waits',
      'Turns that began to wait for a decision, an answer, a result or a time.',
      words('kind', core.WAITS),
    )
    this.tokens = new Counter('substrat_tokens', 'Tokens, as providers count them.')
    this.cached = new Counter(
      'substrat_cached_tokens',
      'The part of the input that a cache served or stored.',
    )
    this.cost = new Counter('substrat_cost_usd', 'Cost, if the provider reports it.')
  }

  /** Reads new records. Requests at the same time share one reading. */
  refresh(store: Store | undefined): Promise<void> {
    this.running ??= this.readAll(store).finally(() => {
      this.running = undefined
    })
    return this.running
  }

  families(): string[][] {
    const { turns, interruptions, retries, waits, tokens, cached, cost } = this
    return [turns, interruptions, retries, waits, tokens, cached, cost].map((counter) => counter.lines())
  }

  private async readAll(store: Store | undefined): Promise<void> {
    if (store === undefined) return
    let began = performance.now()
    this.removed ??= this.countRemoved(store)
    const { removed } = this
    for (const id of store.agentIds())
      for (let isMore = !removed.has(id); isMore; ) {
        isMore = this.readSome(store, id)
        if (performance.now() - began < SLICE_MS) continue
        await new Promise((resolve) => setImmediate(resolve))
        began = performance.now()
      }
  }

  /** Once, at the start. An agent counts once: if it comes back by a move, its log begins with the records that were counted here. */
  private countRemoved(store: Store): Set<string> {
    const counted = new Set<string>()
    for (const { agentId, removed } of store.removed.all()) {
      if (removed === undefined || store.hasAgent(agentId)) continue
      counted.add(agentId)
      for (const { model, ...usage } of removed.usage.models)
        this.countUsage({ model: model ?? '', ...usage })
    }
    return counted
  }

  /** Whether the log has more. A log that cannot be read counts up to its damage; `substrat_agents` shows it as corrupt. */
  private readSome(store: Store, id: string): boolean {
    const { core } = this
    try {
      const known = this.logs.get(id) ?? {
        next: core.ownRecordsFrom(store, id),
        size: -1,
        usage: new core.UsageCounter(),
        waiting: undefined,
      }
      this.logs.set(id, known)
      const size = core.logSize(store, id)
      if (size === known.size) return false
      const { records, next } = core.readPage(store, id, known.next, { ...PAGE, onSync: this.onSync })
      for (const record of records) this.count(record, known)
      known.next = next
      known.size = records.length === 0 || next.offset === size ? size : -1
      return known.size < 0
    } catch {
      return false
    }
  }

  private count(record: SessionRecord, progress: Progress): void {
    for (const { models, usage } of progress.usage.entriesOf(record))
      for (const each of models.length > 0 || usage === null ? models : [{ model: '', ...usage }])
        this.countUsage(each)
    switch (record.kind) {
      case 'run.completed':
        this.turns.add({ outcome: 'completed' })
        return
      case 'run.failed':
        this.turns.add({ outcome: 'failed' })
        return
      case 'run.cancelled':
        this.turns.add({ outcome: record.reason === 'turn_timeout' ? 'timed_out' : 'cancelled' })
        return
      case 'run.interrupted':
        this.interruptions.add({ kind: record.reason })
        return
      case 'run.resumed':
        progress.waiting = undefined
        return
      case 'model.failed':
        if (record.retry_in_ms !== null) this.retries.add({})
        return
      case 'run.waiting':
        // The record is repeated when the token is replaced.
        if (progress.waiting !== record.run_id) this.waits.add({ kind: record.wait })
        progress.waiting = record.run_id
    }
  }

  private countUsage(usage: {
    model: string
    input_tokens: number
    output_tokens: number
    cache_read_tokens?: number | undefined
    cache_write_tokens?: number | undefined
    cost_usd?: number | undefined
  }): void {
    const { model, cost_usd: cost } = usage
    this.tokens.add({ model, type: 'input' }, usage.input_tokens)
    this.tokens.add({ model, type: 'output' }, usage.output_tokens)
    if (usage.cache_read_tokens !== undefined)
      this.cached.add({ model, type: 'read' }, usage.cache_read_tokens)
    if (usage.cache_write_tokens !== undefined)
      this.cached.add({ model, type: 'write' }, usage.cache_write_tokens)
    if (cost !== undefined) this.cost.add({ model }, cost)
  }
}
