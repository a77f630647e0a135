/** The kinds of setting values: how a value is checked and parsed. */
import type { McpServer } from '../turn/tools/mcp.js'
import { parseDuration } from './durations.js'

export type Kind =
  | 'text'
  | 'count'
  | 'count_or_0'
  | 'duration'
  | 'durations'
  | 'names'
  | 'unknown_tool'
  | 'servers'

export const EXPECTED: Record<Kind, string> = {
  text: 'a text of 1 to 1000 characters',
  count: 'a whole number from 1 to 1000',
  count_or_0: 'a whole number from 0 to 1000',
  duration: 'a duration such as 30s, 10m or 2h',
  durations: 'durations separated by commas, such as 2s,4s,8s, or none',
  names: 'tool names separated by commas, all, or none',
  unknown_tool: 'stop or continue',
  servers: 'an object of servers: {"name": {"command": "…", "args": ["…"], "env": {"NAME": "…"}}}',
}

const CHECKS: Record<Kind, (value: string) => boolean> = {
  text: (value) => value !== '' && value.length <= 1000,
  count: (value) => /^[1-9]\d{0,3}$/.test(value) && Number(value) <= 1000,
  count_or_0: (value) => value === '0' || CHECKS.count(value),
  duration: (value) => parseDuration(value) !== undefined,
  durations: (value) =>
    value === 'none' || value.split(',').every((each) => parseDuration(each) !== undefined),
  names: (value) => value.split(',').every((name) => /^[\w-]{1,128}$/.test(name.trim())),
  unknown_tool: (value) => value === 'stop' || value === 'continue',
  servers: (value) => parseServers(value) !== undefined,
}

export function isValid(kind: Kind, value: string): boolean {
  return CHECKS[kind](value)
}

export function parseDurations(value: string): number[] {
  return value === 'none' ? [] : value.split(',').map((each) => parseDuration(each) as number)
}

export function parseNames(value: string | null): string[] {
  return value === null || value === '' || value === 'none' ? [] : value.split(',').map((name) => name.trim())
}

const SERVER_NAME = /^[a-zA-Z0-9-]{1,32}$/

/** Undefined if the text is not a valid object of servers. */
export function parseServers(value: string): Record<string, McpServer> | undefined {
  let servers: unknown
  try {
    servers = JSON.parse(value)
  } catch {
    return undefined
  }
  if (!isObject(servers)) return undefined
  const found: Record<string, McpServer> = {}
  for (const [name, server] of Object.entries(servers)) {
    if (!SERVER_NAME.test(name) || !isObject(server) || typeof server.command !== 'string') return undefined
    const { command, args = [], env = {} } = server
    const isWhole =
      Array.isArray(args) && args.every(isText) && isObject(env) && Object.values(env).every(isText)
    if (!isWhole) return undefined
    found[name] = { command, args: args as string[], env: env as Record<string, string> }
  }
  return found
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
