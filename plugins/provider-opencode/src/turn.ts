/**
 * One turn: get a server, open the session, prompt it. A completed turn releases the server, and any other end kills
 * it.
 *
 * Invariants:
 * - The ids of session and prompt are yielded before the prompt is sent.
 * - Only a complete answer of the model to this very prompt makes a reply.
 * - A turn that was stopped or parked never gets a reply.
 */
import type { AgentEvent, JsonObject } from 'substrat/provider'
import { endedEarly, failure, isFailure } from '../../shared/src/failure.js'
import { killerOf, SURE_EXIT_MS_MAX, wordsOfExit } from '../../shared/src/program/exit.js'
import { failureOfText } from '../../shared/src/program/failure-text.js'
import { objectOf, objectsOf, textOf } from '../../shared/src/program/json.js'
import { EventsEnded, Following } from './following.js'
import { newMessageId } from './message-id.js'
import { answerTo, endOf, failureOfError } from './messages.js'
import { type Server, wordsOf } from './server.js'
import { openSession } from './session.js'
import { readSettings } from './settings.js'
import { startServer } from './start.js'
import { encode } from './state.js'
import type { TurnWork } from './work.js'

/** Time for an abort before the server is killed. */
const ABORT_GRACE_MS = 1200

export async function* playTurn(work: TurnWork): AsyncGenerator<AgentEvent> {
  const { signal } = work.options
  const { workspace } = work.settings
  const message_id = newMessageId()
  // Once this is on disk, the answer to the previous prompt can never count for this one.
  if (work.state !== null) yield { type: 'state', state: encode({ ...work.state, message_id }) }
  const { command } = readSettings(work.settings)
  const { server, note } = await startServer(work.host, command, workspace, signal)
  work.onProgram(server)
  let isOver = false
  let onAbort = (): void => void server.stop(0)
  const abort = (): void => onAbort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    signal.throwIfAborted()
    if (note !== undefined) yield { type: 'note', text: note }
    const events = await server.events()
    const session_id = await openSession(server, work)
    if (work.state === null) yield { type: 'state', state: encode({ session_id, message_id }) }
    const following = new Following(server, session_id, message_id, work)
    onAbort = () => {
      following.abort()
      setTimeout(() => void server.stop(0), ABORT_GRACE_MS).unref()
    }
    signal.throwIfAborted()
    await prompt(server, session_id, message_id, work)
    yield* following.untilIdle(events)
    signal.throwIfAborted()
    if (following.parked.length > 0) {
      // No process of OpenCode runs while the turn waits for the user.
      await server.stop()
      yield { type: 'wait', kind: 'approval', asks: following.parked }
    } else {
      yield* await answer(server, session_id, message_id, following.error)
      isOver = true
    }
  } catch (error) {
    signal.throwIfAborted()
    throw await failureOf(error, server)
  } finally {
    signal.removeEventListener('abort', abort)
    if (isOver) await server.release().catch(() => server.stop())
    else await server.stop()
  }
}

async function prompt(
  server: Server,
  sessionId: string,
  messageID: string,
  { settings, prompt }: TurnWork,
): Promise<void> {
  const { model, agent } = readSettings(settings)
  const { instructions } = settings
  const { status, body } = await server.ask('POST', `/session/${sessionId}/prompt_async`, {
    messageID,
    parts: [{ type: 'text', text: prompt }],
    ...(model !== undefined && { model }),
    ...(agent !== undefined && { agent }),
    ...(instructions !== null && instructions.trim() !== '' && { system: instructions }),
  })
  if (status >= 300) throw failureOfText(`opencode: ${wordsOf(body)}`)
}

async function answer(
  server: Server,
  sessionId: string,
  promptId: string,
  reported: JsonObject | undefined,
): Promise<Iterable<AgentEvent>> {
  const messages = objectsOf(await server.demand('GET', `/session/${sessionId}/message`))
  const answered = answerTo(messages, promptId)
  if (answered !== undefined) return endOf(answered, reported)
  if (reported !== undefined) throw failureOfError(reported)
  throw failure('crashed', 'opencode ended the turn without an answer')
}

/**
 * A broken connection means that the server ended, so its exit follows at once. The output of a killed server does
 * not explain its end. The exit of a kept server, or of one under a wrapper that lives on, is unknown: a signal may
 * have ended it, unless it still answers.
 */
async function failureOf(error: unknown, server: Server): Promise<unknown> {
  if (isFailure(error) && error.failure.type !== 'crashed') return error
  const isGone = !isFailure(error) || error instanceof EventsEnded
  const exit = await server.exit(isGone ? SURE_EXIT_MS_MAX : undefined)
  if (exit !== undefined) {
    const ended = `opencode's server ${wordsOfExit(exit)} before the end of the turn`
    if (killerOf(exit) !== undefined) return failure('crashed', ended)
    // npm's wrapper exits with 0 if its program was killed.
    if (exit.code === 0) return endedEarly(ended)
  }
  const said = isFailure(error) ? error.message : `opencode: ${describe(error, await server.complaint())}`
  if (isGone && exit === undefined && !(await server.answers())) return endedEarly(said)
  if (isFailure(error)) return error
  return exit === undefined ? failure('crashed', said) : failureOfText(said)
}

/** The reason of a network error can be in its cause. */
function describe(error: unknown, complaint: string): string {
  const { message, cause } = (objectOf(error) ?? {}) as JsonObject
  const words = [textOf(message), textOf(objectOf(cause)?.message), complaint]
  return words.filter((text) => text !== undefined && text !== '').join(': ')
}
