/**
 * Runs a channel: receives messages, gives the agents of their threads turns, and sends what they say.
 *
 * Invariant: one process runs a channel. Each step reads the log of the channel, so the next process continues after any crash.
 */
import { sleep } from '../clock.js'
import type { Context } from '../dispatch/context.js'
import { needsVisit } from '../dispatch/pending-visits.js'
import { SubstratError, shellWord } from '../errors.js'
import { readClock } from '../host/identity.js'
import { limits } from '../limits.js'
import { CommandOutbound } from '../outbound/outbound.js'
import { pauseBefore } from '../outbound/plan.js'
import type { ChannelRan } from '../schema/output-home.js'
import type { ChannelState } from '../session/state.js'
import type { Right } from '../storage/store.js'
import { ThreadAgents } from './attention.js'
import type { ChannelConfig } from './config.js'
import type { Channel, ChannelConnection, ChannelSettings } from './contract.js'
import { passOn, pendingRecord, recordMessages } from './incoming.js'
import { failureOf } from './load.js'
import { ChannelLog, channelAgent, NO_CHANNEL } from './log.js'
import { channelTarget, newsOf, pendingNote, queueNews, type Saying, saidRecords } from './outgoing.js'

/** Poll interval for changes by other processes. */
const LOOK_MS = 250
/** How long the platform may hold a request for messages. */
const RECEIVE_MS = 25_000
const RETRY_MS_MAX = 60_000
const ATTEMPTS_OF_ONCE = 3

export interface ChannelRun {
  config: ChannelConfig
  channel: Channel
  settings: ChannelSettings
  /** Receive what is there, and end when all of it is answered. False: until a signal. */
  isOnce: boolean
}

export type ChannelCounts = Omit<ChannelRan, 'channel'>

/** Throws LOCKED if another process runs the channel. */
export async function runChannel(ctx: Context, run: ChannelRun): Promise<ChannelCounts> {
  const { config, channel, settings, isOnce } = run
  const { name } = config
  const right = await ctx.store.takeSlot(`channel-${name}`, 1, ctx.command)
  if (right === undefined)
    throw new SubstratError('LOCKED', `another process runs the channel ${name}`, {
      hint: `see its threads: substrat tree ${shellWord(name)}`,
    })
  let connection: ChannelConnection | undefined
  try {
    const log = new ChannelLog(ctx, await channelAgent(ctx, config))
    ctx.shutdown.listen()
    connection = await openConnection(channel, settings, name)
    const runner = new ChannelRunner(ctx, log, connection, right, {
      config,
      textCharactersMax: channel.textCharactersMax,
      mayShowTwice: channel.mayShowTwice === true,
    })
    return await (isOnce ? runner.runOnce() : runner.runUntilStopped())
  } finally {
    await connection?.close().catch(() => undefined)
    await right.release()
  }
}

async function openConnection(
  channel: Channel,
  settings: ChannelSettings,
  name: string,
): Promise<ChannelConnection> {
  try {
    return await channel.open(settings)
  } catch (error) {
    throw brokenError(name, error)
  }
}

class ChannelRunner {
  private readonly agents: ThreadAgents
  private readonly outbound: CommandOutbound
  private readonly counts: ChannelCounts
  /** Agents to which a message is being passed on. */
  private readonly passing = new Map<string, Promise<void>>()
  private readonly deciding = new Set<Promise<void>>()
  private failure: unknown

  constructor(
    private readonly ctx: Context,
    private readonly log: ChannelLog,
    private readonly connection: ChannelConnection,
    private readonly right: Right,
    private readonly saying: Saying,
  ) {
    const { store, command, reporter } = ctx
    const { config } = saying
    this.agents = new ThreadAgents(ctx, config.name)
    this.counts = { agent: log.id, received: 0, ignored: 0 }
    this.outbound = new CommandOutbound({
      ...{ store, command, needsVisit, rules: [], secrets: {} },
      note: (text) => reporter.note(text),
      waitMs: limits.outboundDeliverWaitMs,
      targets: async () => new Map([[config.name, channelTarget(connection, saying)]]),
    })
  }

