/** A model of one agent with its processes, tools and people, without a disk. It uses the pure functions of the product. */
import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import type { ModelMessage } from '../../src/provider/contract.js'
import { interruptedRecords, restRecords, settlement } from '../../src/recovery/settlement.js'
import { type Row, rowOf } from '../../src/recovery/table.js'
import type { Ask, CallRecord, ModelUsage, Usage, Used } from '../../src/schema/types.js'
import type { Decision } from '../../src/schema/words.js'
import type { NewRecord, RecordKind, SessionRecord } from '../../src/session/records.js'
import type { Call, Run, State } from '../../src/session/state.js'
import { isDue, isInterrupted, waitIsGood } from '../../src/session/status.js'
import { conversation, exchanges } from '../../src/turn/prompt/history.js'
import type { Readable } from '../../src/turn/prompt/prompt-records.js'
import { withdrawnRecords } from '../../src/turn/step/calls.js'
import { step, withSuspension } from '../../src/turn/step/step.js'
import type {
  Effect,
  ProviderKind,
  RetryPlan,
  Shorter,
  StopReason,
  TurnEvent,
} from '../../src/turn/step/turn-event.js'
import type { MintedToken } from '../../src/turn/tokens.js'
import { revokedRecords } from '../../src/turn/tokens.js'
import { foldAll, locationOf, placed, timeOf } from '../support/folding.js'
import { reading } from '../support/readings.js'
import { createdRecord } from '../support/sessions.js'
import { POLICY } from '../support/turns.js'

const AGENT = idOf('agent')
const GROUP = { process_group: 10, start_time: 20, kernel_boot_id: 'k', pid_namespace: '1' }
/** Expiry of tokens: later than any record, until a script sets the clock past it. */
const EXPIRY = timeOf(1_000_000)
const NOT_BEFORE = timeOf(900_000)

const USAGE_FIELDS = [
  ...(['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens'] as const),
  ...(['reasoning_tokens', 'cost_usd'] as const),
]

/** The bits of `id` decide which of the optional fields it has. */
function someUsage(id: number): Usage {
  const usage: Usage = { input_tokens: id, output_tokens: id + 1 }
  if (id & 1) usage.cache_read_tokens = id + 2
  if (id & 2) usage.cache_write_tokens = id + 3
  if (id & 4) usage.reasoning_tokens = id + 4
  if (id & 8) usage.cost_usd = id / 1000
  return usage
}

/** The sum by its definition: a field that no usage has is absent. */
export function sumOf(usages: Usage[]): Usage {
  const sums = USAGE_FIELDS.map((field) => {
    const counts = usages.map((usage) => usage[field]).filter((count) => count !== undefined)
    const total = counts.reduce((sum, count) => sum + count, 0)
    return counts.length === 0 ? [] : [field, field === 'cost_usd' ? Number(total.toFixed(9)) : total]
  })
  const fields = Object.fromEntries(sums.filter(({ length }) => length > 0)) as Partial<Usage>
  return { input_tokens: 0, output_tokens: 0, ...fields }
}

export class World {
  readonly log: SessionRecord[] = []
  readonly rows = new Set<Row>()
  /** The reports of the providers, in order. */
  readonly reported: { run_id: string; usage: Usage; model: string | undefined }[] = []
  state = undefined as unknown as State
  /** The next effect of the living process; undefined if there is none. */
  private effect: Effect | undefined
  private provider: ProviderKind | undefined
  private now = timeOf(0)
  private isUsageDue = false
  private ids = 0
  private history: ModelMessage[][] = []

  constructor() {
    this.append([createdRecord(AGENT)])
  }

  /** `flag` decides any detail that the word leaves open. */
  take(word: string, flag: boolean): void {
    if (word === 'the time has come') this.now = NOT_BEFORE
    if (word === 'the token expires') this.now = EXPIRY
    if (word.startsWith('crash')) this.crash(word, flag)
    else if (word.startsWith('stop: ')) this.stop(word.slice('stop: '.length) as StopReason, flag)
    else if (word === 'configure') this.append([{ kind: 'session.configured', title: word, hold: flag }])
    else if (word.startsWith('begin')) this.begin(word, flag)
    else this.goesItsWay(word, flag)
  }

  /** An event reaches the process that runs the turn, or the parked run. */
  private goesItsWay(word: string, flag: boolean): void {
    this.doWhatIsOwn(word)
    const run = this.open
    if (run === undefined) return
    if (run.wait !== null) this.person(word, run)
    else if (this.effect?.type === 'run_tool') this.tool(word, this.effect.call_id)
    else if (this.effect?.type === 'ask' && this.provider === 'model') this.model(word, flag)
    else if (this.effect?.type === 'ask') this.program(word, run, flag)
  }

