/** One agent: its records as they become durable, the live text of its reply, and what `show` says about it. */
import { call } from '../api/client.js'
import { Problem } from '../api/problem.js'
import { follow, type ServerEvent } from '../api/stream.js'
import type { SessionRecord, ShownAgent } from '../api/types.js'
import { ENDS_LIVE, isLate } from '../model/live-text.js'
import { agents } from './home.js'
import { RUNNING_MS } from './shown.js'
import { soon } from './soon.js'
import { Store } from './store.js'

interface AgentLog {
  shown: ShownAgent
  /** Without a gap, up to the newest. */
  records: readonly SessionRecord[]
  /** The reply so far, which is not durable yet. */
  live: string
}

export type AgentState = AgentLog | { problem: Problem } | undefined

const PAGE = 500
const DRAW_MS = 50
/** Shown again after these changes; one reading for many of them. */
const SHOW_MS = 120

export class AgentFollower {
  readonly state = new Store<AgentState>(undefined)
  private readonly abort = new AbortController()
  private shown: ShownAgent | undefined
  private records: SessionRecord[] = []
  private live = ''
  private readonly drawSoon = soon(DRAW_MS, () => this.draw())
  private readonly showSoon = soon(SHOW_MS, () => void this.show())

  constructor(private readonly id: string) {
    void this.begin()
    const stop = agents.subscribe(() => this.showSoon())
    const timer = setInterval(() => this.shown?.holder != null && this.showSoon(), RUNNING_MS)
    this.abort.signal.addEventListener('abort', () => {
      stop()
      clearInterval(timer)
    })
  }

  stop(): void {
    this.abort.abort()
  }

  get isWhole(): boolean {
    return (this.records[0]?.seq ?? 1) === 1
  }

  /** Reads the records before those that are known. */
  async readEarlier(): Promise<void> {
    const first = this.records[0]?.seq ?? 1
    const after = Math.max(0, first - 1 - PAGE)
    const earlier = await this.readFrom(after, first - 1)
    this.records = [...earlier, ...this.records]
    this.draw()
  }

  private async begin(): Promise<void> {
    try {
      this.shown = await call('showAgent', { agent: this.id, signal: this.abort.signal })
      const end = this.shown.agent.last_seq
      this.records = await this.readFrom(Math.max(0, end - PAGE), end)
      this.draw()
    } catch (error) {
      if (!(error instanceof Problem)) return
      if (!error.isTemporary) return this.state.set({ problem: error })
      setTimeout(() => this.abort.signal.aborted || void this.begin(), 1000)
      return
    }
    const path = `/v1/agents/${encodeURIComponent(this.shown.agent.id)}/events`
    void follow(() => `${path}?after=${this.lastSeq}`, {
      signal: this.abort.signal,
      onEvent: (event) => this.take(event),
      onProblem: (problem) => this.state.set({ problem }),
    })
  }

  private get lastSeq(): number {
    return this.records.at(-1)?.seq ?? 0
  }

  /** The records after the first number, up to the second. */
  private async readFrom(after: number, until: number): Promise<SessionRecord[]> {
    const found: SessionRecord[] = []
    let from = after
    while (from < until) {
      const { records, last_seq: last } = await call('listRecords', {
        agent: this.id,
        query: { after: from, limit: Math.min(1000, until - from) },
        signal: this.abort.signal,
      })
      if (records.length === 0) break
      found.push(...records)
      from = last
    }
    return found
  }

  private take({ event, data }: ServerEvent): void {
    if (event === 'record') {
      const record = JSON.parse(data) as SessionRecord
      if (record.seq <= this.lastSeq) return
      this.records.push(record)
      if (ENDS_LIVE.has(record.kind)) this.live = ''
      this.showSoon()
    } else if (event === 'live') {
      const { content, run_id: runId } = JSON.parse(data) as { content?: unknown; run_id?: unknown }
      if (typeof content === 'string' && !isLate(this.records, runId)) this.live += content
    } else return
    this.drawSoon()
  }

  private draw(): void {
    if (this.shown === undefined || this.abort.signal.aborted) return
    this.state.set({ shown: this.shown, records: [...this.records], live: this.live })
  }

  /** Also after an action of the reader. */
  async show(): Promise<void> {
    if (this.abort.signal.aborted) return
    try {
      this.shown = await call('showAgent', { agent: this.id, signal: this.abort.signal })
      this.draw()
    } catch {
      // The stream reports what is wrong.
    }
  }
}
