/** A channel to the loopback platform, run in this process. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ChannelConfig } from '../../src/channel/config.js'
import { type ChannelCounts, runChannel } from '../../src/channel/run.js'
import type { Scenario } from '../../src/provider/scenario.js'
import { openForRead } from '../../src/session/load.js'
import type { SessionRecord } from '../../src/session/records.js'
import type { State } from '../../src/session/state.js'
import type { Store } from '../../src/storage/store.js'
import { livingRoot } from '../../src/tree/names.js'
import type { House } from './cli.js'
import { type ContextFacts, contextAt } from './contexts.js'
import { loopbackChannel, type Platform } from './platform.js'
import { tempDirectory } from './temp.js'
import { waitFor } from './wait.js'

export function channelConfig(
  responses?: Scenario['responses'],
  over: Partial<ChannelConfig> = {},
): ChannelConfig {
  const workspace = join(tempDirectory(), 'work')
  mkdirSync(workspace)
  const scenario = join(workspace, 'scenario.json')
  if (responses !== undefined) writeFileSync(scenario, JSON.stringify({ responses }))
  return {
    ...{ name: 'chat', type: 'loopback', options: {}, senders: ['ann', 'bob'], approvers: ['ann'] },
    agent: {
      ...{ provider: 'scripted', model: null, instructions: null, allow: [], workspace },
      options: responses === undefined ? {} : { scenario },
    },
    ...{ triesMax: 3, lifetimeMs: 3_600_000, ...over },
  }
}

/** `channel run --once`. */
export async function runOnce(
  store: Store,
  platform: Platform,
  config: ChannelConfig,
  facts: ContextFacts = {},
): Promise<ChannelCounts & { notes: string[] }> {
  const { ctx, notes } = contextAt(store, facts)
  const settings = { options: { url: platform.url } }
  const channel = { ...loopbackChannel(), mayShowTwice: platform.mayShowTwice }
  const counts = await runChannel(ctx, { config, channel, settings, isOnce: true })
  return { ...counts, notes }
}

export function channelState(store: Store, name = 'chat'): State {
  return openForRead(store, livingRoot(store, name) as string)?.state as State
}

/** The agents of the threads, oldest first. */
export function threadAgents(store: Store): State[] {
  const { channel } = channelState(store)
  return (channel?.threads ?? []).map(({ agent_id }) => openForRead(store, agent_id)?.state as State)
}

/** Tells whether the replies that repeat `message N` were sent or dropped, by that text. Those that are still to be sent are left out. */
export function endsOfReplies(house: House): Map<string, 'sent' | 'dropped'> {
  const texts = new Map<string, string>()
  const ends = new Map<string, 'sent' | 'dropped'>()
  for (const record of recordsOfHome(house)) {
    if (record.kind === 'outbound.queued' && typeof record.content === 'string')
      for (const text of /message \d+$/.exec(record.content.trimEnd()) ?? [])
        texts.set(record.outbound_id, text)
    if (record.kind !== 'outbound.sent' && record.kind !== 'outbound.dropped') continue
    const text = texts.get(record.outbound_id)
    if (text === undefined) continue
    if (ends.has(text)) throw new Error(`the reply to ${text} has two ends`)
    ends.set(text, record.kind === 'outbound.sent' ? 'sent' : 'dropped')
  }
  return ends
}

/**
 * Runs the channel, without kills, until so many replies were sent or dropped. A run may leave only replies whose next attempt comes
 * later. Otherwise something is stuck, and this fails with its name.
 */
export async function answerAll(
  house: House,
  { channel, count, run }: { channel: string; count: number; run: () => Promise<string> },
): Promise<void> {
  for (;;) {
    const [before, began] = [recordsOfHome(house).length, new Date().toISOString()]
    const said = await run()
    // After three kills without progress, only a person continues a turn.
    for (const { id, path, status } of (await house.ok('list', '--json')).json.agents)
      if (path.startsWith(`${channel}/`) && status === 'interrupted_startup') await house.run(['resume', id])
    if (endsOfReplies(house).size >= count) return
    if (recordsOfHome(house).length > before) continue
    const { messages } = (await house.ok('outbox', '--json')).json as {
      messages: { next_at: string | null }[]
    }
    const next = messages.map(({ next_at }) => next_at ?? '').filter((at) => at > began)
    if (next.length === 0) throw new Error(await stuckIn(house, channel, said))
    const first = next.sort()[0] as string
    await waitFor(() => new Date().toISOString() > first, `the next attempt at ${first}`)
  }
}

/** The messages without an end, by thread, with what their agents and the outbox say. */
async function stuckIn(house: House, channel: string, said: string): Promise<string> {
  const ends = endsOfReplies(house)
  const { agents } = (await house.ok('list', '--json')).json as {
    agents: { id: string; path: string; status: string; inbox: number }[]
  }
  const own = agents.find(({ path }) => path === channel)
  const lines = house.records(own?.id as string).flatMap((record) => {
    if (record.kind !== 'channel.received' || ends.has(String(record.content))) return []
    const { content, thread, agent_id } = record
    const agent = agents.find(({ id }) => id === agent_id)
    const at = agent === undefined ? 'not spawned' : `${agent.status}, ${agent.inbox} in its inbox`
    const kinds = agent === undefined ? [] : house.kinds(agent_id).slice(-6)
    return [`${content} in ${thread}: agent ${agent_id} is ${at}; its last records are ${kinds.join(', ')}`]
  })
  const outbox = (await house.run(['outbox'])).stdout
  return [`the channel ${channel} leaves messages without an end:`, ...lines, outbox, said].join('\n')
}

function recordsOfHome(house: House): SessionRecord[] {
  return house.ids().flatMap((id) => house.records(id))
}