  /** The last process marks the run that it finds. A parked run is cancelled. */
  end(): void {
    this.effect = undefined
    this.settle(false, 'stop', undefined)
    this.cancel()
    this.append(restRecords(this.state, 'recovery'))
  }

  get open(): Run | undefined {
    return this.state.run?.status === 'open' ? this.state.run : undefined
  }

  // Observations

  records<K extends SessionRecord['kind']>(kind: K): SessionRecord<K>[] {
    return this.log.filter((record) => record.kind === kind) as unknown as SessionRecord<K>[]
  }

  begun(): string[] {
    return this.records('run.started').map(({ run_id }) => run_id)
  }

  ends(): Map<string, number> {
    const ends = new Map<string, number>()
    for (const record of this.log) {
      if (!/^run\.(completed|failed|cancelled|interrupted)$/.test(record.kind)) continue
      const { run_id } = record as { run_id: string }
      ends.set(run_id, (ends.get(run_id) ?? 0) + 1)
    }
    return ends
  }

  /** Each conversation that a model received. */
  checkAsked(): void {
    for (const messages of this.history) expectWhole(messages)
  }

  /** Calls without a result although the model was asked again. */
  unanswered(): string[] {
    const missing: string[] = []
    for (const messages of this.history) {
      for (const message of messages)
        if (message.role === 'tool' && message.content === 'There is no result yet.')
          missing.push(message.call_id)
    }
    return missing
  }

  answeredTwice(): string[] {
    const twice: string[] = []
    let answered = new Set<string>()
    for (const record of this.log) {
      if (record.kind === 'model.responded') answered = new Set()
      if (record.kind !== 'tool.finished') continue
      if (answered.has(record.call_id)) twice.push(record.call_id)
      answered.add(record.call_id)
    }
    return twice
  }

  /** Number of requests, and its limit, of each run that has a limit. */
  bounded(): { asked: number; max: number }[] {
    return this.records('run.started')
      .filter(({ steps_max }) => steps_max !== undefined)
      .map(({ run_id, steps_max }) => {
        const asked = this.records('model.responded').filter((record) => record.run_id === run_id).length
        return { asked, max: steps_max as number }
      })
  }

  transcript(): string {
    return this.log
      .map((record) => {
        const {
          seq,
          ts: _,
          batch,
          kind,
          run_id,
          ...fields
        } = record as SessionRecord & Record<string, unknown>
        const place = `${String(seq).padStart(3)} [${batch.join('-')}]`.padEnd(14)
        return `${place}${kind.padEnd(20)} ${String(run_id ?? '').slice(0, 4)} ${JSON.stringify(fields)}`
      })
      .join('\n')
  }

  // Events

  private append(records: NewRecord[]): void {
    if (records.length === 0) return
    const first = this.log.length + 1
    const batch: [number, number] = [first, first + records.length - 1]
    for (const record of records) {
      const seq = this.log.length + 1
      const ts = timeOf(seq) > this.now ? timeOf(seq) : this.now
      this.state = foldAll([record], this.log.length === 0 ? undefined : this.state)
      this.log.push({ ...placed(record, seq, ts), batch })
    }
    if (records.some(({ kind }) => kind === 'model.requested')) this.history.push(conversation(this.session))
  }

  private persist(event: TurnEvent, isLast = true): void {
    const { records, effect } = step(this.state, event, POLICY)
    this.append(isLast ? withSuspension(this.state, records) : records)
    this.effect = effect
  }

  private begin(word: string, flag: boolean): void {
    this.provider ??= word.startsWith('begin agent') ? 'agent' : 'model'
    const run = this.open
    if (run !== undefined && run.wait === null) return
    const continues = flag && run === undefined ? this.state.recovery.interruption?.run_id : undefined
    this.persist(this.beginning(word, continues, false))
  }

  private beginning(word: string, continues: string | undefined, auto: boolean): TurnEvent {
    const content = this.provider === 'model' ? null : 'go on'
    const prompt =
      continues === undefined
        ? { origin: 'operator' as const, content: 'hi' }
        : { origin: 'continuation' as const, continues, auto, content }
    return {
      type: 'begin',
      provider: this.provider as ProviderKind,
      run: {
        run_id: this.id('run'),
        boot_id: 'b',
        prompt,
        key: null,
        digest: null,
        turn_timeout_ms: null,
        allow: word.includes('all allowed') ? ['all'] : [],
        steps_max: word.includes('1 step') ? 1 : null,
        sources: [],
      },
    }
  }

