/** The session of a turn: new, or the one of an earlier turn, with substrat's tools beside its own. */
import { failure } from '../../shared/src/failure.js'
import { objectOf, textOf } from '../../shared/src/program/json.js'
import { type Server, wordsOf } from './server.js'
import { readSettings } from './settings.js'
import { isSessionId } from './state.js'
import type { TurnWork } from './work.js'

/** As `--option permission=ask` has them; the last rule that fits decides. */
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
      throw failure('invalid_response', 'opencode made a session without an id that is one')
    return id
  }
  const { status, body } = await server.ask('GET', `/session/${state.session_id}`)
  if (status === 404) {
    throw failure('session_lost', `opencode has no session ${state.session_id} any more: ${wordsOf(body)}`)
  }
  if (status >= 300) throw failure('crashed', `opencode cannot open ${state.session_id}: ${wordsOf(body)}`)
  return state.session_id
}
