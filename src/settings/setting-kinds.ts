/** The kinds of setting values: how a value is checked and parsed. */
import type { ConfiguredServer, McpServer } from '../schema/config.js'
import { CONFIG_PREDICATES } from '../schema/generated/config-predicates.js'
import type { SettingKind } from '../schema/settings.js'
import { isZone } from '../session/budget/calendar.js'
import { parseAmounts, parseCaps } from '../session/budget/caps.js'
import { parseRule } from '../turn/tools/on-unknown.js'
import { channelsTrouble } from './channels.js'
import { parseDuration } from './durations.js'
import { targetsTrouble } from './notify-targets.js'

export const EXPECTED: Record<SettingKind, string> = {
  text: 'a text of 1 to 1000 characters',
  count: 'a whole number from 1 to 1000',
  count_or_0: 'a whole number from 0 to 1000',
  duration: 'a duration such as 30s, 10m or 2h',
  durations: 'durations separated by commas, such as 2s,4s,8s, or none',
  names: 'tool names separated by commas, all, or none',
  unknown_tool: 'stop or continue',
  rules:
    'an array of rules: ["TOOL=ACTION"], with an entry as in allow, and rerun, stop, continue or check COMMAND',
  context: 'all, turn, or last:N with N from 1 to 999',
  workspace_scope: 'host or any',
  budget: 'caps such as tokens=2M/day,requests=500/hour',
  amounts: 'amounts such as tokens=500k,usd=2,time=30m',
  weight: 'a number from 0 to 1, such as 0.1',
  zone: 'a time zone such as Europe/Berlin or UTC',
  switch: 'on or off',
  targets: 'an array of targets: [{"name": "…", "on": ["waiting", "failed"], "url": "https://…"}]',
  channels: 'an array of channels: [{"name": "…", "type": "…", "senders": […], "agent": {…}}]',
  servers: 'an object of servers: {"name": {"command": "…", "args": ["…"], "env": {"NAME": "…"}}}',
}

/** The values of the kinds that have only a few. */
export const WORDS: Partial<Record<SettingKind, readonly string[]>> = {
  unknown_tool: ['stop', 'continue'],
  workspace_scope: ['host', 'any'],
  switch: ['on', 'off'],
}

export function isValid(kind: SettingKind, value: string): boolean {
  if (kind === 'servers') return parseServers(value) !== undefined
  if (kind === 'targets') return targetsTrouble(value) === undefined
  if (kind === 'channels') return channelsTrouble(value) === undefined
  if (kind === 'rules') return parseRules(value) !== undefined
  if (!isOfKind(kind, value)) return false
  if (kind === 'budget') return typeof parseCaps(value) !== 'string'
  if (kind === 'amounts') return typeof parseAmounts(value) !== 'string'
  if (kind === 'zone') return isZone(value)
  // No pattern says how long a duration may be.
  if (kind === 'duration') return parseDuration(value) !== undefined
  if (kind === 'durations')
    return value === 'none' || value.split(',').every((each) => parseDuration(each) !== undefined)
  return true
}

function isOfKind(kind: SettingKind, value: unknown): boolean {
  return CONFIG_PREDICATES.kinds[kind]?.(value) === true
}

export function parseDurations(value: string): number[] {
  return value === 'none' ? [] : value.split(',').map((each) => parseDuration(each) as number)
}

/** A comma within the parentheses of a pattern is part of the pattern. */
const BETWEEN_NAMES = /,(?![^()]*\))/

export function parseNames(value: string | null): string[] {
  return value === null || value === '' || value === 'none'
    ? []
    : value.split(BETWEEN_NAMES).map((name) => name.trim())
}

/** Undefined if the text is not a valid array of rules. */
export function parseRules(value: string): string[] | undefined {
  let rules: unknown
  try {
    rules = JSON.parse(value)
  } catch {
    return undefined
  }
  return isOfKind('rules', rules) && (rules as string[]).every((rule) => parseRule(rule) !== undefined)
    ? (rules as string[])
    : undefined
}

/** The end of a sentence about the setting. Never repeats the value: `env` and `args` may have secrets. */
export function serversTrouble(value: unknown): string | undefined {
  if (typeof value === 'string' && parseServers(value) !== undefined) return undefined
  let servers: unknown
  try {
    servers = JSON.parse(typeof value === 'string' ? value : '')
  } catch {
    return `must be ${EXPECTED.servers}, and it is not JSON`
  }
  const wrong = Object.entries(Object(servers)).find(
    ([name, server]) => !isOfKind('servers', { [name]: server }),
  )
  return wrong === undefined || Array.isArray(servers)
    ? `must be ${EXPECTED.servers}`
    : `must be ${EXPECTED.servers}; the server ${JSON.stringify(wrong[0].slice(0, 40))} is not`
}

/** Undefined if the text is not a valid object of servers. */
export function parseServers(value: string): Record<string, McpServer> | undefined {
  let servers: unknown
  try {
    servers = JSON.parse(value)
  } catch {
    return undefined
  }
  if (!isOfKind('servers', servers)) return undefined
  const found = Object.entries(servers as Record<string, ConfiguredServer>)
  return Object.fromEntries(
    found.map(([name, { command, args = [], env = {} }]) => [name, { command, args, env }]),
  )
}
