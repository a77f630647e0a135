/** The targets of the setting `notify`: which events go to each, and what a process needs to send to it. */
import type { SecretPlace } from '../schema/config.js'
import type { NOTIFY_FORMATS, NotifyEvent } from '../schema/words.js'
import type { OutboundRules } from '../session/outbound.js'

export interface NotifyTarget {
  name: string
  on: NotifyEvent[]
  /** Patterns of paths. */
  agents: string[]
  url?: string | SecretPlace | undefined
  run?: string[] | undefined
  format: (typeof NOTIFY_FORMATS)[number]
  secret?: SecretPlace | undefined
  token?: SecretPlace | undefined
  triesMax: number
  timeoutMs: number
  lifetimeMs(event: NotifyEvent): number
}

export function notifyRules(targets: NotifyTarget[]): OutboundRules {
  return targets.map(({ name, on, agents, lifetimeMs }) => {
    const patterns = agents.map(patternOf)
    return {
      target: name,
      covers: (path, event) => on.includes(event) && patterns.some((pattern) => pattern.test(path)),
      lifetimeMs,
    }
  })
}

/** `*` is any part of one name, `**` any names: `review/*`, `**\/tests`. */
export function patternOf(pattern: string): RegExp {
  const parts = pattern.split('/').map((part) => (part === '**' ? part : wordPattern(part)))
  const form = parts
    .join('/')
    .replace(/(^|\/)\*\*\/|\/\*\*$|^\*\*$/g, (found, before: string = '') =>
      found === '**' ? '.*' : found.endsWith('/') ? `${before}(?:.*/)?` : '(?:/.*)?',
    )
  return new RegExp(`^${form}$`, 's')
}

function wordPattern(part: string): string {
  return part.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/\*+/g, '[^/]*')
}
