/** Uses `opencode export`, which starts no agent, to read the outcome of a turn whose process died. */
import type { HeardOfTurn, Inspection, InspectOptions, JsonObject, ProviderSettings } from 'substrat/provider'
import { Unheard } from '../../shared/src/program/heard.js'
import { objectOf, objectsOf } from '../../shared/src/program/json.js'
import { outputOf } from './guarded.js'
import { answerTo, isWhole, resultsIn, usedFor } from './messages.js'
import { readSettings } from './settings.js'
import { decode } from './state.js'

/** OpenCode takes seconds to start, on a busy machine up to a minute. substrat limits the time with its signal. */
export async function inspectTurn(
  state: Uint8Array | null,
  settings: ProviderSettings,
  options?: InspectOptions,
): Promise<Inspection> {
  if (state === null) return { outcome: 'unknown' }
  const { session_id, message_id } = decode(state)
  // No turn was begun, so the last answer belongs to an earlier one.
  if (message_id === null) return { outcome: 'unknown' }
  const { command } = readSettings(settings)
  const text = await outputOf(`${command} export ${session_id}`, settings.workspace, options?.signal)
  const messages = objectsOf(objectOf(parsedText(text))?.messages)
  if (messages.length === 0) return { outcome: 'unknown' }
  const answer = answerTo(messages, message_id)
  const used = usedFor(messages, message_id)
  const isFinished = answer !== undefined && isWhole(answer) && !answer.isCalling
  return isFinished && !neededUs(messages, message_id, options?.heard)
    ? { outcome: 'finished', reply: answer.reply, ...used }
    : { outcome: 'unfinished', ...used }
}

function neededUs(messages: JsonObject[], promptId: string, heard: HeardOfTurn | undefined): boolean {
  if (heard === undefined) return false
  const unheard = new Unheard(heard)
  for (const { callId, isOwn, isError } of resultsIn(messages, promptId, heard.server)) {
    if (isOwn) unheard.answer()
    else unheard.result(callId, isError)
  }
  return unheard.isAny
}

function parsedText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
