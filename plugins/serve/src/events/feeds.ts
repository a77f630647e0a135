/**
 * All feeds of a server. Every client of an agent has the same feed, and one timer looks at all of them: the log is the only
 * source, so that records of other processes and other servers come in the same way.
 */

import type { Commands } from '../../../shared/src/face/commands.js'
import type { StreamLine } from '../../../shared/src/face/output.js'
import type { Core, Position, Store } from '../core.js'
import { Refusal } from '../problem.js'
import { AgentFeed, AgentSource } from './agent-feed.js'
import { HomeFeed, HomeSource } from './home-feed.js'
import type { Source } from './stream.js'

/** The other connections stay free for requests. */
const STREAMS_MAX = 512
/** In a home that tells of changes, its own time. */
const LOOK_MS = 100
/** Looking takes at most this part of the time. */
const LOOK_SHARE = 1 / 5

export class Feeds {
  private readonly agents = new Map<string, AgentFeed>()
  private homeFeed: HomeFeed | undefined
  private timer: NodeJS.Timeout | undefined
  private streams = 0
  private readonly watches = new Map<object, { close(): void }>()
  private everyMs = LOOK_MS

  constructor(
    private readonly core: Core,
    private readonly openHome: () => Store | undefined,
    commands: Commands,
    private readonly onSync: (seconds: number) => void,
  ) {
    commands.watch((line) => this.take(line))
  }

  /** The records of the agent from this position on, and live text. */
  agent(store: Store, agentId: string, from: Position): Source {
    this.admit()
    const feed = this.agents.get(agentId) ?? new AgentFeed(this.core, store, agentId, this.onSync)
    if (!this.agents.has(agentId)) this.follow(feed, store, agentId, () => this.lookAt(feed))
    this.agents.set(agentId, feed)
    this.schedule(this.lookMs(store))
    return new AgentSource(feed, from, () => {
      this.streams -= 1
      if (feed.isUsed) return
      if (this.agents.get(agentId) === feed) this.agents.delete(agentId)
      this.unfollow(feed)
    })
  }

  home(hasAll: boolean): Source {
    this.admit()
    const feed = this.homeFeed ?? new HomeFeed(this.core)
    const store = this.openHome()
    if (this.homeFeed === undefined) this.follow(feed, store, null, () => this.lookAtHome())
    this.homeFeed = feed
    this.schedule(feed.isComplete ? this.lookMs(store) : 0)
    return new HomeSource(feed, hasAll, () => {
      this.streams -= 1
      if (feed.isUsed) return
      if (this.homeFeed === feed) this.homeFeed = undefined
      this.unfollow(feed)
    })
  }

  private follow(feed: object, store: Store | undefined, agentId: string | null, look: () => void): void {
    const watch = store?.changes?.follow(agentId, look)
    if (watch !== undefined) this.watches.set(feed, watch)
  }

  private unfollow(feed: object): void {
    this.watches.get(feed)?.close()
    this.watches.delete(feed)
  }

  private lookMs(store: Store | undefined): number {
    this.everyMs = store?.changes?.everyMs ?? LOOK_MS
    return this.everyMs
  }

  private admit(): void {
    if (this.streams >= STREAMS_MAX)
      throw new Refusal('SERVER_BUSY', `${STREAMS_MAX} streams are open`, 'close one, or come back later')
    this.streams += 1
  }

  /** A line of a command of this server. Its record is read from the log at once, so that live text comes after it. */
  private take(line: StreamLine): void {
    const feed = this.agents.get(line.agent)
    if (feed === undefined) return
    if (line.partial === true) feed.live(line)
    else this.lookAt(feed)
  }

  private schedule(ms: number): void {
    this.timer ??= setTimeout(() => this.look(), ms).unref()
  }

  private look(): void {
    this.timer = undefined
    const began = performance.now()
    for (const feed of this.agents.values()) this.lookAt(feed)
    this.lookAtHome()
    if (this.agents.size === 0 && this.homeFeed === undefined) return
    this.schedule(Math.max(this.everyMs, (performance.now() - began) * (1 / LOOK_SHARE - 1)))
  }

  /** After an error, a client that comes back has a new feed. */
  private lookAt(feed: AgentFeed): void {
    try {
      feed.look()
    } catch (error) {
      this.agents.delete(feed.agentId)
      this.unfollow(feed)
      feed.fail(error)
    }
  }

  private lookAtHome(): void {
    const feed = this.homeFeed
    if (feed === undefined) return
    try {
      feed.look(this.openHome())
    } catch (error) {
      this.homeFeed = undefined
      this.unfollow(feed)
      feed.fail(error)
    }
  }
}
