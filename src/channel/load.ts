/** Loads the code of a channel plugin, and the values of its options. Only `channel run` does. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { suggestion } from '../closest.js'
import { SubstratError } from '../errors.js'
import { isPlainObject } from '../format.js'
import { secretAt } from '../outbound/notify-target.js'
import type { PluginFacts } from '../provider/registry.js'
import type { PluginManifest } from '../schema/config.js'
import type { ChannelConfig } from './config.js'
import type { Channel, ChannelFailure, ChannelSettings } from './contract.js'

/** Throws USAGE, or CONFIG_INVALID if the module cannot be loaded or is not a channel. */
export async function loadChannel(plugins: Iterable<PluginFacts>, type: string): Promise<Channel> {
  const modules = modulesIn(plugins)
  const file = modules.get(type)
  if (file === undefined) {
    const names = [...modules.keys()].sort()
    throw new SubstratError(
      'USAGE',
      `there is no channel type ${JSON.stringify(type)}${suggestion(type, names)}`,
      {
        hint: `the types are: ${names.join(', ') || 'none'}; install others: substrat plugins add PATH, or substrat plugins install PACKAGE`,
        facts: { type },
      },
    )
  }
  let loaded: unknown
  try {
    loaded = file.endsWith('.cjs')
      ? createRequire(file)(file)
      : ((await import(pathToFileURL(file).href)) as { default: unknown }).default
  } catch (error) {
    throw misconfigured(`the channel type ${type} cannot be loaded: ${(error as Error).message}`)
  }
  if (!isChannel(loaded)) throw misconfigured(`the default export of ${file} is not a channel`)
  return loaded
}

/** The first plugin of a type counts: an installed one replaces an official one. */
function modulesIn(plugins: Iterable<PluginFacts>): Map<string, string> {
  const modules = new Map<string, string>()
  for (const plugin of plugins) {
    const declared: unknown = (plugin.pjson.substrat as Partial<PluginManifest> | undefined)?.channels
    if (!isPlainObject(declared)) continue
    for (const [type, file] of Object.entries(declared))
      if (typeof file === 'string' && !modules.has(type)) modules.set(type, join(plugin.root, file))
  }
  return modules
}

function isChannel(value: unknown): value is Channel {
  const channel = value as Partial<Channel> | null | undefined
  return (
    typeof channel?.open === 'function' &&
    typeof channel.textCharactersMax === 'number' &&
    isPlainObject(channel.options) &&
    Array.isArray(channel.secrets)
  )
}

/** The options with their secrets. Throws CONFIG_INVALID. */
export function channelSettings(
  channel: Channel,
  config: ChannelConfig,
  variables: ReadonlyMap<string, string>,
): ChannelSettings {
  const options: Record<string, string> = {}
  for (const [name, value] of Object.entries(config.options)) {
    if (!Object.hasOwn(channel.options, name))
      throw misconfigured(
        `the channel ${config.name} has no option ${JSON.stringify(name)}${suggestion(name, Object.keys(channel.options))}`,
        `its options: ${Object.keys(channel.options).join(', ')}`,
      )
    if (typeof value === 'string' && channel.secrets.includes(name))
      throw misconfigured(
        `the option ${name} of the channel ${config.name} is a secret`,
        'give it as {"file": "…"} or {"env": "…"}: substrat config edit',
      )
    options[name] = typeof value === 'string' ? value : secretOf(config.name, name, value, variables)
  }
  const settings = { options }
  try {
    channel.check?.(settings)
  } catch (error) {
    throw misconfigured(`the channel ${config.name} cannot work: ${(error as Error).message}`)
  }
  return settings
}

function secretOf(
  channel: string,
  option: string,
  place: Parameters<typeof secretAt>[0],
  variables: ReadonlyMap<string, string>,
): string {
  try {
    return secretAt(place, variables)
  } catch (error) {
    throw misconfigured(
      `the option ${option} of the channel ${channel} has no value: ${(error as Error).message}`,
    )
  }
}

function misconfigured(
  message: string,
  hint = 'correct the setting channels: substrat config edit',
): SubstratError {
  return new SubstratError('CONFIG_INVALID', message, { hint })
}

/** How an error of a plugin counts. */
export function failureOf(error: unknown): ChannelFailure['failure'] & { why: string } {
  const { failure, message } = Object(error) as {
    failure?: Partial<ChannelFailure['failure']>
    message?: unknown
  }
  const { permanent = false, retryAfterMs, notShown = false } = failure ?? {}
  const why = typeof message === 'string' && message !== '' ? message : String(error)
  const known = { permanent: permanent === true, why, notShown: notShown === true }
  return { ...known, ...(typeof retryAfterMs === 'number' ? { retryAfterMs } : {}) }
}
