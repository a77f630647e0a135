/** The programs of a holder die with its lease, also while the holder is stopped. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { processGroup } from '../../src/host/identity.js'
import { Postgres, RUN, whyNoPostgres } from '../support/postgres.js'
import { watchersOf } from '../support/processes.js'
import { isAlive } from '../support/programs.js'
import { waitFor } from '../support/wait.js'

const LEASE_MS = 3000
/** A lease that outlives each test. */
const LONG_MS = 600_000
const SLEEPS = 'trap "" TERM; echo $$ > FILE; sleep 600; sleep 600'

/** Ignores every signal that it can, and then writes its process id. */
const STUBBORN =
  '$SIG{$_} = "IGNORE" for grep { !/KILL|STOP|CHLD/ } keys %SIG; open F, ">", $ARGV[0]; print F "$$\\n"; close F; sleep 600'
/** Ways to outlive a process group. */
const ESCAPES: Record<string, string> = {
  'ignores signals': `exec perl -e '${STUBBORN}' FILE`,
  'begins a session of its own': `setsid perl -e '${STUBBORN}' FILE & sleep 600; true`,
  'forks twice, in a session of its own, without any of its files': `perl -MPOSIX -e 'fork and exit; POSIX::setsid(); fork and exit; POSIX::close($_) for 0 .. 255; chdir "/"; ${STUBBORN}' FILE & sleep 600; true`,
  'is the orphan of a program that has ended': `(perl -e '${STUBBORN}' FILE &); sleep 600`,
}

interface Parts {
  watcher: number
  timer: number
  guard: number
}

/** The three shells of a leash: the watcher is the parent of the others, and the guard reads from the timer. */
function partsOf(group: number): Parts {
  const pids = watchersOf(group)
  const parentOf = (pid: number): number =>
    Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  const children = pids.filter((pid) => pids.includes(parentOf(pid)))
  const [watcher] = pids.filter((pid) => !children.includes(pid))
  const [guard] = children.filter((pid) => readlinkSync(`/proc/${pid}/fd/0`).startsWith('pipe:'))
  const [timer] = children.filter((pid) => pid !== guard)
  return { watcher, timer, guard } as Parts
}

function groupOf(program: number): number {
  return processGroup(program) as number
}

describe.skipIf(whyNoPostgres() !== undefined || process.platform !== 'linux')(
  'the program of a turn',
  () => {
    let server: Postgres
    let scratch: string
    beforeAll(() => {
      server = new Postgres()
      scratch = mkdtempSync(path.join(os.tmpdir(), 'leash-'))
    })
    afterAll(() => {
      server?.remove()
      rmSync(scratch, { recursive: true })
    })

    const environment = (home: string) => ({
      ...server.environment(home),
      SUBSTRAT_LEASE_MS: String(LEASE_MS),
    })

    /** A turn with a program that ignores signals. */
    async function runningTurn(
      home: string,
      script = SLEEPS,
      leaseMs = LEASE_MS,
    ): Promise<{ holder: ChildProcess; program: number }> {
      const file = path.join(scratch, home)
      const env = { ...environment(home), SUBSTRAT_LEASE_MS: String(leaseMs) }
      const command = `command=${script.replaceAll('FILE', file)}`
      const args = ['spawn', '--name', 'worker', '--provider', 'exec', '--option', command]
      expect(spawnSync(process.execPath, [RUN, ...args], { env }).status).toBe(0)
      const holder = spawn(process.execPath, [RUN, 'send', 'worker', 'go'], { env, stdio: 'ignore' })
      await waitFor(() => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'), 'the program')
      const program = Number(readFileSync(file, 'utf8'))
      onTestFinished(() => {
        holder.kill('SIGKILL')
        if (isAlive(program)) process.kill(program, 'SIGKILL')
      })
      return { holder, program }
    }

    const endsAt = async (home: string): Promise<number> => {
      const [row] = await server.query(
        home,
        'select extract(epoch from expires_at) * 1000 as ends_at from substrat.agent',
      )
      return Number(row?.ends_at)
    }

    const hasEnded = async (home: string): Promise<boolean> => {
      const [row] = await server.query(
        home,
        'select expires_at <= clock_timestamp() as has_ended from substrat.agent',
      )
      return row?.has_ended === true
    }

    test('is dead when the lease of a stopped holder has ended', async () => {
      const home = await server.newHome()
      const { holder, program } = await runningTurn(home)
      holder.kill('SIGSTOP')
      await waitFor(() => !isAlive(program), 'the death of the program')
      await waitFor(() => hasEnded(home), 'the end of the lease')
      const args = ['recover', '--all', '--continue', 'none']
      const recovered = spawnSync(process.execPath, [RUN, ...args], {
        env: environment(home),
        encoding: 'utf8',
      })
      expect([recovered.status, recovered.stderr]).toEqual([6, expect.stringContaining('its process died')])
      const shown = spawnSync(process.execPath, [RUN, 'show', 'worker', '--json'], { env: environment(home) })
      expect(JSON.parse(String(shown.stdout)).agent.status).toContain('interrupted')
    })

    test.each(Object.entries(ESCAPES))(
      'dies with the lease of a stopped holder if it %s',
      async (_, script) => {
        const { holder, program } = await runningTurn(await server.newHome(), script)
        holder.kill('SIGSTOP')
        await waitFor(() => !isAlive(program), 'the death of the program')
      },
    )

    test.each(Object.entries(ESCAPES))('dies with its holder if it %s', async (_, script) => {
      const { holder, program } = await runningTurn(await server.newHome(), script)
      holder.kill('SIGKILL')
      await waitFor(() => !isAlive(program), 'the death of the program')
    })

    test.each(['watcher', 'timer', 'guard'] as const)(
      'dies if the %s of its leash is killed alone, while its holder is stopped',
      async (part) => {
        const { holder, program } = await runningTurn(await server.newHome(), SLEEPS, LONG_MS)
        await waitFor(() => watchersOf(groupOf(program)).length === 3, 'the leash')
        const parts = partsOf(groupOf(program))
        holder.kill('SIGSTOP')
        process.kill(parts[part], 'SIGKILL')
        await waitFor(() => !isAlive(program), 'the death of the program')
        holder.kill('SIGKILL')
        await waitFor(() => Object.values(parts).every((pid) => !isAlive(pid)), 'the end of the leash')
      },
    )

    test('dies when another process has the lease', async () => {
      const home = await server.newHome()
      const { program } = await runningTurn(home)
      await server.query(home, 'update substrat.agent set lease = gen_random_uuid()')
      await waitFor(() => !isAlive(program), 'the death of the program')
    })

    test('lives while the lease is renewed', async () => {
      const home = await server.newHome()
      const { program } = await runningTurn(home)
      const first = await endsAt(home)
      await waitFor(async () => (await endsAt(home)) > first + 2 * LEASE_MS, 'renewals past two leases')
      expect(isAlive(program)).toBe(true)
    })
  },
)
