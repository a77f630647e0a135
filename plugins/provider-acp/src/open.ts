/** Opens a session with an agent that has just started: a new one, or the one of an earlier turn. */
import type { InitializeRequest, McpServerStdio, NewSessionRequest } from '@agentclientprotocol/sdk'
import type { AgentHost, JsonObject, ProviderSettings } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import { failureOfText } from '../../shared/src/program/failure-text.js'
import { objectOf, objectsOf, textOf } from '../../shared/src/program/json.js'
import { AgentError, type Bounds, type Connection } from './connection.js'

const PROTOCOL_VERSION = 1
// ACP's error code for a missing resource.
const RESOURCE_NOT_FOUND = -32002
/** Limits `session/list`: the agent decides how many sessions a page has. */
const LIST_PAGES_MAX = 100
const SESSION_ID_CHARACTERS_MAX = 4096

/** No file system and no terminals are offered: the agent has its own. */
const INITIALIZE: InitializeRequest = {
  protocolVersion: PROTOCOL_VERSION,
  clientCapabilities: { session: { notices: {} } },
  clientInfo: { name: 'substrat', version: '1' },
}

export interface OpenSession {
  sessionId: string
  /** The agent's answer, with its modes and models. */
  offer: JsonObject
}

export async function initialize(connection: Connection, bounds: Bounds): Promise<JsonObject> {
  const agent = await connection.ask('initialize', INITIALIZE, bounds)
  if (agent.protocolVersion !== PROTOCOL_VERSION) {
    throw failure(
      'misconfigured',
      `the agent uses ACP version ${String(agent.protocolVersion)}, but this provider needs version ${PROTOCOL_VERSION}`,
    )
  }
  return agent
}

export async function newSession(
  connection: Connection,
  settings: ProviderSettings,
  tools: AgentHost['tools'] | undefined,
  bounds: Bounds,
): Promise<OpenSession> {
  const offer = await connection.ask('session/new', place(settings, tools), bounds)
  const sessionId = textOf(offer.sessionId)
  if (sessionId === undefined || sessionId === '' || sessionId.length > SESSION_ID_CHARACTERS_MAX) {
    throw failure('invalid_response', 'the agent opened a session without a valid id')
  }
  return { sessionId, offer }
}

export async function restoreSession(
  connection: Connection,
  agent: JsonObject,
  sessionId: string,
  settings: ProviderSettings,
  tools: AgentHost['tools'] | undefined,
  bounds: Bounds,
): Promise<OpenSession> {
  const { loadSession, sessionCapabilities } = objectOf(agent.agentCapabilities) ?? {}
  const capabilities = objectOf(sessionCapabilities) ?? {}
  const method = offers(capabilities.resume)
    ? 'session/resume'
    : loadSession === true
      ? 'session/load'
      : undefined
  if (method === undefined) {
    throw failure('session_lost', 'this agent cannot resume a session in a new process')
  }
  try {
    // The agent answers a load after it has replayed the whole conversation, which is ignored.
    const offer = await connection.ask(method, { ...place(settings, tools), sessionId }, bounds)
    return { sessionId, offer }
  } catch (error) {
    if (!(error instanceof AgentError)) throw error
    const isGone =
      error.code === RESOURCE_NOT_FOUND ||
      failureOfText(error.message).failure.type === 'session_lost' ||
      (offers(capabilities.list) && !(await isListed(connection, sessionId, bounds)))
    if (!isGone) throw error
    throw failure('session_lost', `the agent no longer has session ${sessionId}: ${error.message}`)
  }
}

/** OpenCode reports every failure of a session in the same words, so only its list tells whether the session exists. */
async function isListed(connection: Connection, sessionId: string, bounds: Bounds): Promise<boolean> {
  let cursor: string | undefined
  for (let page = 0; page < LIST_PAGES_MAX; page += 1) {
    const list = await connection.ask('session/list', cursor === undefined ? {} : { cursor }, bounds)
    if (objectsOf(list.sessions).some((session) => session.sessionId === sessionId)) return true
    cursor = textOf(list.nextCursor)
    if (cursor === undefined) return false
  }
  // There are too many sessions to read. Assume that it exists.
  return true
}

function place({ workspace }: ProviderSettings, tools: AgentHost['tools'] | undefined): NewSessionRequest {
  return { cwd: workspace, mcpServers: tools === null || tools === undefined ? [] : [serverOf(tools)] }
}

function serverOf({ name, command, args, env }: NonNullable<AgentHost['tools']>): McpServerStdio {
  return { name, command, args, env: Object.entries(env).map(([name, value]) => ({ name, value })) }
}

/** An empty object declares the capability. */
function offers(capability: unknown): boolean {
  return capability === true || objectOf(capability) !== undefined
}
