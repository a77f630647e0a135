/** The text of config.json, checked. It has general settings and settings of providers (`openai.model`). */

import { SubstratError, shellWord } from '../errors.js'
import { isPlainObject } from '../format.js'
import { SETTINGS } from '../schema/settings.js'
import { parseCaps } from '../session/budget/caps.js'
import type { Store } from '../storage/store.js'
import { channelsTrouble } from './channels.js'
import { jsonTrouble, lineOfField } from './json-lines.js'
import { targetsTrouble } from './notify-targets.js'
import { EXPECTED, isValid, serversTrouble } from './setting-kinds.js'

export type SettingKey = keyof typeof SETTINGS
export const SETTING_KEYS = Object.keys(SETTINGS) as SettingKey[]

/** The values by key, as texts. */
export type ConfigValues = Record<string, string>

/** A setting of a provider: its model, or one of its options. */
export interface ProviderKey {
  provider: string
  option: string
}

export function isSettingKey(key: string): key is SettingKey {
  return Object.hasOwn(SETTINGS, key)
}

/** Undefined for a key that cannot be a provider's, such as a misspelt general one. */
export function providerKeyOf(key: string): ProviderKey | undefined {
  const dot = key.lastIndexOf('.')
  const [provider, option] = [key.slice(0, Math.max(dot, 0)), key.slice(dot + 1)]
  const isGeneral = SETTING_KEYS.some((general) => general.startsWith(`${provider}.`))
  return provider === '' || option === '' || isGeneral ? undefined : { provider, option }
}

/** Throws CONFIG_INVALID for an invalid config.json. */
export function readConfig(store: Store | undefined): ConfigValues {
  const text = store?.readConfig()?.toString('utf8')
  return store === undefined || text === undefined ? {} : configValues(text, configPath(store))
}

/** Throws CONFIG_INVALID with the line. `where` is the file. */
export function configValues(text: string, where: string): ConfigValues {
  return checkedValues(parseConfig(text, where), where, (key) => lineOfField(text, key))
}

/**
 * The text of config.json with the new value, or without that setting. The old value may be invalid: this is how a user corrects
 * it.
 */
export function textWith(store: Store, key: string, value: string | undefined): string {
  const where = configPath(store)
  const text = store.readConfig()?.toString('utf8')
  const { [key]: _, ...rest } = text === undefined ? {} : parseConfig(text, where)
  const config = value === undefined ? rest : { ...rest, [key]: value }
  if (value !== undefined) checkValue(key, value, 'the value')
  checkedValues(config, where, () => undefined)
  return `${JSON.stringify(config, null, 2)}\n`
}

/** Whether config.json has that key, perhaps with an invalid value. */
export function hasKey(store: Store, key: string): boolean {
  const text = store.readConfig()?.toString('utf8')
  return text !== undefined && Object.hasOwn(parseConfig(text, configPath(store)), key)
}

export function configPath(store: Store): string {
  return store.label({ kind: 'config' })
}

/** Throws CONFIG_INVALID. `where` is a variable or `the value`. */
export function checkValue(key: string, value: string, where: string, hint = correctionOf(key)): void {
  const why = valueTrouble(key, value)
  if (why !== undefined) throw invalidConfigError(where, why, hint)
}

function valueTrouble(key: string, value: unknown): string | undefined {
  const kind = isSettingKey(key) ? SETTINGS[key].kind : 'text'
  if (typeof value === 'string' && isValid(kind, value)) return undefined
  // Without the value: it may have a secret in the wrong place.
  if (kind === 'targets') return `${key} ${targetsTrouble(value)}`
  if (kind === 'servers') return `${key} ${serversTrouble(value)}`
  if (kind === 'channels') return `${key} ${channelsTrouble(value)}`
  const why = typeof value === 'string' && kind === 'budget' ? parseCaps(value) : undefined
  if (typeof why === 'string') return `${key} is not a budget: ${why}`
  return `${key} must be ${EXPECTED[kind]}, not ${JSON.stringify(value)}`
}

function correctionOf(key: string): string {
  return `substrat config set ${key} ${(isSettingKey(key) ? SETTINGS[key].default : null) ?? "'…'"}`
}

export function invalidConfigError(where: string, why: string, hint: string): SubstratError {
  return new SubstratError('CONFIG_INVALID', `${where} is invalid: ${why}`, { hint, facts: { where } })
}

function parseConfig(text: string, where: string): Record<string, unknown> {
  const hint = `correct it: substrat config edit; or move it away: mv ${shellWord(where)} ${shellWord(`${where}.bad`)}`
  const trouble = jsonTrouble(text)
  if (trouble !== undefined)
    throw invalidConfigError(where, `it is not JSON: line ${trouble.line}: ${trouble.why}`, hint)
  const config: unknown = JSON.parse(text)
  if (isPlainObject(config)) return config
  throw invalidConfigError(where, 'it is not a JSON object', hint)
}

function checkedValues(
  config: Record<string, unknown>,
  where: string,
  lineOf: (key: string) => number | undefined,
): ConfigValues {
  const values: ConfigValues = {}
  for (const [key, value] of Object.entries(config)) {
    if (!isSettingKey(key) && providerKeyOf(key) === undefined) {
      const hint = `remove it: substrat config unset ${shellWord(key)}; the settings are: ${SETTING_KEYS.join(', ')}`
      throw invalidConfigError(where, `${lineText(lineOf(key))}${JSON.stringify(key)} is not a setting`, hint)
    }
    const text =
      typeof value === 'number'
        ? String(value)
        : isPlainObject(value) || Array.isArray(value)
          ? JSON.stringify(value)
          : value
    const why = valueTrouble(key, text)
    if (why !== undefined)
      throw invalidConfigError(where, `${lineText(lineOf(key))}${why}`, correctionOf(key))
    values[key] = text as string
  }
  return values
}

function lineText(line: number | undefined): string {
  return line === undefined ? '' : `line ${line}: `
}
