/** The code of `substrat acp`, which commands/acp.ts loads. No other command does. */
import { Commands } from '../../shared/src/face/commands.js'
import { loadCore, type Place } from '../../shared/src/face/core.js'
import { Agents } from './agents.js'
import { serveAcp } from './protocol.js'

export interface AcpOptions extends Place {
  version: string
  /** The arguments of `substrat spawn` for new agents. */
  spawn: string[]
}

/** Settles when the client has closed stdin. */
async function run({ version, spawn, ...place }: AcpOptions): Promise<void> {
  await serveAcp(version, (client, editor) => {
    const core = loadCore(place)
    const openHome = () => core.openHome(place.home)
    const commands = Commands.at(place, () => core)
    commands.actor = { face: 'acp', ...(editor === undefined ? {} : { claims: { client: editor } }) }
    return new Agents({ core, openHome, commands, client, spawn })
  })
}

export default { run }
