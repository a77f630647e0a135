/** A turn with a program or a tool whose host is out of reach continues on another host, after the end of its lease and the margin. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { limits } from '../../src/limits.js'
import { hasHosts, Machine } from '../support/hosts.js'
import { Postgres, RUN, whyNoPostgres } from '../support/postgres.js'
import { isAlive } from '../support/programs.js'
import { waitFor } from '../support/wait.js'

const LEASE_MS = 2000
/** Its first process blocks, and each later one is done at once. Each writes its process id. */
const ONCE = 'echo $$ >> FILE; [ "$(wc -l < FILE)" -gt 1 ] || sleep 600; echo done'

describe.skipIf(whyNoPostgres() !== undefined || !hasHosts)('a turn whose host is out of reach', () => {
  const root = mkdtempSync(path.join(os.tmpdir(), 'takeover-'))
  let server: Postgres
  beforeAll(() => {
    server = new Postgres()
  })
  afterAll(() => {
    server?.remove()
    rmSync(root, { recursive: true, force: true })
  })

  interface Place {
    home: string
    program: number
    holder: ChildProcess
    run(argv: string[], env?: Record<string, string>): { exit: number | null; stdout: string; stderr: string }
    records(kind: string): Record<string, unknown>[]
  }

  /** The holder of `provider`'s turn is stopped on the host web-1; `run` runs a command on the host web-2. */
  async function lostTurn(provider: (file: string) => string[]): Promise<Place> {
    const home = await server.newHome()
    const cwd = path.join(root, home)
    mkdirSync(cwd)
    const [one, two] = ['web-1', 'web-2'].map((name) => new Machine(cwd, name, undefined, 'running'))
    const env = {
      ...server.environment(home),
      SUBSTRAT_LEASE_MS: String(LEASE_MS),
      SUBSTRAT_WORKSPACE_SCOPE: 'any',
      SUBSTRAT_RETRY_DELAYS: 'none',
    }
    const commandOn = (machine: Machine | undefined, argv: string[]) =>
      machine?.command([process.execPath, RUN, ...argv]) as [string, ...string[]]
    const run: Place['run'] = (argv, more = {}) => {
      const [program, ...args] = commandOn(two, argv)
      const { status, stdout, stderr } = spawnSync(program, args, {
        cwd,
        env: { ...env, ...more },
        encoding: 'utf8',
      })
      return { exit: status, stdout, stderr }
    }
    const file = path.join(cwd, 'pids')
    const spawned = run(['spawn', '--name', 'worker', '--allow', 'all', ...provider(file)])
    expect(spawned.exit, spawned.stderr).toBe(0)
    const [program, ...args] = commandOn(one, ['send', 'worker', 'go', '--key', 'k'])
    const holder = spawn(program, args, { cwd, env, stdio: 'ignore' })
    const pids = (): number[] =>
      existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1).map(Number) : []
    onTestFinished(() => {
      holder.kill('SIGKILL')
      for (const pid of pids().filter(isAlive)) process.kill(pid, 'SIGKILL')
    })
    await waitFor(() => pids().length > 0, 'the program')
    holder.kill('SIGSTOP')
    await waitFor(async () => {
      const [row] = await server.query(
        home,
        'select expires_at <= clock_timestamp() as is_over from substrat.agent',
      )
      return row?.is_over === true
    }, 'the end of the lease')
    const records = (kind: string): Record<string, unknown>[] =>
      run(['log', 'worker', '--json'])
        .stdout.split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
        .filter((record) => record.kind === kind)
    return { home, program: pids()[0] as number, holder, run, records }
  }

  const exec = (file: string): string[] => [
    '--provider',
    'exec',
    '--option',
    `command=${ONCE.replaceAll('FILE', file)}`,
  ]
  const tool = (file: string): string[] => {
    const call = { name: 'shell', input: { command: ONCE.replaceAll('FILE', file) } }
    writeFileSync(`${file}.json`, JSON.stringify({ responses: [{ tools: [call] }, { say: 'done' }] }))
    return ['--provider', 'scripted', '--option', `scenario=${file}.json`]
  }

  const endOf = async (home: string): Promise<number> => {
    const [row] = await server.query(
      home,
      'select extract(epoch from expires_at) * 1000 as at from substrat.agent',
    )
    return Number(row?.at)
  }

  test('continues there by itself, not before the margin after its lease is over', async () => {
    const { home, program, holder, run, records } = await lostTurn(exec)
    expect(isAlive(program)).toBe(false)
    const endedAt = await endOf(home)
    const sent = run(['send', 'worker', 'go', '--key', 'k'])
    expect([sent.exit, sent.stdout, sent.stderr]).toEqual([
      0,
      'done\n',
      expect.stringMatching(/waiting \d s until the leash on the host web-1 has ended the programs/),
    ])
    const [first, second] = records('provider.started')
    expect(first).toMatchObject({ lease: expect.stringMatching(/^[0-9a-f-]{36}$/) })
    const tookMs = Date.parse(String(second?.ts)) - endedAt
    console.log(`the turn continued ${tookMs} ms after the end of its lease`)
    expect(tookMs).toBeGreaterThanOrEqual(limits.leashMarginMs)
    expect(records('run.interrupted')).toMatchObject([{ reason: 'process_exit' }])
    // The first holder wakes up: it has lost its lease, and writes nothing more.
    const before = records('run.started').length
    const exited = new Promise((resolve) => holder.once('exit', resolve))
    holder.kill('SIGCONT')
    expect(await exited).toBe(4)
    expect(records('run.started')).toHaveLength(before)
    expect(run(['doctor', '--all']).exit).toBe(0)
  })

  test('with a tool of unknown outcome waits for a person there, as after a local crash', async () => {
    const { run, records } = await lostTurn(tool)
    const recovered = run(['recover', '--all'])
    expect([recovered.exit, recovered.stderr]).toEqual([6, expect.not.stringContaining('--host-gone')])
    expect(records('run.interrupted')).toMatchObject([{ reason: 'unknown_tool' }])
    expect(run(['resume', 'worker'])).toMatchObject({ exit: 0, stdout: 'done\n' })
  })

  test('is left to its host or a person with recovery.takeover off, and continues once it is on', async () => {
    const { program, run, records } = await lostTurn(exec)
    const off = run(['recover', '--all'], { SUBSTRAT_RECOVERY_TAKEOVER: 'off' })
    expect([off.exit, off.stderr + off.stdout]).toEqual([6, expect.stringContaining('web-1')])
    expect(records('run.interrupted')).toMatchObject([
      { reason: 'other_host', left: [{ lease: expect.anything() }] },
    ])
    expect(isAlive(program)).toBe(false)
    const on = run(['recover', '--all'])
    expect([on.exit, on.stdout]).toEqual([0, expect.stringContaining('continued')])
    expect(records('run.programs_gone')).toMatchObject([{ by: 'host', leash: true }])
  })
})
