/** A channel to the loopback platform, run in this process. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ChannelConfig } from '../../src/channel/config.js'
import { type ChannelCounts, runChannel } from '../../src/channel/run.js'
import type { Scenario } from '../../src/provider/scenario.js'
import { openForRead } from '../../src/session/load.js'
import type { State } from '../../src/session/state.js'
import type { Store } from '../../src/storage/store.js'
import { livingRoot } from '../../src/tree/names.js'
import type { House } from './cli.js'
import { type ContextFacts, contextAt } from './contexts.js'
import { loopbackChannel, type Platform } from './platform.js'
import { tempDirectory } from './temp.js'

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
  for (const record of readdirSync(join(house.home, 'agents')).flatMap((id) => house.records(id))) {
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