  /** A step of the process without an event from outside. */
  private doWhatIsOwn(word: string): void {
    const { effect } = this
    if (effect?.type === 'park') this.park(effect.call_ids)
    if (effect?.type === 'pause') this.persist({ type: 'retry' })
    if (effect?.type === 'compact') this.compact(word)
  }

  private park(callIds: string[]): void {
    const token = { token_id: this.id('token'), hash: 'h', expires_at: EXPIRY }
    const asks = callIds.map((call_id) => ({ call_id, tool: this.call(call_id).tool, input: {} }))
    this.persist({ type: 'parked', token, asks })
  }

  /** The shorter conversation that the next response answers. */
  private tried: Shorter | undefined

  /** Like `compact`, but leaves out all exchanges except the last. */
  private compact(word: string): void {
    const all = exchanges(this.session)
    const kept = all.at(-1)
    if (all.length < 2 || kept === undefined || word === 'fail') {
      this.persist({ type: 'failed', error: { type: 'overflow', message: 'too long' } })
      return
    }
    const messages = all.length - 1
    const { seq, offset } = locationOf(kept.seq)
    const keeps = { seq, offset }
    this.tried = {
      content: 'summary',
      how: 'summary',
      keeps,
      messages,
      responses: 0,
      ...this.usedByRequest(),
    }
    this.persist({ type: 'shortened', shorter: this.tried })
  }

  private model(word: string, flag: boolean): void {
    if (word.startsWith('answer')) {
      const calls = this.calls(word)
      const stop = calls.length === 0 ? 'end' : 'tool_calls'
      const { usage = null, ...model } = this.usedByRequest()
      const compacted = this.tried === undefined ? {} : { compacted: this.tried }
      this.tried = undefined
      this.persist(
        { type: 'model_responded', reply: flag ? 'x' : '', stop, usage, ...model, calls, ...compacted },
        flag,
      )
    } else if (word.startsWith('fail')) {
      const [type, plan] = FAILURES[word] as (typeof FAILURES)[string]
      this.persist(
        { type: 'model_failed', error: { type, message: 'm' }, plan, ...this.usedByRequest() },
        flag,
      )
    }
  }

  private calls(word: string): CallRecord[] {
    const tools = CALLS[word] ?? []
    return tools.map((names, index) => {
      const name = names[this.ids % names.length] as string
      const call_id = word.includes('same ids') ? `same-${index}` : `c${++this.ids}`
      return { call_id, name, input: {} }
    })
  }

  private tool(word: string, call_id: string): void {
    const { status, tool } = this.call(call_id)
    const isProgram = POLICY.kindOf(tool) === 'program'
    if (word === 'launch' && isProgram && status === 'pending') {
      const { effect } = this
      this.persist({ type: 'tool_launched', call_id, group: GROUP })
      this.effect = effect
    } else if (word === 'tool is done')
      this.persist({ type: 'tool_finished', call_id, content: 'done', is_error: false, output: null })
  }

  private program(word: string, run: Run, flag: boolean): void {
    const { effect } = this
    const isAnswered = run.phase === 'answered'
    if (word === 'launch' && !isAnswered) this.persist({ type: 'launched', group: GROUP })
    else if (word === 'state' && !isAnswered) this.persist({ type: 'state_known', state: 'AA==' })
    else if (word === 'fail' && !isAnswered)
      this.persist(
        { type: 'failed', error: { type: 'crashed', message: 'm' }, ...this.usedByProgram() },
        flag,
      )
    else if (word === 'answer' && isAnswered)
      this.persist({ type: 'released', state: null, terminates: false, ...this.usedLate() }, flag)
    else if (word === 'fail, overloaded' && !isAnswered)
      this.persist(
        { type: 'program_killed', error: { type: 'crashed', message: 'm' }, ...this.usedByProgram() },
        flag,
      )
    else if (word === 'answer') {
      const used = this.usedByProgram()
      this.persist({ type: 'agent_replied', reply: 'x', ...used })
      this.isUsageDue = used.usage === undefined
    } else if (word.startsWith('answer with') && !isAnswered)
      this.persist({
        type: 'program_waits',
        wait: flag ? 'input' : 'approval',
        state: null,
        ...this.asking(),
        ...this.usedByProgram(),
      })
    else if (word === 'fail, rate limit' && !isAnswered) this.limit()
    // The program continues until its run is over or parked.
    this.effect = this.open === undefined || this.open.wait !== null ? undefined : effect
  }

