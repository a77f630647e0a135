/**
 * The events of a home: all agents on connect, then each agent that changed. A client that misses states in between gets the
 * latest one, so a slow client needs no memory but the ids of changed agents.
 *
 * A writer marks its agent before it writes, so marked agents are looked at each time. An agent that a quick command changed and
 * unmarked in between is found by the round through all agents.
 */
import type { Core, ListedAgent, Store } from '../core.js'
import { Feed } from './feed.js'
import { CHUNK_BYTES, eventOf, type Source } from './stream.js'

/** The time for the round at each look. */
const ROUND_MS = 10

interface Entry {
  json: string
  isTerminated: boolean
}

export class HomeFeed extends Feed<HomeSource> {
  readonly entries = new Map<string, Entry>()
  /** Whether every agent was read once. */
  isComplete = false
  private marked: string[] = []
  /** The agents that this round has not read yet. */
  private round: string[] = []

  constructor(private readonly core: Core) {
    super()
  }

  /** `store` is undefined if there is no home. */
  look(store: Store | undefined): void {
    if (!this.isComplete) this.readAll(store)
    else if (store !== undefined) this.readChanges(store)
    this.wakeAll()
  }

  private readAll(store: Store | undefined): void {
    this.marked = store?.visits.markedIds() ?? []
    for (const agent of this.core.listAgents(store, { roots: false, all: true }))
      this.entries.set(agent.id, entryOf(agent))
    this.isComplete = true
  }

  private readChanges(store: Store): void {
    const deadline = performance.now() + ROUND_MS
    const marked = store.visits.markedIds()
    const read = this.core.agentReader(store)
    for (const id of new Set([...this.marked, ...marked])) this.refresh(store, id, read)
    this.marked = marked
    if (this.round.length === 0) this.round = [...new Set([...this.entries.keys(), ...store.agentIds()])]
    for (let id = this.round.pop(); id !== undefined; id = this.round.pop()) {
      this.refresh(store, id, read)
      if (performance.now() > deadline) break
    }
  }

  private refresh(store: Store, id: string, read: ReturnType<Core['agentReader']>): void {
    const known = this.entries.get(id)
    if (store.hasAgent(id)) {
      const entry = entryOf(read(id))
      if (entry.json === known?.json) return
      this.entries.set(id, entry)
    } else if (!this.entries.delete(id)) return
    for (const client of this.clients) client.changed.add(id)
  }
}

function entryOf(agent: ListedAgent): Entry {
  return { json: JSON.stringify(agent), isTerminated: agent.shown_status === 'terminated' }
}

export class HomeSource implements Source {
  wake: () => void = () => undefined
  /** The agents that changed since the client was last told. */
  readonly changed = new Set<string>()
  private snapshot: Generator<Buffer> | undefined
  private hasSnapshot = false

  constructor(
    private readonly feed: HomeFeed,
    /** Whether the snapshot has terminated agents. */
    private readonly hasAll: boolean,
    private readonly onStop: () => void,
  ) {}

  start(wake: () => void): void {
    this.wake = wake
    this.feed.add(this)
  }

  stop(): void {
    this.feed.remove(this)
    this.onStop()
  }

  /** A client that comes back gets the whole state again. */
  cursor(): object {
    return {}
  }

  get isWithinEvent(): boolean {
    return this.snapshot !== undefined
  }

  next(): Buffer | undefined {
    this.feed.check()
    if (!this.hasSnapshot) {
      if (!this.feed.isComplete) return undefined
      if (this.snapshot === undefined) this.changed.clear()
      this.snapshot ??= snapshotOf([...this.feed.entries.values()], this.hasAll)
      const { value, done } = this.snapshot.next()
      if (done !== true) return value
      this.hasSnapshot = true
      this.snapshot = undefined
    }
    const events: Buffer[] = []
    let bytes = 0
    for (const id of this.changed) {
      this.changed.delete(id)
      const event = this.eventFor(id)
      events.push(event)
      bytes += event.length
      if (bytes >= CHUNK_BYTES) break
    }
    return events.length === 0 ? undefined : Buffer.concat(events)
  }

  private eventFor(id: string): Buffer {
    const entry = this.feed.entries.get(id)
    return entry === undefined ? eventOf('removed', JSON.stringify({ id })) : eventOf('agent', entry.json)
  }
}

/** One event in pieces: for very many agents it is larger than a client may have in memory. */
function* snapshotOf(entries: Entry[], hasAll: boolean): Generator<Buffer> {
  let text = 'event: snapshot\ndata: {"agents":['
  let separator = ''
  for (const { json, isTerminated } of entries) {
    if (isTerminated && !hasAll) continue
    text += separator + json
    separator = ','
    if (text.length < CHUNK_BYTES) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(`${text}]}\n\n`)
}
