/** The setting `notify`: checked, and parsed with its defaults. */
import { isPlainObject } from '../format.js'
import type { NotifyTarget } from '../outbound/notify.js'
import type { ConfiguredTarget } from '../schema/config.js'
import { CONFIG_PREDICATES } from '../schema/generated/config-predicates.js'
import { NOTIFY_EVENTS, type NotifyEvent } from '../schema/words.js'
import { parseDuration } from './durations.js'

/** The end of a sentence about the setting. Undefined if the text is valid. Never repeats the value of a field that may have a secret. */
export function targetsTrouble(value: unknown): string | undefined {
  let targets: unknown
  try {
    targets = JSON.parse(typeof value === 'string' ? value : '')
  } catch {
    return 'must be a JSON array of targets'
  }
  if (!Array.isArray(targets)) return 'must be a JSON array of targets'
  const names = new Set<string>()
  for (const [index, target] of targets.entries()) {
    const trouble = targetTrouble(target)
    const { name } = Object(target) as { name?: unknown }
    const word = typeof name === 'string' && name.length <= 32 ? `target ${name}` : `target ${index + 1}`
    if (trouble !== undefined) return `has a wrong ${word}: ${trouble}`
    if (names.has(name as string)) return `has the ${word} twice`
    names.add(name as string)
  }
  return undefined
}

const FIELDS = [
  'name',
  'on',
  'agents',
  'url',
  'run',
  'format',
  'secret',
  'token',
  'tries',
  'timeout',
  'expires',
] as const satisfies (keyof ConfiguredTarget)[]

function targetTrouble(target: unknown): string | undefined {
  if (!isPlainObject(target)) return 'it is not an object'
  const strange = Object.keys(target).find((field) => !(FIELDS as readonly string[]).includes(field))
  if (strange !== undefined) return `there is no field ${JSON.stringify(strange.slice(0, 40))}`
  if (!CONFIG_PREDICATES.kinds.targets?.([target])) return wrongField(target)
  const {
    url,
    run,
    format = 'json',
    secret,
    token,
    timeout = '10s',
    expires = '1d',
  } = target as ConfiguredTarget
  if ((url === undefined) === (run === undefined)) return 'it needs either url or run'
  if (run !== undefined && (format !== 'json' || secret !== undefined || token !== undefined))
    return 'format, secret and token are only for url'
  if (run?.length === 0 || run?.[0] === '') return 'its run names no program'
  if (typeof url === 'string' && (format === 'slack' || format === 'discord'))
    return `the url of a ${format} webhook is a secret; give it as {"file": "…"} or {"env": "…"}`
  for (const text of [timeout, expires])
    if (parseDuration(text) === undefined) return `the duration ${text} is too long`
  return undefined
}

/** The first field that is wrong by itself, in a target that is right otherwise. */
function wrongField(target: object): string {
  const right = { name: 'a', on: ['failed'], url: 'https://a' }
  for (const field of FIELDS) {
    const value = (target as Record<string, unknown>)[field]
    if (!CONFIG_PREDICATES.kinds.targets?.([{ ...right, [field]: value }]))
      return (field === 'on' && strangeEvent(value)) || wrongFieldText(field, value, MAY_BE_SECRET)
  }
  return 'it is not valid'
}

const MAY_BE_SECRET = ['url', 'run', 'secret', 'token']

function strangeEvent(on: unknown): string | undefined {
  const strange = Array.isArray(on) ? on.find((event) => !NOTIFY_EVENTS.includes(event)) : undefined
  if (strange === undefined) return undefined
  return `its on has ${shortJson(strange)}, which is not an event (${NOTIFY_EVENTS.join(', ')})`
}

/** Names the value, except of the fields that may have a secret. */
export function wrongFieldText(field: string, value: unknown, maybeSecret: readonly string[]): string {
  if (value === undefined) return `its ${field} is missing`
  return maybeSecret.includes(field)
    ? `its ${field} is not valid`
    : `its ${field} is not valid: ${shortJson(value)}`
}

function shortJson(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

/** The text must be valid. */
export function parseTargets(value: string): NotifyTarget[] {
  const targets = JSON.parse(value) as ConfiguredTarget[]
  return targets.map(
    ({ agents = ['**'], format = 'json', tries = 3, timeout = '10s', expires, ...target }) => ({
      ...target,
      agents,
      format,
      triesMax: tries,
      timeoutMs: parseDuration(timeout) as number,
      lifetimeMs: (event) => parseDuration(expires ?? EXPIRES[event] ?? '1d') as number,
    }),
  )
}

/** Such a message is of no use later. */
const EXPIRES: Partial<Record<NotifyEvent, string>> = { limited: '1h' }
