/** Launches a server in a home below a directory, and is killed by the test, before its record or after. */
import { writeFileSync } from 'node:fs'
import { WarmHost } from '../../src/provider/warm-host.js'
import { FileStore } from '../../src/storage/store.js'
import { newSession } from './sessions.js'

const [directory, what] = process.argv.slice(2) as [string, string]
const session = await newSession(FileStore.openForWrite(`${directory}/home`))
const warm = new WarmHost(session, {
  isOn: true,
  environment: { SUBSTRAT_HOME: session.store.root, SUBSTRAT_AGENT: session.id },
  persist(event) {
    if (event.type !== 'server_kept') return
    writeFileSync(`${directory}/group`, `${event.group.process_group}`)
    if (what === 'hold the record') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    session.append([{ kind: 'server.kept', server_id: event.server_id, group: event.group }])
  },
})
const { launchServer } = await warm.open()
const argv: [string, ...string[]] = ['/bin/sh', '-c', 'echo ran > ran; sleep 60']
const server = await launchServer?.({ argv, cwd: directory }, { signal: new AbortController().signal })
setInterval(() => undefined, 1000)
await server?.exited
