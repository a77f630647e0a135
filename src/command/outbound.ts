/** The outbound messages of a command, from the setting `notify`. */
import { isOwed } from '../dispatch/pending-visits.js'
import { limits } from '../limits.js'
import { type NotifyTarget, notifyRules } from '../outbound/notify.js'
import { CommandOutbound, type Outbound } from '../outbound/outbound.js'
import type { Store } from '../storage/store.js'

export function outboundOf(
  store: Store,
  targets: NotifyTarget[],
  command: string,
  note: (text: string) => void,
  /** Whether the command is there to send what is pending. */
  sendsPending = false,
): Outbound {
  const variables = takeVariables(targets)
  return new CommandOutbound({
    store,
    command,
    note,
    isOwed,
    rules: notifyRules(targets),
    secrets: Object.fromEntries(variables),
    waitMs: sendsPending ? limits.outboundDeliverWaitMs : limits.outboundWaitMs,
    // Loaded only when something must be sent.
    targets: async () => {
      const { notifyTargets } = await import('../outbound/notify-target.js')
      return notifyTargets(targets, { homeId: store.homeId, variables, stderr: 'ignore' }, note)
    },
  })
}

/** Removes the secrets of targets from the environment, so that no tool and no program of a turn gets them. */
function takeVariables(targets: NotifyTarget[]): Map<string, string> {
  const values = new Map<string, string>()
  for (const { url, secret, token } of targets) {
    for (const place of [url, secret, token]) {
      if (typeof place !== 'object' || !('env' in place)) continue
      const value = process.env[place.env]
      if (value !== undefined) values.set(place.env, value)
    }
  }
  for (const name of values.keys()) delete process.env[name]
  return values
}
