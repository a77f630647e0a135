/** A machine sleeps past the end of a lease. Its clocks are simulated: only the uptime of Linux counts the sleep. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { Postgres, RUN, whyNoPostgres } from '../support/postgres.js'
import { isAlive } from '../support/programs.js'
import { waitFor } from '../support/wait.js'

/** Longer than a lease of 30 s. */
const SLEPT_SECONDS = 60
/** The uptime of the machine, for the processes of the test, is in the file. */
const ON_MACHINE = 'mount --bind "$0" /proc/uptime && exec "$@"'

describe.skipIf((whyNoPostgres() ?? whyNoMount()) !== undefined)('a machine that slept past a lease', () => {
  let server: Postgres
  let scratch: string
  beforeAll(() => {
    server = new Postgres()
    scratch = mkdtempSync(path.join(os.tmpdir(), 'suspend-'))
  })
  afterAll(() => {
    server?.remove()
    rmSync(scratch, { recursive: true })
  })

  test('kills its programs at once, without asking the server, and writes nothing more', async () => {
    const home = await server.newHome()
    const env = server.environment(home)
    const [uptime, pidFile] = ['uptime', 'pid'].map((name) => path.join(scratch, name)) as [string, string]
    const awakeSeconds = Number.parseFloat(readFileSync('/proc/uptime', 'latin1'))
    writeFileSync(uptime, `${awakeSeconds.toFixed(2)} 0.00\n`)
    const command = `command=trap "" TERM; echo $$ > ${pidFile}; sleep 600`
    const spawned = ['spawn', '--name', 'worker', '--provider', 'exec', '--option', command]
    expect(spawnSync(process.execPath, [RUN, ...spawned], { env }).status).toBe(0)
    const argv = ['--mount', 'sh', '-c', ON_MACHINE, uptime, process.execPath, RUN, 'send', 'worker', 'go']
    const holder = spawn('unshare', argv, { env, stdio: ['ignore', 'ignore', 'pipe'] })
    let stderr = ''
    holder.stderr.on('data', (bytes) => {
      stderr += bytes
    })
    await waitFor(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8').endsWith('\n'), 'the program')
    const program = Number(readFileSync(pidFile, 'utf8'))
    onTestFinished(() => {
      holder.kill('SIGKILL')
      if (isAlive(program)) process.kill(program, 'SIGKILL')
    })
    const written = async () => (await server.query(home, 'select log_bytes from substrat.agent'))[0]
    const before = await written()

    holder.kill('SIGSTOP')
    server.stop()
    writeFileSync(uptime, `${(awakeSeconds + SLEPT_SECONDS).toFixed(2)} 0.00\n`)
    await waitFor(() => !isAlive(program), 'the death of the program')

    server.start()
    await server.query(home, 'update substrat.agent set expires_at = now()')
    holder.kill('SIGCONT')
    expect([await exitOf(holder), stderr]).toEqual([4, expect.stringContaining('the lease was lost')])
    expect(await written()).toEqual(before)
  })
})

function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once('close', (exit) => resolve(exit)))
}

function whyNoMount(): string | undefined {
  const made = spawnSync('unshare', ['--mount', 'mount', '--bind', '/dev/null', '/proc/uptime'])
  return made.status === 0 ? undefined : 'no mount can be made here'
}