  private asking(): { token: MintedToken; asks: Ask[] } {
    return { token: { token_id: this.id('token'), hash: 'h', expires_at: EXPIRY }, asks: ASKS }
  }

  private limit(): void {
    const error = { type: 'rate_limit' as const, message: 'm' }
    this.persist({
      type: 'program_limited',
      state: null,
      error,
      notBefore: NOT_BEFORE,
      ...this.usedByProgram(),
    })
  }

  private person(word: string, run: Run): void {
    const token_id = run.wait?.resume_token_id ?? null
    const isQuestion = run.wait?.kind === 'input'
    if (isDue(run.wait, reading(this.now)) && word === 'the time has come') this.goOn()
    if (run.wait === null || token_id === null || !waitIsGood(this.state, run.wait, reading(this.now))) return
    if (word === 'rotate') this.rotate(run, token_id)
    else if (word === 'approve' && !isQuestion) this.decide(token_id, 'approve')
    else if (word === 'deny') this.decide(token_id, 'deny')
    else if (word === 'input' && isQuestion) this.decide(token_id, 'input')
    else if (word === 'decide with a used token') {
      const used = this.state.tokens.find(({ status }) => status !== 'minted')
      if (used !== undefined) expect(() => this.decide(used.token_id, 'approve')).toThrow(/already/)
    }
  }

  private decide(token_id: string, decision: Decision): void {
    const decided = { token_id, decision, text: 'x', digest: 'd' }
    const before = [this.log.length, this.state] as const
    try {
      const provider = this.provider as ProviderKind
      this.persist({ type: 'decided', provider, boot_id: 'b', decided, asks: ASKS, sources: [] })
    } catch (error) {
      // A batch is written completely or not at all.
      this.log.length = before[0]
      this.state = before[1]
      throw error
    }
  }

  private rotate(run: Run, old: string): void {
    const token_id = this.id('token')
    const { run_id } = run
    const asks =
      this.provider === 'agent'
        ? ASKS
        : run.wait?.call_ids.map((call_id) => ({ call_id, tool: this.call(call_id).tool, input: {} }))
    this.append([
      { kind: 'token.revoked', run_id, token_id: old, reason: 'rotated' },
      { kind: 'token.minted', run_id, token_id, hash: 'h', expires_at: EXPIRY },
      {
        kind: 'run.waiting',
        run_id,
        wait: run.wait?.kind ?? 'approval',
        asks: asks ?? [],
        token_id,
        deadline_at: EXPIRY,
      },
    ])
  }

  private stop(reason: StopReason, flag: boolean): void {
    const run = this.open
    if (run === undefined || run.wait !== null || this.effect === undefined) return
    if (run.phase === 'answered') return
    const running = this.effect.type === 'run_tool' && !flag ? this.effect.call_id : undefined
    const outcome = { content: 'stopped', is_error: true, output: null }
    const result = running === undefined ? null : { call_id: running, ...outcome }
    const used = this.provider === 'agent' ? this.usedByProgram() : {}
    this.persist({ type: 'stopped', reason, state: null, result, ...used })
  }

  /** The process dies, and another process recovers. It may die at once too. */
  private crash(word: string, flag: boolean): void {
    this.effect = undefined
    const continuesTurn = !word.includes('only mark')
    const reply = word.includes('had finished') ? 'x' : undefined
    this.settle(continuesTurn, word.includes('continue') ? 'continue' : 'stop', reply)
    if (flag) return
    this.append(restRecords(this.state, 'recovery'))
    if (word.includes('a message')) this.message()
    else if (word.includes('cancel')) this.cancel()
    else if (continuesTurn) this.goOn()
  }

  private settle(
    continuesTurn: boolean,
    unknownTool: 'stop' | 'continue',
    finished: string | undefined,
  ): void {
    const row = rowOf(this.state, reading(this.now))
    this.rows.add(row)
    const used = row === 'J' ? this.usedByProgram() : {}
    const facts = { policy: POLICY, unknownTool, continuesTurn, hasSurvivor: false, finished, used }
    this.append(settlement(this.state, row, facts))
  }

  private goOn(): void {
    const run = this.open
    if (this.provider === undefined) return
    if (run !== undefined && run.wait !== null && !isDue(run.wait, reading(this.now))) return
    if (run !== undefined) {
      const event = { type: 'go_on' as const, provider: this.provider, boot_id: 'b', auto: true }
      this.persist({ ...event, notice: run.wait === null ? 'interrupted' : null, sources: [] })
    } else if (isInterrupted(this.state))
      this.persist(this.beginning('', this.state.recovery.interruption?.run_id, true))
  }

