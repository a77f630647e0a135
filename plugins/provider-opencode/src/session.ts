/** Opens the session of a turn, new or existing, and offers it substrat's tools. */
import { failure } from '../../shared/src/failure.js'
import { objectOf, textOf } from '../../shared/src/program/json.js'
import { type Server, wordsOf } from './server.js'
import { readSettings } from './settings.js'
import { isSessionId } from './state.js'
import type { TurnWork } from './work.js'

/** The rules of `--option permission=ask`. The last rule that matches decides. */
const ASK = ['edit', 'bash', 'webfetch', 'websearch', 'task', 'external_directory'].map((permission) => ({
  permission,
  pattern: '*',
  action: 'ask',
}))

export async function openSession(server: Server, { state, settings, host }: TurnWork): Promise<string> {
  if (host.tools !== null && host.tools !== undefined) {
    const { name, command, args, env } = host.tools
    const config = { type: 'local', command: [command, ...args], environment: env }
    await server.addTools(name, config)
  }
  const rules = readSettings(settings).asksAlways ? { permission: ASK } : {}
  if (state === null) {
    const id = textOf(objectOf(await server.demand('POST', '/session', rules))?.id)
    if (id === undefined || !isSessionId(id))
      throw failure('invalid_response', 'opencode opened a session without a valid id')
    return id
  }
  const { status, body } = await server.ask('GET', `/session/${state.session_id}`)
  if (status === 404) {
    throw failure('session_lost', `opencode no longer has session ${state.session_id}: ${wordsOf(body)}`)
  }
  if (status >= 300)
    throw failure('crashed', `opencode cannot open session ${state.session_id}: ${wordsOf(body)}`)
  return state.session_id
}
