/** Readers of a home in PostgreSQL: how many statements they need, and how they learn of new records. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PLUGIN, Postgres, RUN, whyNoPostgres } from '../support/postgres.js'
import { waitFor } from '../support/wait.js'

const SECRET = 'hunter2-never-shown'

describe.skipIf(whyNoPostgres() !== undefined)('a reader of a home in PostgreSQL', () => {
  const started: ChildProcess[] = []
  let server: Postgres
  let data: string
  beforeAll(() => {
    server = new Postgres()
    data = mkdtempSync(path.join(os.tmpdir(), 'pg-readers-'))
    const plugins = ['store-postgres', 'serve'].map((name) => ({
      name: `substrat-${name}`,
      type: 'link',
      root: path.join(PLUGIN, '..', name),
    }))
    for (const folder of ['substrat', 'home']) mkdirSync(path.join(data, folder))
    writeFileSync(
      path.join(data, 'substrat', 'package.json'),
      JSON.stringify({ oclif: { schema: 1, plugins } }),
    )
  })
  afterAll(() => {
    for (const child of started) child.kill('SIGKILL')
    server?.remove()
    rmSync(data, { recursive: true, force: true })
  })

  const environment = (home: string) => ({
    ...server.environment(home),
    XDG_DATA_HOME: data,
    HOME: path.join(data, 'home'),
  })
  const ok = (home: string, ...argv: string[]): string => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, ...argv], {
      env: environment(home),
      encoding: 'utf8',
    })
    expect(status, `${argv.join(' ')}: ${stderr}`).toBe(0)
    return stdout
  }
  const start = (env: Record<string, string>, ...argv: string[]) => {
    const child = spawn(process.execPath, [RUN, ...argv], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    started.push(child)
    const said = { out: '', err: '' }
    child.stdout.on('data', (bytes) => {
      said.out += bytes
    })
    child.stderr.on('data', (bytes) => {
      said.err += bytes
    })
    return { child, said, ended: new Promise((resolve) => child.once('exit', resolve)) }
  }

  async function newAgents(): Promise<string> {
    const home = await server.newHome()
    ok(home, 'spawn', '--name', 'notes', '--provider', 'scripted')
    ok(home, 'spawn', '--name', 'other', '--provider', 'scripted')
    ok(home, 'send', 'notes', 'hello')
    // From then on, a list relies on the markers.
    ok(home, 'recover', '--all')
    return home
  }

  test('log --follow prints records that another process appends, and ends with the agent', async () => {
    const home = await newAgents()
    const { said, ended } = start(environment(home), 'log', 'notes', '--follow')
    await waitFor(() => said.out.includes('echo: hello'), 'the first records')
    ok(home, 'send', 'notes', 'more')
    await waitFor(() => said.out.includes('echo: more'), 'the new records')
    ok(home, 'terminate', 'notes')
    expect(await ended).toBe(0)
    expect(await server.query(home, 'select kind from substrat.edge')).toEqual([])
  })

  test('a writer sends a notification only while a process follows its agent', async () => {
    const home = await newAgents()
    const heard: string[] = []
    const listener = await server.connect(home)
    listener.on('notification', ({ payload }) => heard.push(payload ?? ''))
    await listener.query('listen substrat')
    ok(home, 'send', 'notes', 'unheard')
    const { child, said } = start(environment(home), 'log', 'notes', '--follow')
    await waitFor(() => said.out.includes('echo: unheard'), 'the follower')
    await listener.query('select 1')
    expect(heard).toEqual([])
    ok(home, 'send', 'other', 'unheard')
    ok(home, 'send', 'notes', 'heard')
    await waitFor(async () => {
      await listener.query('select 1')
      return heard.length > 0
    }, 'a notification')
    const { id } = JSON.parse(ok(home, 'show', 'notes', '--json')).agent
    expect(new Set(heard)).toEqual(new Set([id]))
    child.kill('SIGKILL')
    await listener.end()
  })

  test('serve answers from it, streams new records, and starts commands with its password', async () => {
    const home = await newAgents()
    const url = server.url(home).replace('postgres@', `postgres:${SECRET}@`)
    const { said } = start({ ...environment(home), SUBSTRAT_HOME: url }, 'serve', '--listen', '127.0.0.1:0')
    await waitFor(() => /the token is in (.*)/.test(said.err), 'the server')
    const [, address = ''] = /listening on (\S+)/.exec(said.err) ?? []
    const [, file = ''] = /the token is in (.*)/.exec(said.err) ?? []
    const headers = { authorization: `Bearer ${readFileSync(file, 'utf8').trim()}` }
    const get = async (route: string) =>
      (await (await fetch(`${address}${route}`, { headers })).json()) as Record<string, unknown>
    expect((await get('/v1/agents')).agents).toMatchObject([{ name: 'notes' }, { name: 'other' }])
    expect((await get('/v1/agents/notes')).reply).toBe('echo: hello')
    expect((await get('/v1/tree')).agents).toHaveLength(2)
    expect((await get('/v1/agents/notes/records')).is_end).toBe(true)
    expect((await get('/v1/search?text=hello')).matches).toMatchObject([{}, {}])
    expect((await get('/v1/findings')).findings).toEqual([])
    const gone = new AbortController()
    const events = await fetch(`${address}/v1/agents/notes/events?after=1`, { headers, signal: gone.signal })
    let text = ''
    const reading = (async () => {
      const decoder = new TextDecoder()
      for await (const bytes of events.body as unknown as AsyncIterable<Uint8Array>)
        text += decoder.decode(bytes)
    })().catch(() => undefined)
    const sent = await fetch(`${address}/v1/agents/notes/messages`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ content: 'over http' }),
    })
    expect(sent.ok).toBe(true)
    await waitFor(() => text.includes('echo: over http'), 'the event')
    gone.abort()
    await reading
    expect(said.err + said.out).not.toContain(SECRET)
  })
})
