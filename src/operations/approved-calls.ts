/** The calls that a person approves: with changed arguments, or also from the next turn on. */
import type { Context } from '../dispatch/context.js'
import { wordOf } from '../dispatch/outcome.js'
import { SubstratError } from '../errors.js'
import type { JsonObject } from '../provider/contract.js'
import type { Ask, CallRecord } from '../schema/types.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import { callRecords } from '../turn/ask/stored.js'
import { openCalls } from '../turn/prompt/calls.js'
import { isExactPattern } from '../turn/tools/allow.js'

export interface CallEdit {
  call_id: string
  input: JsonObject
}

/** Allows the approved calls: a command of `shell` in these words, any other tool by its name. */
export function alwaysRecords(
  ctx: Context,
  session: Session,
  asks: Ask[],
  edits: CallEdit[] = [],
): NewRecord[] {
  const { state } = session
  const made = openCalls(session).map((call) => edited(call, edits))
  const entries = asks.map(({ call_id, tool }) => {
    const { input } = made.find((call) => call.call_id === call_id) ?? {}
    const entry = input === undefined ? undefined : allowEntry(tool, input)
    if (entry !== undefined) return entry
    throw new SubstratError(
      'USAGE',
      `--always cannot allow this call of ${tool}: ${state.path} must ask each time`,
      {
        hint: `approve it once: substrat approve ${wordOf(state)}; a command line that chains, substitutes or redirects is allowed only with all of shell: substrat set ${wordOf(state)} --allow shell`,
        facts: { agent_id: state.id },
      },
    )
  })
  const allow = [...new Set([...state.allow, ...entries])]
  session.onceDurable('session.configured', () =>
    ctx.reporter.note(
      `${state.path} may run this without approval from its next turn on: ${entries.join(', ')}`,
    ),
  )
  return [{ kind: 'session.configured', allow, allowed_by: 'approve' }]
}

/** The entry of `allow` for the call. Undefined if none covers only calls like it. */
export function allowEntry(tool: string, input: JsonObject): string | undefined {
  const entry = tool === 'shell' ? `shell(${input.command})` : tool
  return tool !== 'shell' || isExactPattern(entry) ? entry : undefined
}

/** The call with the arguments that a person chose. */
export function edited<C extends CallEdit>(call: C, edits: CallEdit[] = []): C {
  const edit = edits.find(({ call_id }) => call_id === call.call_id)
  return edit === undefined ? call : { ...call, input: edit.input }
}

/** Only a call of a model can be changed, because an agent program runs its own. */
export function editRecords(session: Session, asks: Ask[], edits: CallEdit[]): CallRecord[] {
  const made = openCalls(session)
  const calls = edits.map(({ call_id, input }) => {
    const { name } = made.find((call) => call.call_id === call_id) ?? {}
    if (name === undefined || !asks.some((ask) => ask.call_id === call_id)) {
      throw new SubstratError(
        'USAGE',
        `${session.state.path} does not wait for the call ${call_id} of a model`,
        {
          hint: `see its pending calls: substrat show ${wordOf(session.state)}`,
          facts: { agent_id: session.id },
        },
      )
    }
    return { call_id, name, input }
  })
  return callRecords(session, calls)
}
