/** A channel of the setting `channels`, with its defaults. */
import type { SecretPlace } from '../schema/config.js'

export interface ChannelConfig {
  name: string
  type: string
  options: Record<string, string | SecretPlace>
  senders: string[]
  approvers: string[]
  agent: AgentTemplate
  triesMax: number
  lifetimeMs: number
}

/** How the agent of a new thread is spawned. */
export interface AgentTemplate {
  provider: string
  model: string | null
  instructions: string | null
  options: Record<string, string>
  allow: string[]
  /** Undefined: as the settings say. */
  context?: string | undefined
  /** Absolute. */
  workspace: string
}

/** Whether a list of people has this one. Addresses differ only in case. */
export function includesPerson(people: string[], person: string): boolean {
  return people.some((each) => each === '*' || each.toLowerCase() === person.toLowerCase())
}
