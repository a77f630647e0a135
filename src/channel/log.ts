/** The session of a channel: a root agent with the provider `channel`. Its log has the cursor, the threads and the messages. */
import type { Context } from '../dispatch/context.js'
import { needsVisit } from '../dispatch/pending-visits.js'
import { applyControls } from '../dispatch/visit.js'
import { SubstratError, shellWord } from '../errors.js'
import { CHANNEL } from '../format.js'
import { limits } from '../limits.js'
import { removeDelivered } from '../mail/inbox.js'
import { openDurable, openForRead } from '../session/load.js'
import { openForAppend, type Session } from '../session/session.js'
import type { ChannelState, State } from '../session/state.js'
import { randomUuid } from '../start/random.js'
import { createAgent } from '../tree/create-agent.js'
import { createdRecord } from '../tree/created.js'
import { livingRoot } from '../tree/names.js'
import type { ChannelConfig } from './config.js'

/** Another command, such as `deliver`, holds the session for a moment. */
const LOCK_WAIT_MS = 60_000

export const NO_CHANNEL: ChannelState = { cursor: null, threads: [], pending: [], received: [] }

/** Creates the session at the first run. Throws NAME_TAKEN if an agent has the name. */
export async function channelAgent(ctx: Context, { name, type, agent }: ChannelConfig): Promise<string> {
  const existing = livingRoot(ctx.store, name)
  if (existing !== undefined) return checkedChannel(ctx, existing, name)
  const id = randomUuid()
  const facts = {
    ...{ id, name, parent: null, provider: CHANNEL, model: null, instructions: null },
    ...{ workspace: agent.workspace, options: { type }, allow: [] },
  }
  try {
    const session = await createAgent(
      ctx.store,
      {
        id,
        name,
        parent: null,
        command: ctx.command,
        records: ({ path }) => [createdRecord({ ...facts, path })],
      },
      ctx.bounds,
    )
    await session.close((state) => needsVisit(ctx.store, state))
    return id
  } catch (error) {
    if (!(error instanceof SubstratError) || error.code !== 'NAME_TAKEN') throw error
    return checkedChannel(ctx, String(error.facts.agent_id), name)
  }
}

function checkedChannel(ctx: Context, agentId: string, name: string): string {
  ctx.store.makeDurable(agentId)
  const state = openForRead(ctx.store, agentId)?.state
  if (state?.provider_name === CHANNEL) return agentId
  throw new SubstratError('NAME_TAKEN', `the name ${name} is taken by an agent that is not a channel`, {
    hint: `give the channel another name: substrat config edit; or terminate that agent: substrat terminate ${shellWord(name)}`,
    facts: { agent_id: agentId },
  })
}

export class ChannelLog {
  private latest: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly ctx: Context,
    readonly id: string,
  ) {}

  /** The work has the session alone, also in this process. It takes no lock of another agent. */
  write<T>(work: (session: Session, channel: ChannelState) => T): Promise<T> {
    const done = this.latest.then(() => this.writeNow(work))
    this.latest = done.catch(() => undefined)
    return done
  }

  private async writeNow<T>(work: (session: Session, channel: ChannelState) => T): Promise<T> {
    const { store, command } = this.ctx
    const session = await openForAppend(store, this.id, { command, waitMs: LOCK_WAIT_MS })
    try {
      applyControls(session)
      const result = work(session, session.state.channel ?? NO_CHANNEL)
      removeDelivered(session)
      await session.close((state) => needsVisit(store, state))
      return result
    } finally {
      await session.abandon()
    }
  }

  /** Without the lock, and durable. */
  get state(): State {
    return (openDurable(this.ctx.store, this.id) as { state: State }).state
  }

  get channel(): ChannelState {
    return this.state.channel ?? NO_CHANNEL
  }

  /** How many more messages may be queued for the platform. */
  static roomIn({ outbound = [] }: State): number {
    return limits.outboundMax - outbound.filter(({ thread }) => thread !== null).length
  }
}
