/** Agents' servers without the command line: a sleeping shell, kept as a turn keeps a server. */
import { onTestFinished } from 'vitest'
import type { LaunchedServer } from '../../src/provider/host-contract.js'
import { KeptServerHost } from '../../src/provider/kept-server-host.js'
import { killGroup } from '../../src/provider/process-group.js'
import type { ProcessGroup } from '../../src/schema/types.js'
import type { Session } from '../../src/session/session.js'
import type { Store } from '../../src/storage/store.js'
import { newSession } from './sessions.js'

export interface Held {
  host: KeptServerHost
  /** Durable events, in order. */
  events: string[]
  groups: ProcessGroup[]
}

/** The turn's side of a kept server. Programs that it launches are killed after the test. */
export function keptServerHost(session: Session, isOn = true, onRecord = (): void => undefined): Held {
  const events: string[] = []
  const groups: ProcessGroup[] = []
  onTestFinished(async () => {
    for (const group of groups) await killGroup(group, undefined, 0)
  })
  const environment = {
    SUBSTRAT_HOME: session.store.address,
    SUBSTRAT_AGENT: session.id,
    SUBSTRAT_RUN: 'r',
    SUBSTRAT_SOCKET: 's',
  }
  const host = new KeptServerHost(session, {
    isOn,
    environment,
    persist(event) {
      onRecord()
      events.push(event.type)
      if (event.type !== 'server_stopped') groups.push(event.group)
      if (event.type === 'server_kept')
        session.append([{ kind: 'server.kept', server_id: event.server_id, group: event.group }])
      if (event.type === 'server_stopped')
        session.append([{ kind: 'server.stopped', server_id: event.server_id }])
    },
  })
  return { host, events, groups }
}

export async function launch(held: Held, script = 'exec sleep 3600'): Promise<LaunchedServer> {
  const { launchServer } = await held.host.open()
  if (launchServer === null) throw new Error('nothing may be kept')
  const command = { argv: ['/bin/sh', '-c', script] as [string, ...string[]], cwd: '/' }
  return launchServer(command, { signal: new AbortController().signal })
}

/** An idle agent with a running server; returns its id. */
export async function agentWithServer(store: Store): Promise<string> {
  const session = await newSession(store)
  const held = keptServerHost(session)
  const server = await launch(held)
  await server.keep(Buffer.from('a handle'))
  await held.host.close(true)
  await session.close(() => false)
  return session.id
}
