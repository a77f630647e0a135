/** The limits of a command, from its settings: counts, times, tools and kept servers. */
import type { Context } from '../dispatch/context.js'
import type { Settings } from './settings.js'

export function boundsFrom(
  settings: Settings,
  waitMs: number | undefined,
): Pick<Context, 'bounds' | 'tools' | 'keptServers'> {
  return {
    bounds: {
      slotsMax: settings.count('slots_max'),
      depthMax: settings.count('depth_max'),
      childrenMax: settings.count('children_max'),
      workspaceScope: settings.workspaceScope(),
      context: settings.context(),
      waitMs: waitMs ?? settings.durationMs('timeout'),
      turnTimeoutMs: settings.durationMs('turn_timeout'),
      toolTimeoutMs: settings.durationMs('tool_timeout'),
      tokenLifetimeMs: settings.durationMs('token_lifetime'),
      retryDelaysMs: settings.durationsMs('retry_delays'),
      budget: settings.budget(),
    },
    tools: {
      allow: settings.names('allow'),
      servers: settings.servers(),
      unknownTool: settings.unknownTool(),
      onUnknown: settings.onUnknown(),
      trustsHints: settings.trustsHints(),
      takesOver: settings.takesOver(),
    },
    keptServers: { max: settings.count('warm_max'), keeps: true },
  }
}
