/** Hosts: processes in pid namespaces of their own, so that none sees whether another one's process lives. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { type Postgres, RUN } from '../../test/support/postgres.js'
import { waitFor } from '../../test/support/wait.js'

const HOST = ['--pid', '--fork', '--kill-child', '--mount-proc']

function onHost(
  server: Postgres,
  database: string,
  argv: string[],
  more: Record<string, string>,
): ChildProcess {
  const env = { ...server.environment(database), ...more }
  return spawn('unshare', [...HOST, ...argv], { env, stdio: ['ignore', 'pipe', 'inherit'] })
}

/**
 * From the last renewal of a holder that is killed with its host until another host has the agent. The next host waits from
 * the kill on.
 */
export async function takeoverMs(server: Postgres, database: string, ttlMs: number): Promise<number> {
  const env = { SUBSTRAT_LEASE_MS: String(ttlMs) }
  const at = { env: { ...server.environment(database), ...env } }
  const spawned = [
    'spawn',
    '--name',
    'worker',
    '--provider',
    'exec',
    '--option',
    'command=[ -e on ] || sleep 600',
  ]
  execFileSync(process.execPath, [RUN, ...spawned], at)
  const first = onHost(server, database, [process.execPath, RUN, 'send', 'worker', 'go'], env)
  const row = async () => {
    const [found] = await server.query(database, 'select lease, expires_at from substrat.agent')
    return { lease: found?.lease, endsAt: Number(found?.expires_at ?? 0) }
  }
  await waitFor(async () => (await row()).lease !== null, 'a holder')
  const { lease } = await row()
  await waitFor(async () => (await row()).endsAt - Date.now() > ttlMs * 0.9, 'a renewal')
  first.kill('SIGKILL')
  const renewedAt = (await row()).endsAt - ttlMs
  const next = onHost(server, database, [process.execPath, RUN, 'suspend', 'worker', '--timeout', '60s'], env)
  const ended = new Promise((resolve) => next.once('close', resolve))
  await waitFor(async () => (await row()).lease !== lease, 'the next holder')
  const takenMs = Date.now() - renewedAt
  await ended
  return takenMs
}

/** Each host runs `send` to an agent of its own, again and again. */
export async function turnsPerSecond(
  server: Postgres,
  database: string,
  hosts: number,
  seconds: number,
): Promise<number> {
  const env = server.environment(database)
  const loop = `while :; do ${process.execPath} ${RUN} send "$NAME" hello && echo turn; done`
  for (let n = 0; n < hosts; n++)
    execFileSync(process.execPath, [RUN, 'spawn', '--name', `agent${n}`, '--provider', 'scripted'], { env })
  let turns = 0
  const running = Array.from({ length: hosts }, (_, n) =>
    onHost(server, database, ['sh', '-c', loop], { NAME: `agent${n}` }),
  )
  for (const { stdout } of running)
    stdout?.on('data', (bytes: Buffer) => {
      turns += bytes.toString().split('turn\n').length - 1
    })
  await waitFor(() => turns >= hosts * 2, 'every host to be warm')
  const [begin, before] = [performance.now(), turns]
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  const rate = ((turns - before) * 1000) / (performance.now() - begin)
  const ends = running.map((host) => new Promise((resolve) => host.once('close', resolve)))
  for (const host of running) host.kill('SIGKILL')
  await Promise.all(ends)
  return rate
}
