/**
 * One turn: start the agent, open its session, prompt it, and end it.
 *
 * Invariants:
 * - The session id is yielded before the first prompt.
 * - Only a stop reason that means success makes a reply.
 * - A turn that was stopped or parked never gets a reply.
 * - At the end no process of the agent runs.
 */
import { randomBytes } from 'node:crypto'
import type { ContentBlock } from '@agentclientprotocol/sdk'
import type { AgentEvent, JsonObject, ProviderSettings } from 'substrat/provider'
import { launchJsonProgram } from '../../shared/src/program/program.js'
import { choose, currentModel } from './choices.js'
import { type Bounds, Connection } from './connection.js'
import { failureOf, type Known } from './failures.js'
import { initialize, newSession, type OpenSession, restoreSession } from './open.js'
import { Prompting } from './prompting.js'
import { readSettings, type Settings } from './settings.js'
import { atRest, encode, instructionsHash, type NativeState } from './state.js'
import { Meter } from './usage.js'
import type { TurnWork } from './work.js'

/** Time that a cancelled agent has to end its turn before it is killed. */
const ABORT_GRACE_MS = 1200
/** Time for its exit after its stdin is closed. */
const EXIT_GRACE_MS = 1000
const STOPPED_EXIT_GRACE_MS = 300

export async function* playTurn(work: TurnWork): AsyncGenerator<AgentEvent> {
  const { signal } = work.options
  const chosen = readSettings(work.settings)
  // Once this is on disk, the costs of the previous turn can never count for this one.
  if (typeof work.state?.costs?.turn_usd === 'number')
    yield { type: 'state', state: encode(atRest(work.state)) }
  let prompting: Prompting | undefined
  const program = await launchJsonProgram(
    work.host,
    { argv: ['/bin/sh', '-c', chosen.command], env: lockedEnvironment(), cwd: work.settings.workspace },
    { signal, onAbort: () => prompting?.cancel(), abortGraceMs: ABORT_GRACE_MS },
  )
  work.onProgram(program)
  const { complaint, exited } = program
  const known: Known = { command: chosen.command, authMethods: [], isStarting: true, complaint, exited }
  let graceMs = 0
  try {
    const connection = new Connection(program)
    const bounds = { timeoutMs: chosen.startTimeoutMs, signal }
    const session = await open(work, connection, known, bounds)
    const before = work.state === null ? undefined : atRest(work.state)
    let state: NativeState = before ?? { session_id: session.sessionId, instructions_sha256: null }
    if (work.state === null) yield { type: 'state', state: encode(state) }
    const model = await configure(connection, session, work.settings, chosen, bounds)
    const meter = new Meter(state.costs?.total_usd ?? 0, model)
    const record = (facts: Partial<NativeState>): AgentEvent => {
      state = { ...state, ...facts }
      return { type: 'state', state: encode(state) }
    }
    known.isStarting = false
    signal.throwIfAborted()
    prompting = new Prompting(
      connection,
      session.sessionId,
      work,
      () => program.finish(0),
      meter,
      () => record({ costs: meter.costs }),
    )
    const hash = instructionsHash(work.settings.instructions)
    const isTold = hash === null || hash === state.instructions_sha256
    const ended = yield* prompting.run(promptOf(work, isTold), () =>
      isTold ? undefined : record({ instructions_sha256: hash }),
    )
    graceMs = signal.aborted ? STOPPED_EXIT_GRACE_MS : EXIT_GRACE_MS
    signal.throwIfAborted()
    // No process of the agent runs while the turn waits for the user.
    if (ended.type === 'wait') await program.finish(graceMs)
    yield ended
  } catch (error) {
    signal.throwIfAborted()
    throw await failureOf(error, known)
  } finally {
    await program.finish(graceMs)
  }
}

/** `opencode acp` also listens on 127.0.0.1. Without a password, every user of the machine could connect. */
function lockedEnvironment(): Record<string, string> {
  const name = 'OPENCODE_SERVER_PASSWORD'
  return { [name]: process.env[name] || randomBytes(24).toString('base64url') }
}

async function open(
  { settings, host, state }: TurnWork,
  connection: Connection,
  known: Known,
  bounds: Bounds,
): Promise<OpenSession> {
  const agent: JsonObject = await initialize(connection, bounds)
  known.authMethods = agent.authMethods
  return state === null
    ? await newSession(connection, settings, host.tools, bounds)
    : await restoreSession(connection, agent, state.session_id, settings, host.tools, bounds)
}

/** Returns the model that the agent then uses, if it names one. */
async function configure(
  connection: Connection,
  session: OpenSession,
  { model }: ProviderSettings,
  { mode }: Settings,
  bounds: Bounds,
): Promise<string | undefined> {
  const chosen = await choose(connection, session, 'model', model, bounds)
  await choose(connection, session, 'mode', mode, bounds)
  return chosen ?? currentModel(session.offer)
}

/** ACP has no system prompt: the instructions precede the first prompt, and are sent again after they change. */
function promptOf({ prompt, settings }: TurnWork, isTold: boolean): ContentBlock[] {
  const text: ContentBlock = { type: 'text', text: prompt }
  if (isTold) return [text]
  return [
    { type: 'text', text: `Your instructions for this conversation:\n\n${settings.instructions}` },
    text,
  ]
}
