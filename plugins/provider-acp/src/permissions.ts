/**
 * Answers the agent's permission requests.
 *
 * Invariants:
 * - A request that `allow` names, or that was approved in these very words, is granted at once. An approval covers
 *   one call.
 * - A denied request is rejected.
 * - Any other request is parked. From then on nothing is granted: the turn is cancelled, and the user decides.
 */
import type { PermissionOption, RequestPermissionResponse } from '@agentclientprotocol/sdk'
import type { JsonObject, WaitAnswer, WaitAsk } from 'substrat/provider'
import { askedInput, Decisions } from '../../shared/src/program/decisions.js'
import { objectOf, objectsOf, textOf } from '../../shared/src/program/json.js'
import { inputOf, type ToolCalls } from './tool-calls.js'

/** The ACP kinds of the substrat tool names that users put in `--allow`. */
const KINDS: Record<string, string> = {
  shell: 'execute',
  read_file: 'read',
  write_file: 'edit',
  edit_file: 'edit',
}

export type Verdict = RequestPermissionResponse | 'park'

export class Permissions {
  /** The requests that the user must decide. */
  readonly parked: WaitAsk[] = []
  private readonly decisions: Decisions

  constructor(
    private readonly allow: string[],
    private readonly calls: ToolCalls,
    decided: WaitAnswer | undefined,
  ) {
    this.decisions = new Decisions(decided)
  }

  judge(request: JsonObject): Verdict {
    const options = objectsOf(request.options)
    const toolCall = objectOf(request.toolCall) ?? {}
    const known = this.calls.get(textOf(toolCall.toolCallId) ?? '')
    const isParked = this.parked.length > 0
    if (!isParked && this.isAllowed(textOf(toolCall.kind) ?? known?.kind, textOf(toolCall.name)))
      return select(options, 'allow')
    const ask = askOf(toolCall, known?.tool)
    const decision = isParked ? undefined : this.decisions.take(ask)
    if (decision !== undefined) return select(options, decision === 'granted' ? 'allow' : 'reject')
    this.parked.push(ask)
    return 'park'
  }

  /** The title does not count: with most agents the model writes it. */
  private isAllowed(kind: string | undefined, name: string | undefined): boolean {
    return this.allow.some(
      (tool) => tool === 'all' || tool === name || (kind !== undefined && (KINDS[tool] ?? tool) === kind),
    )
  }
}

export const CANCELLED: RequestPermissionResponse = { outcome: { outcome: 'cancelled' } }

/** Prefers the option that covers only this call. */
function select(options: JsonObject[], what: 'allow' | 'reject'): RequestPermissionResponse {
  const kinds: PermissionOption['kind'][] = [`${what}_once`, `${what}_always`]
  const option = kinds.flatMap((kind) => options.filter((one) => one.kind === kind))[0]
  const optionId = textOf(option?.optionId)
  return optionId === undefined ? CANCELLED : { outcome: { outcome: 'selected', optionId } }
}

function askOf(toolCall: JsonObject, tool: string | undefined): WaitAsk {
  const kind = textOf(toolCall.kind) ?? 'other'
  const title = textOf(toolCall.title) ?? ''
  const callId = textOf(toolCall.toolCallId)
  const input = withoutRequest(objectOf(toolCall.rawInput) ?? {}, callId)
  const name = textOf(toolCall.name) || tool || kind
  const whole = {
    ...inputOf({ tool: name, kind, title, input, isStarted: false }),
    ...changesOf(toolCall, input),
  }
  return { call_id: callId || 'unnamed', tool: name, input: askedInput(whole) }
}

/**
 * Codex puts the ids of request and turn and the time into the input. They change when it asks again, so an approval
 * would never match.
 */
function withoutRequest(input: JsonObject, callId: string | undefined): JsonObject {
  const { call_id, turn_id: _turn, started_at_ms: _started, ...rest } = input
  return call_id !== undefined && call_id === callId ? rest : input
}

/** The changes of an edit whose input does not have them. */
function changesOf({ content }: JsonObject, input: JsonObject): JsonObject {
  if (Object.keys(input).length > 0) return {}
  const changes = objectsOf(content).filter(({ type }) => type === 'diff')
  if (changes.length === 0) return {}
  return { changes: changes.map(({ path, oldText, newText }) => ({ path, old: oldText, new: newText })) }
}
