/** Makes the targets of the setting `notify` ready to send, with their secrets. */
import { homedir } from 'node:os'
import { clock } from '../clock.js'
import { readUserFile } from '../files/user-files.js'
import { limits } from '../limits.js'
import type { SecretPlace } from '../schema/config.js'
import { eventJson, requestOf } from './event.js'
import { postOnce } from './http.js'
import type { NotifyTarget } from './notify.js'
import { runOnce } from './run.js'
import type { OutboundTarget, OutboundTargets } from './target.js'

export interface TargetSurroundings {
  homeId: string
  /** The values of the variables that targets name. This process has removed them from its environment. */
  variables: ReadonlyMap<string, string>
  /** Whether the user sees what a program prints to stderr. */
  stderr: 'ignore' | 'inherit'
}

/** Without a target that this process cannot use: its messages stay pending for a process that can. */
export function notifyTargets(
  targets: NotifyTarget[],
  surroundings: TargetSurroundings,
  note: (text: string) => void,
): OutboundTargets {
  const usable = new Map<string, OutboundTarget>()
  for (const target of targets) {
    try {
      usable.set(target.name, ready(target, surroundings))
    } catch (error) {
      note(`notifications to ${target.name} stay pending: ${(error as Error).message}`)
    }
  }
  return usable
}

/** Throws an error whose message names the missing secret. */
export function ready(
  target: NotifyTarget,
  { homeId, variables, stderr }: TargetSurroundings,
): OutboundTarget {
  const { run, format, timeoutMs, triesMax } = target
  if (run !== undefined)
    return {
      triesMax,
      room: () => Number.POSITIVE_INFINITY,
      send: (message, signal) => runOnce(run, eventJson(message, homeId), { timeoutMs, signal, stderr }),
    }
  const secretOf = (place: SecretPlace | undefined): string | undefined => place && secretAt(place, variables)
  const url = typeof target.url === 'string' ? target.url : (secretOf(target.url) ?? '')
  if (!/^https?:$/.test(protocolOf(url))) throw new Error('its url is not an http or https address')
  const secrets = { secret: secretOf(target.secret), token: secretOf(target.token) }
  const gate = new Gate(limits.outboundRequestsMax)
  return {
    triesMax,
    room: () => gate.room,
    send: (message, signal) =>
      gate.pass(() => {
        const atSeconds = Math.floor(clock.now() / 1000)
        const request = requestOf(message, { format }, { url, homeId, atSeconds }, secrets)
        return signal.aborted
          ? Promise.resolve({ outcome: 'unknown' as const })
          : postOnce(request, timeoutMs, signal)
      }),
  }
}

function protocolOf(url: string): string {
  try {
    return new URL(url).protocol
  } catch {
    return ''
  }
}

/** Throws an error whose message names the missing secret. */
export function secretAt(place: SecretPlace, variables: ReadonlyMap<string, string>): string {
  if ('env' in place) {
    const value = variables.get(place.env) ?? process.env[place.env]
    if (value === undefined || value === '') throw new Error(`the variable ${place.env} is not set`)
    return value
  }
  const path = place.file.startsWith('~/') ? homedir() + place.file.slice(1) : place.file
  let text: string
  try {
    text = readUserFile(path).trim()
  } catch {
    throw new Error(`the file ${place.file} cannot be read`)
  }
  if (text === '') throw new Error(`the file ${place.file} is empty`)
  return text
}

/** Lets through a number of attempts at once. */
class Gate {
  private readonly waiting: (() => void)[] = []
  private inside = 0

  constructor(private readonly max: number) {}

  get room(): number {
    return this.max - this.inside
  }

  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (this.inside >= this.max) await new Promise<void>((resolve) => this.waiting.push(resolve))
    else this.inside += 1
    try {
      return await work()
    } finally {
      const next = this.waiting.shift()
      if (next === undefined) this.inside -= 1
      else next()
    }
  }
}
