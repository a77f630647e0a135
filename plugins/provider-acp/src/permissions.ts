/**
 * What the agent asks permission for.
 *
 * Invariants: what is allowed, or was approved in these very words, is answered at once, and an approval is used up by
 * one call; what was denied is rejected; anything else parks, and once something is parked nothing is allowed any more:
 * the turn is cancelled, and a person is asked.
 */
import { createHash } from 'node:crypto'
import type { PermissionOption, RequestPermissionResponse } from '@agentclientprotocol/sdk'
import type { JsonObject, WaitAnswer, WaitAsk } from 'substrat/provider'
import { clippedInput, objectOf, objectsOf, textOf } from '../../program-lines/src/json.js'
import { inputOf, type ToolCalls } from './tool-calls.js'

/** The names of substrat's own tools, which people have in their `--allow`, as the protocol's kinds of tools. */
const KINDS: Record<string, string> = {
  shell: 'execute',
  read_file: 'read',
  write_file: 'edit',
  edit_file: 'edit',
}

export type Verdict = RequestPermissionResponse | 'park'

export class Permissions {
  /** What a person has to decide. */
  readonly parked: WaitAsk[] = []
  private readonly granted: string[]
  private readonly denied: string[]

  constructor(
    private readonly allow: string[],
    private readonly calls: ToolCalls,
    decided: WaitAnswer | undefined,
  ) {
    const keys = decided?.asks.map(keyOf) ?? []
    this.granted = decided?.decision === 'approve' ? keys : []
    this.denied = decided?.decision === 'deny' ? keys : []
  }

  judge(request: JsonObject): Verdict {
    const options = objectsOf(request.options)
    const toolCall = objectOf(request.toolCall) ?? {}
    const known = this.calls.get(textOf(toolCall.toolCallId) ?? '')
    if (
      this.parked.length === 0 &&
      this.isAllowed(textOf(toolCall.kind) ?? known?.kind, textOf(toolCall.name))
    )
      return select(options, 'allow')
    const ask = askOf(toolCall, known?.tool)
    const key = keyOf(ask)
    if (this.denied.includes(key)) return select(options, 'reject')
    const grant = this.granted.indexOf(key)
    if (this.parked.length === 0 && grant !== -1) {
      this.granted.splice(grant, 1)
      return select(options, 'allow')
    }
    this.parked.push(ask)
    return 'park'
  }

  /** Not by the title: with most agents it is the model's own words. */
  private isAllowed(kind: string | undefined, name: string | undefined): boolean {
    return this.allow.some(
      (tool) => tool === 'all' || tool === name || (kind !== undefined && (KINDS[tool] ?? tool) === kind),
    )
  }
}

export const CANCELLED: RequestPermissionResponse = { outcome: { outcome: 'cancelled' } }

/** For this once, where that is offered. */
function select(options: JsonObject[], what: 'allow' | 'reject'): RequestPermissionResponse {
  const kinds: PermissionOption['kind'][] = [`${what}_once`, `${what}_always`]
  const option = kinds.flatMap((kind) => options.filter((one) => one.kind === kind))[0]
  const optionId = textOf(option?.optionId)
  return optionId === undefined ? CANCELLED : { outcome: { outcome: 'selected', optionId } }
}

function askOf(toolCall: JsonObject, tool: string | undefined): WaitAsk {
  const kind = textOf(toolCall.kind) ?? 'other'
  const title = textOf(toolCall.title) ?? ''
  const input = objectOf(toolCall.rawInput) ?? {}
  const name = textOf(toolCall.name) ?? tool ?? kind
  const whole = {
    ...inputOf({ tool: name, kind, title, input, isStarted: false }),
    ...changesOf(toolCall, input),
  }
  return { call_id: textOf(toolCall.toolCallId) ?? '', tool: name, input: boundedInput(whole) }
}

/** What an edit changes, where its input does not say it. */
function changesOf({ content }: JsonObject, input: JsonObject): JsonObject {
  if (Object.keys(input).length > 0) return {}
  const changes = objectsOf(content).filter(({ type }) => type === 'diff')
  if (changes.length === 0) return {}
  return { changes: changes.map(({ path, oldText, newText }) => ({ path, old: oldText, new: newText })) }
}

/** One that is too long to be shown has a digest of the whole: an approval is for that and for nothing else. */
function boundedInput(input: JsonObject): JsonObject {
  const whole = JSON.stringify(input)
  const bounded = clippedInput(input)
  if (JSON.stringify(bounded) === whole) return bounded
  return { ...bounded, sha256: createHash('sha256').update(whole).digest('hex') }
}

function keyOf({ tool, input }: WaitAsk): string {
  return JSON.stringify([tool, sorted(input)])
}

/** As it was stored and read again, an object may have its keys in another order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  const object = objectOf(value)
  if (object === undefined) return value
  const entries = Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))
  return { object: entries.map(([key, item]) => [key, sorted(item)]) }
}
