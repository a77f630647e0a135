/** A standby is promoted after its primary has died. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Postgres, RUN, whyNoPostgres } from '../support/postgres.js'
import { Pair } from '../support/postgres-standby.js'
import { waitFor } from '../support/wait.js'

/** Two calls, each of which waits for its file. */
const SCRIPT = {
  responses: [{ tools: [gated('first')] }, { tools: [gated('second')] }, { say: 'done' }],
}

describe.skipIf(whyNoPostgres() !== undefined)('after the promotion of a standby', () => {
  let root: string
  let first: Postgres
  let pair: Pair
  beforeEach(() => {
    root = mkdtempSync(path.join(os.tmpdir(), 'standby-'))
    first = new Postgres({ isDurable: true })
    pair = new Pair(first)
  })
  afterEach(() => {
    pair?.remove()
    first?.remove()
    rmSync(root, { recursive: true, force: true })
  })

  test('a home has everything that was acknowledged, if the standby was synchronous', async () => {
    await pair.makeSynchronous()
    const { home, run, start, open } = await newPlace()
    expect((await run('spawn', '--name', 'notes', '--provider', 'scripted')).exit).toBe(0)
    for (const key of ['k1', 'k2', 'k3']) expect((await run('send', 'notes', key, '--key', key)).exit).toBe(0)
    const turn = await start()
    first.kill()
    pair.promote()
    open('first')
    open('second')
    expect(await turn.ended).toEqual({ exit: 0, stdout: 'done\n', stderr: expect.any(String) })
    const log = await run('log', 'notes')
    for (const key of ['k1', 'k2', 'k3']) {
      expect(log.stdout).toContain(`echo: ${key}`)
      expect((await run('send', 'notes', key, '--key', key)).stdout).toBe(`echo: ${key}\n`)
    }
    expect((await run('log', 'notes')).stdout).toBe(log.stdout)
    expect((await run('doctor', '--all')).exit).toBe(0)
    expect(await pair.primary.query(home, 'select pg_is_in_recovery() as is_standby')).toEqual([
      { is_standby: false },
    ])
  })

  test('the next append of a turn exits 10, if the standby lacks an earlier one', async () => {
    const { home, run, begin, start, open } = await newPlace()
    const turn = await start()
    await pair.catchUp()
    pair.standby.stop()
    const size = 'select log_bytes from substrat.agent'
    const [before] = await first.query(home, size)
    open('first')
    await waitFor(
      async () => (await first.query(home, size))[0]?.log_bytes !== before?.log_bytes,
      'a lost append',
    )
    await turn.isRunning('second')
    first.kill()
    pair.standby.start()
    pair.promote()
    expect((await pair.primary.query(home, size))[0]).toEqual(before)
    open('second')
    const { exit, stderr } = await turn.ended
    expect([exit, stderr]).toEqual([10, expect.stringContaining('is not as this command wrote it')])
    expect((await pair.primary.query(home, size))[0]).toEqual(before)
    const recover = () => begin(['recover', '--all', '--continue', 'none'], { SUBSTRAT_LEASE_MS: '2000' })
    const refused = await recover()
    expect([refused.exit, refused.stderr + refused.stdout]).toEqual([
      4,
      expect.stringContaining('no agent is taken before'),
    ])
    await waitFor(async () => [0, 6].includes((await recover()).exit ?? -1), 'the end of the refusal')
    expect((await run('doctor', '--all')).exit).toBe(0)
  })

  test('no agent is taken for one lease, so no tool runs beside one whose lease was lost', async () => {
    const { run, begin, open, cwd } = await newPlace({ SUBSTRAT_LEASE_MS: '6000' })
    const spawned = ['spawn', '--name', 'worker', '--provider', 'scripted', '--allow', 'all']
    expect((await run(...spawned, '--option', 'scenario=script.json')).exit).toBe(0)
    await pair.catchUp()
    pair.standby.stop()
    const lost = begin(['send', 'worker', 'go'])
    await waitFor(() => existsSync(path.join(cwd, 'first.begun')), 'the tool')
    first.kill()
    pair.standby.start()
    pair.promote()
    const again = await run('send', 'worker', 'again', '--if-busy', 'fail')
    expect([again.exit, again.stderr]).toEqual([
      4,
      expect.stringMatching(/its timeline was 00000001 and is 00000002/),
    ])
    expect((await run('doctor')).stdout).toContain('the server was promoted or recovered')
    const next = begin(['send', 'worker', 'again', '--timeout', '5m'])
    // The next tool notes it if the first one still runs.
    expect([4, 10, 15]).toContain((await lost).exit)
    open('first')
    open('second')
    expect(await next).toMatchObject({ exit: 0, stdout: 'done\n' })
    expect(existsSync(path.join(cwd, 'overlap'))).toBe(false)
  })

  /** A home at the address of the pair, and a directory for its commands. */
  async function newPlace(more: Record<string, string> = {}) {
    const [home, cwd] = [await first.newHome(), path.join(root, 'workspace')]
    mkdirSync(cwd)
    writeFileSync(path.join(cwd, 'script.json'), JSON.stringify(SCRIPT))
    const env = {
      ...first.environment(home),
      SUBSTRAT_HOME: first.url(home, 'postgres', pair.address),
      ...more,
    }
    const begin = (argv: string[], changes: Record<string, string> = {}) => {
      const options = { cwd, env: { ...env, ...changes } }
      const child = spawn(process.execPath, [RUN, ...argv], { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
      const said = { stdout: '', stderr: '' }
      for (const name of ['stdout', 'stderr'] as const)
        child[name].on('data', (bytes) => {
          said[name] += bytes
        })
      return new Promise<{ exit: number | null; stdout: string; stderr: string }>((resolve) =>
        child.once('close', (exit) => resolve({ exit, ...said })),
      )
    }
    const run = (...argv: string[]) => begin(argv)
    const isRunning = (call: string) =>
      waitFor(() => existsSync(path.join(cwd, `${call}.begun`)), `the call ${call}`)
    const start = async () => {
      const spawned = ['spawn', '--name', 'worker', '--provider', 'scripted', '--allow', 'all']
      expect((await run(...spawned, '--option', 'scenario=script.json')).exit).toBe(0)
      const ended = begin(['send', 'worker', 'go'])
      await isRunning('first')
      return { ended, isRunning }
    }
    return { home, run, begin, start, cwd, open: (call: string) => writeFileSync(path.join(cwd, call), '') }
  }
})

function gated(call: string) {
  return {
    name: 'shell',
    input: {
      command: `for pid in $(cat pids); do kill -0 $pid && touch overlap; done; echo $$ >> pids; touch ${call}.begun; until [ -e ${call} ]; do sleep 0.05; done`,
    },
  }
}
