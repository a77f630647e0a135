/** The setting `channels`: checked, and parsed with its defaults. */
import type { ChannelConfig } from '../channel/config.js'
import { SubstratError } from '../errors.js'
import { isPlainObject } from '../format.js'
import type { ConfiguredChannel } from '../schema/config.js'
import { CONFIG_PREDICATES } from '../schema/generated/config-predicates.js'
import { parseDuration } from './durations.js'
import { wrongFieldText } from './notify-targets.js'

const FIELDS = [...['name', 'type', 'options', 'senders', 'approvers'], ...['agent', 'tries', 'expires']]
const AGENT_FIELDS = ['provider', 'model', 'system', 'options', 'allow', 'context', 'workspace']

/** The end of a sentence about the setting. Undefined if the text is valid. Never repeats a value: it may be a secret. */
export function channelsTrouble(value: unknown): string | undefined {
  let channels: unknown
  try {
    channels = JSON.parse(typeof value === 'string' ? value : '')
  } catch {
    return 'must be a JSON array of channels'
  }
  if (!Array.isArray(channels)) return 'must be a JSON array of channels'
  const names = new Set<string>()
  for (const [index, channel] of channels.entries()) {
    const { name } = Object(channel) as { name?: unknown }
    const word = typeof name === 'string' && name.length <= 32 ? `channel ${name}` : `channel ${index + 1}`
    const trouble = channelTrouble(channel)
    if (trouble !== undefined) return `has a wrong ${word}: ${trouble}`
    if (names.has(name as string)) return `has the ${word} twice`
    names.add(name as string)
  }
  return undefined
}

function channelTrouble(channel: unknown): string | undefined {
  if (!isPlainObject(channel)) return 'it is not an object'
  const strange = strangeField(channel, FIELDS) ?? strangeField(Object(channel.agent), AGENT_FIELDS)
  if (strange !== undefined) return `there is no field ${JSON.stringify(strange.slice(0, 40))}`
  if (CONFIG_PREDICATES.kinds.channels?.([channel]) !== true) return wrongField(channel)
  const { expires = '1d' } = channel as ConfiguredChannel
  return parseDuration(expires) === undefined ? `the duration ${expires} is too long` : undefined
}

function strangeField(object: object, fields: string[]): string | undefined {
  return Object.keys(object).find((field) => !fields.includes(field))
}

/** The first field that is wrong by itself, in a channel that is right otherwise. */
function wrongField(channel: Record<string, unknown>): string {
  const right = { name: 'a', type: 'a', senders: ['a'], agent: { workspace: '/' } }
  for (const field of FIELDS) {
    const value = channel[field]
    if (CONFIG_PREDICATES.kinds.channels?.([{ ...right, [field]: value }]) !== true)
      return wrongFieldText(field, value, ['options', 'agent'])
  }
  return 'it is not valid'
}

/** The text must be valid. `defaultProvider`: for a channel that names none. */
export function parseChannels(value: string, defaultProvider: string | null): ChannelConfig[] {
  const channels = JSON.parse(value) as ConfiguredChannel[]
  return channels.map(({ name, type, options = {}, senders, approvers = [], agent, tries = 3, expires }) => ({
    ...{ name, type, options, senders, approvers },
    agent: {
      provider: agent.provider ?? defaultProvider ?? '',
      model: agent.model ?? null,
      instructions: agent.system ?? null,
      options: agent.options ?? {},
      allow: agent.allow ?? [],
      context: agent.context,
      workspace: agent.workspace,
    },
    triesMax: tries,
    lifetimeMs: parseDuration(expires ?? '1d') as number,
  }))
}

/** Throws USAGE. */
export function channelNamed(channels: ChannelConfig[], name: string): ChannelConfig {
  const found = channels.find((channel) => channel.name === name)
  if (found !== undefined) return found
  if (channels.length === 0)
    throw new SubstratError('USAGE', 'no channel is configured in the setting channels', {
      hint: 'the fields are in docs/channels.md; then: substrat config edit',
    })
  throw new SubstratError('USAGE', `there is no channel ${JSON.stringify(name)}`, {
    hint: `the channels are: ${channels.map((channel) => channel.name).join(', ')}`,
  })
}

/** The variables of the environment that hold secrets of channels. */
export function channelVariables(channels: ChannelConfig[]): string[] {
  return channels.flatMap(({ options }) =>
    Object.values(options).flatMap((value) =>
      typeof value === 'object' && 'env' in value ? [value.env] : [],
    ),
  )
}