  /** A person's message to an agent whose turn no longer continues automatically. */
  private message(): void {
    const run = this.open
    if (run !== undefined && run.wait === null) this.append(interruptedRecords(run))
    if (this.provider !== undefined) this.persist(this.beginning('', undefined, false))
  }

  private cancel(): void {
    const run = this.open
    if (run === undefined) return
    this.append([
      ...revokedRecords(this.state, run, 'ended'),
      ...withdrawnRecords(run, 'the turn was cancelled'),
      { kind: 'run.cancelled', run_id: run.run_id, reason: 'cancelled' },
    ])
  }

  /** The usage of a request to a model. Some providers report no usage, some no model. */
  private usedByRequest(): { usage?: Usage; model?: string } {
    const { usage, models: [part] = [] } = this.usedByProgram(1)
    if (usage === undefined) return {}
    return part === undefined ? { usage } : { usage, model: part.model }
  }

  /** The usage that comes with the end of the program, if the record of its reply has none. */
  private usedLate(): Used {
    return this.isUsageDue ? this.usedByProgram() : {}
  }

  /** A usage that differs from all others, with any of the fields that a provider may leave out, and its parts by model. */
  private usedByProgram(modelsMax = 2): Used {
    const { open } = this
    const id = ++this.ids
    if (open === undefined || id % 4 === 0) return {}
    const parts = [`m${id % 3}`, 'other'].slice(0, id % 5 === 0 ? 0 : modelsMax)
    const models = parts.map((model, at): ModelUsage => ({ model, ...someUsage(10 * id + at) }))
    const total = models.length === 0 ? someUsage(10 * id) : sumOf(models)
    if (models.length === 0) this.reported.push({ run_id: open.run_id, usage: total, model: undefined })
    for (const { model, ...usage } of models) this.reported.push({ run_id: open.run_id, usage, model })
    return models.length === 0 ? { usage: total } : { usage: total, models }
  }

  private call(callId: string): Call {
    return this.state.run?.calls.find(({ call_id }) => call_id === callId) as Call
  }

  private id(what: string): string {
    return idOf(`${what} ${++this.ids}`)
  }

  private get session(): Readable {
    const { log } = this
    return {
      state: this.state,
      recordAt: ({ seq }) => this.log[seq - 1] as SessionRecord,
      *recordsOfKinds<K extends RecordKind>({ seq }: { seq: number }, kinds: readonly K[]) {
        for (const record of log.slice(seq - 1))
          if ((kinds as readonly RecordKind[]).includes(record.kind)) yield record as SessionRecord<K>
      },
      text: (content) => content as string,
    }
  }
}

/** The questions of a program. */
const ASKS: Ask[] = [{ call_id: 'native', tool: 'bash', input: {} }]

const NO_MORE: RetryPlan = { retryInMs: null, notBefore: null }

const FAILURES: Record<string, ['crashed' | 'overloaded' | 'rate_limit' | 'overflow', RetryPlan]> = {
  fail: ['crashed', NO_MORE],
  'fail, overloaded': ['overloaded', { retryInMs: 1, notBefore: null }],
  'fail, rate limit': ['rate_limit', { retryInMs: null, notBefore: NOT_BEFORE }],
  'fail, too long': ['overflow', NO_MORE],
}

/** The possible tools of each call. */
const CALLS: Record<string, string[][]> = {
  'answer with a call': [['shell', 'read_file', 'write_file', 'nonsense']],
  'answer with three calls': [
    ['shell', 'read_file'],
    ['read_file', 'write_file', 'ask_operator'],
    ['write_file', 'nonsense', 'shell'],
  ],
  'answer with a question': [['ask_operator']],
  'answer with the same ids again': [['read_file'], ['shell', 'write_file']],
}

/** The rules that a strict API has for a conversation. */
function expectWhole(messages: ModelMessage[]): void {
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index] as ModelMessage
    if (message.role === 'tool') throw new Error(`message ${index} is a result without its call`)
    if (message.role !== 'assistant') continue
    for (const { call_id, name } of message.tool_calls) {
      index += 1
      expect(messages[index], `the result of ${call_id}`).toMatchObject({ role: 'tool', call_id, name })
    }
  }
}

function idOf(what: string): string {
  const hex = createHash('sha256').update(what).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
