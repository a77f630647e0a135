/** `channel run`: checks the settings before anything is received. */
import type { Context } from '../dispatch/context.js'
import type { PluginFacts } from '../provider/registry.js'
import type { ChannelRan } from '../schema/output-home.js'
import { checkedTemplate } from './agents.js'
import type { ChannelConfig } from './config.js'
import { channelSettings, loadChannel } from './load.js'
import { runChannel } from './run.js'

export interface ChannelStart {
  config: ChannelConfig
  isOnce: boolean
  plugins: Iterable<PluginFacts>
}

export async function startChannel(
  ctx: Context,
  { config, isOnce, plugins }: ChannelStart,
): Promise<ChannelRan> {
  await checkedTemplate(ctx, config.agent)
  const channel = await loadChannel(plugins, config.type)
  const secrets = new Map(Object.entries(ctx.outbound.secrets))
  const settings = channelSettings(channel, config, secrets)
  const counts = await runChannel(ctx, { config, channel, settings, isOnce })
  return { channel: config.name, ...counts }
}
