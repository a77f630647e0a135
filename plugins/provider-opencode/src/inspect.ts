/** What OpenCode's own store has of a turn whose process died: `opencode export` reads it, and starts no agent. */
import type { Inspection, ProviderSettings } from 'substrat/provider'
import { objectOf, objectsOf } from '../../program-lines/src/json.js'
import { outputOf } from './guarded.js'
import { answerTo, isWhole } from './messages.js'
import { readSettings } from './settings.js'
import { decode } from './state.js'

/** Substrat waits for 10 s. */
const EXPORT_MS_MAX = 9000

export async function inspectTurn(state: Uint8Array | null, settings: ProviderSettings): Promise<Inspection> {
  if (state === null) return { outcome: 'unknown' }
  const { session_id, message_id } = decode(state)
  // No turn of it was begun: what is there answers an earlier one.
  if (message_id === null) return { outcome: 'unknown' }
  const { command } = readSettings(settings)
  const text = await outputOf(`${command} export ${session_id}`, settings.workspace, EXPORT_MS_MAX)
  const messages = objectsOf(objectOf(parsed(text))?.messages)
  if (messages.length === 0) return { outcome: 'unknown' }
  const answer = answerTo(messages, message_id)
  return answer !== undefined && isWhole(answer)
    ? { outcome: 'finished', reply: answer.reply }
    : { outcome: 'unfinished' }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
