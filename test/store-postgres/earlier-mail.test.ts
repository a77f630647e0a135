/** A direct `send` after messages that the same sender queued, with a home in PostgreSQL: they run first, and it costs no statement. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Postgres, RUN, whyNoPostgres } from '../support/postgres.js'
import { PostgresProxy } from '../support/postgres-proxy.js'
import { tempDirectory } from '../support/temp.js'
import { waitFor } from '../support/wait.js'

describe.skipIf(whyNoPostgres() !== undefined)('a direct send', () => {
  let server: Postgres
  beforeAll(() => {
    server = new Postgres()
  })
  afterAll(() => server?.remove())

  const run = (home: string, args: string[]) =>
    spawnSync(process.execPath, [RUN, ...args], { env: server.environment(home), encoding: 'utf8' })
  const ok = (home: string, ...args: string[]): string => {
    const { status, stdout, stderr } = run(home, args)
    expect(status, `${args.join(' ')}: ${stderr}`).toBe(0)
    return stdout
  }
  const agentIn = async (...more: string[]): Promise<string> => {
    const home = await server.newHome()
    ok(home, 'spawn', '--name', 'a', '--provider', 'scripted', ...more)
    return home
  }
  const queue = (home: string, content: string, ...more: string[]) =>
    ok(home, 'send', 'a', content, '--queue', '--no-drain', ...more)
  const order = (home: string): unknown[] =>
    ok(home, 'log', 'a', '--json')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
      .filter(
        ({ kind, origin }) => kind === 'mail.delivered' || (kind === 'message.user' && origin === 'operator'),
      )
      .map(({ content }) => content)
  const callsOf = async (home: string, ...args: string[]): Promise<string[]> => {
    const proxy = await PostgresProxy.before(server.directory)
    const env = { ...server.environment(home), SUBSTRAT_HOME: server.url(home, 'postgres', proxy.directory) }
    await promisify(execFile)(process.execPath, [RUN, ...args], { env })
    await proxy.close()
    return proxy.calls
  }

  test('runs what its sender queued before first, and --first overtakes it', async () => {
    const home = await agentIn()
    for (const content of ['A', 'B']) queue(home, content)
    const other = await server.copy(home)
    const { status, stdout, stderr } = run(home, ['send', 'a', 'C'])
    expect([status, stdout, stderr]).toEqual([
      0,
      'echo: C\n',
      expect.stringContaining('2 earlier messages run first (to overtake: --first)'),
    ])
    expect(order(home)).toEqual(['A', 'B', 'C'])
    expect(ok(other, 'send', 'a', 'C', '--first')).toBe('echo: C\n')
    expect(order(other)).toEqual(['C', 'A', 'B'])
    for (const each of [home, other]) expect(run(each, ['doctor', '--all']).status).toBe(0)
  })

  test('that looks for earlier messages makes the same calls as one that overtakes them', async () => {
    const home = await agentIn()
    // Mail of another sender, and mail that is not due, have no place before the message.
    ok(home, 'spawn', '--name', 'b', '--parent', 'a', '--provider', 'scripted')
    ok(home, 'send', 'a', 'from b', '--from', 'a/b', '--no-drain')
    queue(home, 'later', '--not-before', '1d')
    const other = await server.copy(home)
    const calls = await callsOf(home, 'send', 'a', 'C', '--no-drain')
    expect(calls).toContain('read_mail')
    expect(calls).toEqual(await callsOf(other, 'send', 'a', 'C', '--no-drain', '--first'))
    expect(order(home)).toEqual(order(other))
  })

  test('reads an earlier message once', async () => {
    const home = await agentIn()
    queue(home, 'A')
    const calls = await callsOf(home, 'send', 'a', 'C')
    expect(calls.filter((name) => name === 'read_mail')).toHaveLength(1)
    expect(order(home)).toEqual(['A', 'C'])
  })

  test('is stored before an earlier message begins, with --if-busy queue', async () => {
    const directory = tempDirectory()
    const [scenario, gate] = ['s.json', 'go'].map((name) => path.join(directory, name)) as [string, string]
    writeFileSync(scenario, JSON.stringify({ responses: [{ after_file: gate, say: 'a' }, { say: 'c' }] }))
    const home = await agentIn('--option', `scenario=${scenario}`)
    queue(home, 'A')
    const child = spawn(process.execPath, [RUN, 'send', 'a', 'C', '--if-busy', 'queue'], {
      env: server.environment(home),
      stdio: 'ignore',
    })
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
    await waitFor(
      () => JSON.parse(ok(home, 'show', 'a', '--json')).agent?.status === 'running',
      'the turn of the earlier message',
    )
    const { messages } = JSON.parse(ok(home, 'inbox', 'a', '--json'))
    expect(messages.map(({ content }: { content: string }) => content)).toEqual(['C'])
    writeFileSync(gate, '')
    expect(await ended).toBe(0)
    expect(order(home)).toEqual(['A', 'C'])
  })
})
