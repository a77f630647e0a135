/**
 * Launches a server in a home below a directory, and is killed by the test. The stage says when: in the middle of the
 * turn, before or after its record; `at rest`, after a turn that kept the server; `in use again`, in the middle of the
 * next turn.
 */
import { writeFileSync } from 'node:fs'
import { type KeptServerContext, KeptServerHost } from '../../src/provider/kept-server-host.js'
import { FileStore } from '../../src/storage/file-store.js'
import { newSession } from './sessions.js'

const [directory, what] = process.argv.slice(2) as [string, string]
const session = await newSession(FileStore.openForWrite(`${directory}/home`))
const context: KeptServerContext = {
  isOn: true,
  environment: { SUBSTRAT_HOME: session.store.address, SUBSTRAT_AGENT: session.id },
  persist(event) {
    if (event.type !== 'server_kept') return
    writeFileSync(`${directory}/group`, `${event.group.process_group}`)
    if (what === 'hold the record') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    session.append([{ kind: 'server.kept', server_id: event.server_id, group: event.group }])
  },
}
const host = new KeptServerHost(session, context)
const { launchServer } = await host.open()
const argv: [string, ...string[]] = ['/bin/sh', '-c', 'echo ran > ran; sleep 3600']
const server = await launchServer?.({ argv, cwd: directory }, { signal: new AbortController().signal })
if (what === 'at rest' || what === 'in use again') {
  await server?.keep(Buffer.from('a handle'))
  await host.close(true)
}
if (what === 'in use again') await new KeptServerHost(session, context).open()
writeFileSync(`${directory}/there`, '')
setInterval(() => undefined, 1000)
await server?.exited
