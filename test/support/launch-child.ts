/**
 * Launches a program in a directory, as a turn does, and is killed by the test. `hold the record` pauses between the
 * fork and the record; `record` writes the record and waits for the program. The program may be given as a shell
 * command.
 */
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createHost } from '../../src/provider/program.js'

const [directory, what, command] = process.argv.slice(2) as [string, string, string?]
const run = randomUUID()

const host = createHost({
  environment: { SUBSTRAT_HOME: '/h', SUBSTRAT_AGENT: 'a', SUBSTRAT_RUN: run, SUBSTRAT_LOG: '/l' },
  record(group) {
    writeFileSync(`${directory}/group`, `${group.process_group}\n`)
    if (what === 'hold the record') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    writeFileSync(`${directory}/record`, JSON.stringify({ ...group, run }))
  },
})
const argv: [string, ...string[]] = ['/bin/sh', '-c', command ?? 'echo ran > ran; sleep 3600']
const program = await host.launch({ argv, cwd: directory }, { signal: new AbortController().signal })
await program.exited
