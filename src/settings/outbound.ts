/** The outbound messages of a command, from the setting `notify`. */
import { needsVisit } from '../dispatch/pending-visits.js'
import { limits } from '../limits.js'
import { type NotifyTarget, notifyRules } from '../outbound/notify.js'
import { CommandOutbound, type Outbound } from '../outbound/outbound.js'
import type { Store } from '../storage/store.js'

interface OutboundOptions {
  command: string
  note(text: string): void
  /** Whether the command is there to send what is pending. */
  sendsPending: boolean
  /** Further variables of the environment with secrets, such as those of channels. */
  variables: string[]
}

export function outboundOf(
  store: Store,
  targets: NotifyTarget[],
  { command, note, sendsPending, variables: names }: OutboundOptions,
): Outbound {
  const variables = takeVariables(targets, names)
  return new CommandOutbound({
    store,
    command,
    note,
    needsVisit,
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
function takeVariables(targets: NotifyTarget[], others: string[]): Map<string, string> {
  const values = new Map<string, string>()
  const places = targets.flatMap(({ url, secret, token }) => [url, secret, token])
  const names = places.flatMap((place) => (typeof place === 'object' && 'env' in place ? [place.env] : []))
  for (const name of [...names, ...others]) {
    const value = process.env[name]
    if (value !== undefined) values.set(name, value)
  }
  for (const name of values.keys()) delete process.env[name]
  return values
}