  private get isStopped(): boolean {
    return this.ctx.shutdown.requested !== undefined || this.failure !== undefined
  }

  async runOnce(): Promise<ChannelCounts> {
    let isMore = true
    while (isMore && !this.isStopped) isMore = await this.receiveWithRetries(0, ATTEMPTS_OF_ONCE)
    await this.finish()
    const left = pendingNote(this.log.state)
    if (left !== undefined) this.ctx.reporter.note(left)
    return this.counts
  }

  async runUntilStopped(): Promise<ChannelCounts> {
    this.ctx.reporter.note(`the channel ${this.saying.config.name} runs; stop it with Ctrl-C or SIGTERM`)
    const looking = this.lookUntilStopped()
    try {
      while (!this.isStopped) await this.receiveWithRetries(RECEIVE_MS, Number.POSITIVE_INFINITY)
    } catch (error) {
      this.failure ??= error
    }
    await looking
    await this.finish()
    return this.counts
  }

  private async lookUntilStopped(): Promise<void> {
    while (!this.isStopped) {
      try {
        await this.look()
      } catch (error) {
        this.failure ??= error
      }
      await Promise.race([sleep(LOOK_MS), whenAborted(this.ctx.shutdown.whenRequested)])
    }
  }

  /** Whether there may be more messages. */
  private async receiveWithRetries(waitMs: number, attemptsMax: number): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.receive(waitMs)
      } catch (error) {
        if (this.isStopped) return false
        if (error instanceof SubstratError) throw error
        const { permanent, why, retryAfterMs } = failureOf(error)
        if (permanent || attempt >= attemptsMax) throw brokenError(this.saying.config.name, error)
        const pauseMs = Math.min(retryAfterMs ?? 1000 * 2 ** (attempt - 1), RETRY_MS_MAX)
        this.ctx.reporter.note(`cannot receive: ${why}; trying again in ${Math.ceil(pauseMs / 1000)} s`)
        await Promise.race([sleep(pauseMs), whenAborted(this.ctx.shutdown.whenRequested)])
        if (this.isStopped) return false
      }
    }
  }

  private async receive(waitMs: number): Promise<boolean> {
    this.right.assertHeld()
    const { cursor, pending } = this.log.channel
    // The platform keeps further messages until there is room.
    if (pending.length >= limits.inboxMessagesMax) {
      await sleep(LOOK_MS)
      return false
    }
    const request = { cursor, waitMs, messagesMax: limits.channelMessagesMax }
    const received = await this.connection.receive(request, this.ctx.shutdown.whenRequested)
    if (received.messages.length === 0 && received.cursor === cursor) {
      // A service that does not wait is asked again after a moment.
      if (waitMs > 0) await sleep(LOOK_MS)
      return false
    }
    const { config } = this.saying
    const taken = await this.log.write((session) => recordMessages(this.ctx, session, config, received))
    const { messages, refused = [] } = received
    this.counts.received += taken.received
    this.counts.ignored += taken.ignored.length + refused.length
    for (const sender of new Set(taken.ignored))
      this.ctx.reporter.note(`ignored a message from ${sender}, who is not in senders`)
    for (const { sender, why } of refused) this.ctx.reporter.note(`ignored a message from ${sender}: ${why}`)
    await this.look()
    // A batch without a message for this channel may have others behind it.
    return messages.length + refused.length > 0 || received.cursor !== cursor
  }

  /** Passes messages on, takes the mail of the agents, and starts what is due. */
  private async look(): Promise<void> {
    const { store, reporter } = this.ctx
    const channel = this.log.state.channel ?? NO_CHANNEL
    this.passPending(channel)
    const attention = this.agents.look(channel)
    const news = newsOf(store, channel, attention)
    if (news !== undefined || store.mail.ids(this.log.id).length > 0)
      await this.log.write((session) =>
        queueNews(store, session, this.saying, news, (text) => reporter.note(text)),
      )
    const now = readClock()
    const { outbound = [] } = this.log.state
    if (outbound.some((entry) => pauseBefore(entry, now) <= limits.outboundPauseMsMax))
      this.outbound.wake(this.log.id)
  }

  /** In order for each agent; agents do not wait for each other. */
  private passPending({ pending }: ChannelState): void {
    for (const entry of pending) {
      const { agent_id: agentId } = entry
      if (this.passing.has(agentId) || this.isStopped) continue
      const own = pending.filter((each) => each.agent_id === agentId)
      const work = this.passAll(own).catch((error) => {
        this.failure ??= error
      })
      this.passing.set(
        agentId,
        work.finally(() => this.passing.delete(agentId)),
      )
    }
  }

  private async passAll(entries: ChannelState['pending']): Promise<void> {
    for (const entry of entries) if (this.isStopped || !(await this.pass(entry))) return
  }

  private async pass(entry: ChannelState['pending'][number]): Promise<boolean> {
    const { config } = this.saying
    const channel = this.log.state
    if (channel.channel?.pending.some(({ message_id }) => message_id === entry.message_id) !== true)
      return true
    const record = pendingRecord(this.ctx, this.log.id, entry)
    const decisions = { ctx: this.agents.ctx, track: (work: Promise<void>) => this.track(work) }
    const passed = await passOn(this.ctx, decisions, { channel, config }, record)
    if (passed === 'undecided') {
      await sleep(LOOK_MS)
      return false
    }
    const { message_id, agent_id, thread, remote_id, sender, context } = record
    const latest = { remote_id, sender, ...(context === undefined ? {} : { context }) }
    const isDone = await this.log.write((session, { pending }) => {
      if (pending.every((each) => each.message_id !== message_id)) return true
      const said = passed.says.flatMap((text, index) =>
        saidRecords(this.saying, this.log.id, { thread, latest }, { cause: `${message_id} ${index}`, text }),
      )
      if (said.length > ChannelLog.roomIn(session.state)) return false
      session.append([{ kind: 'channel.handled', message_id, outcome: passed.outcome }, ...said])
      return true
    })
    if (passed.outcome === 'delivered') this.agents.wake(agent_id)
    return isDone
  }

  private track(work: Promise<void>): void {
    const tracked: Promise<void> = work.finally(() => this.deciding.delete(tracked))
    this.deciding.add(tracked)
  }

  /** Ends when nothing is left to do, or at a signal once the turns have stopped. The rest is on disk then. */
  private async finish(): Promise<void> {
    let before = ''
    for (;;) {
      await Promise.all([...this.passing.values(), ...this.deciding])
      await this.agents.untilIdle()
      if (this.failure !== undefined) break
      await this.look()
      const now = this.progress()
      if (this.passing.size + this.deciding.size === 0 && !this.agents.isActive && now === before) break
      before = now
    }
    await this.outbound.untilSent()
    if (this.failure !== undefined) throw this.failure
  }

  private progress(): string {
    const { last_seq, channel = NO_CHANNEL } = this.log.state
    return JSON.stringify([last_seq, channel.pending.length, this.ctx.store.mail.ids(this.log.id)])
  }
}

function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

function brokenError(name: string, error: unknown): SubstratError {
  const { permanent, why } = failureOf(error)
  return permanent
    ? new SubstratError('PROVIDER_MISCONFIGURED', `the channel ${name} cannot be used: ${why}`, {
        hint: 'correct the setting channels: substrat config edit',
        cause: error,
      })
    : new SubstratError('PROVIDER_FAILED', `the channel ${name} cannot be reached: ${why}`, {
        hint: `try again: substrat channel run ${shellWord(name)}`,
        cause: error,
      })
}
