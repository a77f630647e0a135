/** Kept servers with real processes: which are reused, which are killed, and that no process is left. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import type { SessionRecord } from '../../src/session/records.js'
import type { RecordedServer } from '../../src/session/state.js'
import { FileStore } from '../../src/storage/file-store.js'
import { ServerHouse } from '../support/kept-server.js'
import { commandLine, environment, isAlive, processesWith, watchersOf } from '../support/processes.js'
import { reopen } from '../support/sessions.js'
import { waitFor } from '../support/wait.js'

describe.concurrent('a turn', () => {
  test('uses the server of the previous turn, with its own tools', async () => {
    const house = new ServerHouse()
    const id = await house.agent('a')
    const [first] = house.servers()
    expect(first).toBeDefined()
    expect((await house.ok('send', 'a', 'two')).stdout).toBe('echo: two\n')
    expect(house.servers()).toEqual([first])
    expect(house.kept(id)).toHaveLength(1)
    // Each turn records the launch before it sends its prompt.
    const kinds = house.kinds(id)
    expect(kinds.filter((kind) => kind === 'provider.started')).toHaveLength(2)
    expect(kinds.indexOf('server.kept')).toBeLessThan(kinds.indexOf('provider.state'))
    const socket = JSON.parse(readFileSync(path.join(house.store('a'), 'mcp'), 'utf8')).config.environment
    const runs = house.records(id).filter((record) => record.kind === 'run.started')
    expect(socket.SUBSTRAT_RUN).toBe(runs[1]?.run_id)
    expect(readFileSync(path.join(house.store('a'), 'disconnected'), 'utf8')).toBe('substrat\nsubstrat\n')
    expect(house.findings()).toEqual([])
  })

  test("leaves a server with the agent's id but no run id in its environment; its handle is secret", async () => {
    const house = new ServerHouse()
    const id = await house.agent('a')
    const has = environment(house.server(id) as number)
    expect(has).toContain(`SUBSTRAT_SERVER=${house.kept(id)[0]?.server_id}`)
    expect(has.filter((entry) => /^SUBSTRAT_(RUN|SOCKET|TOKEN)=/.test(entry))).toEqual([])
    const file = house.agentFile(id, 'server.json')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const password = has
      .find((entry) => entry.startsWith('OPENCODE_SERVER_PASSWORD='))
      ?.split('=')[1] as string
    const handle = JSON.parse(readFileSync(file, 'utf8')).handle
    expect(Buffer.from(handle, 'base64').toString()).toContain(password)
    expect(house.log(id)).not.toContain(password)
    expect(house.log(id)).not.toContain(handle)
  })

  test('starts another server after a person killed the last one, without a note', async () => {
    const house = new ServerHouse()
    const id = await house.agent('a')
    process.kill(-(house.server(id) as number), 'SIGKILL')
    await waitFor(() => house.servers().length === 0, 'the server to go')
    const sent = await house.ok('send', 'a', 'two')
    expect(sent.stdout).toBe('echo: two\n')
    expect(sent.stderr).toBe('')
    expect(house.servers()).toHaveLength(1)
    expect(house.kinds(id)).toEqual(expect.arrayContaining(['server.stopped']))
    expect(house.kinds(id)).not.toContain('run.failed')
  })

  test('kills a server that hangs, and starts another', async () => {
    const house = new ServerHouse({}, 'HEALTH_MS_MAX')
    const id = await house.agent('a', 'hangs later')
    const hung = house.server(id) as number
    expect((await house.ok('send', 'a', 'two')).stdout).toBe('echo: two\n')
    expect(isAlive(hung)).toBe(false)
    expect(house.servers()).toHaveLength(1)
    expect(house.servers()).not.toContain(hung)
  })

  test('stops the work of a busy server first', async () => {
    const house = new ServerHouse()
    const id = await house.agent('a')
    const server = house.server(id)
    const native = await makeBusy(house, id)
    expect((await house.ok('send', 'a', 'two')).stdout).toBe('echo: two\n')
    expect(house.servers()).toEqual([server])
    expect(readFileSync(path.join(house.store('a'), 'aborted'), 'utf8')).toBe(`${native}\n`)
  })

  test('kills a busy server that does not stop, and starts another', async () => {
    const house = new ServerHouse({}, 'ABORT_MS_MAX')
    const id = await house.agent('a', 'is deaf to an abort')
    const deaf = house.server(id) as number
    await makeBusy(house, id)
    expect((await house.ok('send', 'a', 'two')).stdout).toBe('echo: two\n')
    expect(isAlive(deaf)).toBe(false)
    expect(house.servers()).toHaveLength(1)
  })

  test.each([
    ['that fails', '[{"error":{"name":"UnknownError","data":{"message":"no"}}}]', 9],
    ['that asks for a person', '[{"ask for":[{"permission":"bash","patterns":["ls"],"metadata":{}}]}]', 5],
  ])('%s leaves no server', async (_, prompt, exit) => {
    const house = new ServerHouse()
    const id = await house.agent('a')
    expect(house.servers()).toHaveLength(1)
    expect(await house.run(['send', 'a', prompt])).toMatchObject({ exit })
    expect(house.running()).toEqual([])
    expect(house.kinds(id)).toContain('server.stopped')
    expect(existsSync(house.agentFile(id, 'server.json'))).toBe(false)
    expect(readdirSync(path.join(house.home, 'servers'))).not.toContain(id)
  })

  test('that is cancelled leaves no server', async () => {
    const house = new ServerHouse()
    const id = await house.agent('a')
    const sender = house.start(['send', 'a', '[{"hang":1}]'])
    await promptKnown(house, id)
    await house.ok('cancel', 'a')
    expect((await sender.result).exit).toBe(14)
    expect(house.running()).toEqual([])
  })

  test('has its own server if none may stay', async () => {
    const house = new ServerHouse({ SUBSTRAT_WARM_MAX: '0' })
    const id = await house.agent('a')
    expect(house.running()).toEqual([])
    expect(house.kinds(id)).not.toContain('server.kept')
    await house.run(['send', 'a', 'two'], { env: { SUBSTRAT_WARM_MAX: '1' } })
    expect(house.servers()).toHaveLength(1)
    expect((await house.ok('send', 'a', 'three')).stdout).toBe('echo: three\n')
    expect(house.running()).toEqual([])
  })
})

type Launched = Extract<SessionRecord, { kind: 'provider.started' }>

/** Processes of the server's group that live on after the server itself, until substrat kills them. */
const REMAINS: Record<string, (command: string) => string> = {
  'a wrapper': (command) => `wrapped() { ${command} "$@"; sleep 3600; }; wrapped`,
  'a child': (command) => `sleep 3600 & exec ${command}`,
  'no process': (command) => command,
}

describe.concurrent('a server that is killed alone interrupts its turn', () => {
  test.each([
    ['a wrapper', 'an earlier turn', true],
    ['a child', 'an earlier turn', true],
    ['no process', 'an earlier turn', true],
    ['a wrapper', 'the same turn', true],
    ['a wrapper', 'the same turn, without kept servers', false],
  ])('if %s of it is left and it is from %s, however late a leash is', async (left, from, keeps) => {
    const house = new ServerHouse(keeps ? {} : { SUBSTRAT_WARM_MAX: '0' }, 'SURE_EXIT_MS_MAX')
    house.wrapped = REMAINS[left] as (command: string) => string
    const id = await house.agent('a')
    if (from !== 'an earlier turn') await house.ok('suspend', 'a')
    const prompt = JSON.stringify([{ 'wait for': path.join(house.root, 'go') }, { say: 'late' }])
    const sent = ['send', 'a', prompt, '--key', 'k']
    const sender = house.start(sent)
    await promptKnown(house, id)
    const group = house.records(id).findLast(({ kind }) => kind === 'provider.started') as Launched
    const watchers = watchersOf(group.process_group)
    for (const watcher of watchers) process.kill(watcher, 'SIGSTOP')
    const [killed] = processesWith(`SUBSTRAT_AGENT=${id}`).filter(
      (pid) => commandLine(pid)[0] === process.execPath && commandLine(pid).includes('serve'),
    )
    process.kill(killed as number, 'SIGKILL')
    const { exit, stderr } = await sender.result
    for (const watcher of watchers) process.kill(watcher, 'SIGKILL')
    expect([exit, stderr]).toEqual([6, expect.stringMatching(/the agent program|opencode's server/)])
    expect(stderr).not.toMatch(/: *$/m)
    expect(house.records(id).findLast(({ kind }) => kind === 'run.interrupted')).toMatchObject({
      reason: 'program_killed',
    })
    writeFileSync(path.join(house.root, 'go'), '')
    // The same key continues the turn, in another server.
    const again = await house.run(sent)
    expect([again.exit, again.stderr]).toEqual([0, expect.anything()])
    expect(house.findings(true)).toEqual([])
  })
})

describe.concurrent('nothing is left running', () => {
  test.each([
    ['suspend', ['suspend', 'a']],
    ['suspend --hold', ['suspend', 'a', '--hold']],
    ['terminate', ['terminate', 'a']],
    ['recover', ['recover', 'a']],
    ['recover --all', ['recover', '--all']],
    ['a new model', ['set', 'a', '--model', 'x/y']],
    ['another option', ['set', 'a', '--option', 'agent=plan']],
    ['another workspace', ['set', 'a', '--workspace', '/']],
    ['a conversation begun anew', ['resume', 'a', '--reseed']],
  ])('after %s', async (_, command) => {
    const house = new ServerHouse()
    const id = await house.agent('a')
    expect(house.servers()).toHaveLength(1)
    await house.ok(...command)
    expect(house.running()).toEqual([])
    expect(house.kinds(id).filter((kind) => kind.startsWith('server.'))).toEqual([
      'server.kept',
      'server.stopped',
    ])
    expect(readdirSync(path.join(house.home, 'servers')).filter((name) => name === id)).toEqual([])
    expect(house.findings()).toEqual([])
  })

  test('except after a change that does not affect its program', async () => {
    const house = new ServerHouse()
    await house.agent('a')
    await house.ok('set', 'a', '--title', 'of mine')
    await house.ok('show', 'a')
    await house.ok('deliver', '--all')
    expect(house.servers()).toHaveLength(1)
  })

  test('after recover, also of turns that it continues', async () => {
    const house = new ServerHouse()
    const id = await house.agent('a')
    const sender = house.start(['send', 'a', '[{"hang":1}]'])
    await promptKnown(house, id)
    await sender.kill()
    const recovered = await house.run(['recover', 'a'])
    expect(recovered.stdout).toContain('continued, ')
    expect(house.running()).toEqual([])
    expect(house.findings(true)).toEqual([])
  })

  test('after recover --all, for a removed agent', async () => {
    const house = new ServerHouse()
    const id = await house.agent('a')
    const [server] = house.servers()
    // As a person might delete it.
    rmSync(path.dirname(house.agentFile(id, 'lock')), { recursive: true })
    expect(isAlive(server as number)).toBe(true)
    await house.ok('recover', '--all')
    await waitFor(() => house.running().length === 0, 'the end of the server, which was killed')
    expect(readdirSync(path.join(house.home, 'servers')).filter((name) => name === id)).toEqual([])
  })
})

describe.concurrent('with more servers than warm_max', () => {
  test('the least recently used server is stopped', async () => {
    const house = new ServerHouse()
    const [a, b] = [await house.agent('a'), await house.agent('b')]
    await house.ok('send', 'a', 'two')
    const c = await house.agent('c')
    expect([a, b, c].map((id) => house.server(id) !== undefined)).toEqual([true, false, true])
    expect((await house.ok('send', 'b', 'three')).stdout).toBe('echo: three\n')
    expect([a, b, c].map((id) => house.server(id) !== undefined)).toEqual([false, true, true])
  })

  test('a server in use is not stopped, even if it is the least recently used', async () => {
    const house = new ServerHouse({ SUBSTRAT_WARM_MAX: '1' })
    const a = await house.agent('a')
    const prompt = JSON.stringify([{ 'wait for': path.join(house.root, 'go') }, { say: 'late' }])
    const sender = house.start(['send', 'a', prompt])
    await promptKnown(house, a)
    const b = await house.agent('b')
    expect(house.server(a)).toBeDefined()
    writeFileSync(path.join(house.root, 'go'), '')
    expect((await sender.result).stdout).toBe('late\n')
    expect([a, b].map((id) => house.server(id) !== undefined)).toEqual([true, false])
  })

  test('parallel turns leave at most warm_max servers', async () => {
    const house = new ServerHouse()
    const names = ['a', 'b', 'c', 'd']
    for (const name of names) await house.agent(name)
    await Promise.all(names.map((name) => house.ok('send', name, 'again')))
    await waitFor(() => house.servers().length === 2, 'two to be left')
  })
})

test('a server that was idle for half an hour is stopped by the next command', async () => {
  const house = new ServerHouse()
  const [a, b] = [await house.agent('a'), await house.agent('b')]
  house.age(a, 29 * 60_000)
  await house.ok('deliver', '--all')
  expect(house.servers()).toHaveLength(2)
  house.age(a, 2 * 60_000)
  await house.ok('deliver', '--all')
  expect(house.server(a)).toBeUndefined()
  expect(house.server(b)).toBeDefined()
  house.age(b, 31 * 60_000)
  const c = await house.agent('c')
  expect([b, c].map((id) => house.server(id) !== undefined)).toEqual([false, true])
})

test('no turn runs beside a server in another container until that server has ended', async () => {
  const house = new ServerHouse()
  const id = await house.agent('a')
  const server = house.server(id) as number
  const session = await reopen(FileStore.openForWrite(house.home), id)
  const { warm } = session.state as { warm: RecordedServer }
  session.append([{ kind: 'server.kept', ...warm, group: { ...warm.group, pid_namespace: '1' } }])
  await session.close(() => false)
  const kinds = house.kinds(id)
  for (const words of [
    ['send', 'a', 'two'],
    ['resume', 'a', '--reseed'],
    ['set', 'a', '--model', 'x/y'],
  ]) {
    const { exit, stderr } = await house.run(words)
    expect(exit).toBe(13)
    expect(stderr).toMatch(/another pid namespace.*stop it in that namespace: substrat suspend a/)
  }
  expect(house.kinds(id)).toEqual(kinds)
  process.kill(-server, 'SIGKILL')
  // Its leader may be gone before the other processes of the group have closed its output.
  const { keptServers } = FileStore.openForWrite(house.home).local
  await waitFor(() => !isAlive(server) && !keptServers.isPrinting(id), 'its end')
  expect((await house.ok('send', 'a', 'two')).stdout).toBe('echo: two\n')
})

describe.concurrent('substrat killed', () => {
  test('before its server listens leaves no server', async () => {
    const house = new ServerHouse()
    const spawning = house.begin('a', 'hi', 'never listens')
    await waitFor(() => house.servers().length === 1, 'the server')
    await waitFor(() => readLogs(house).includes('"server.kept"'), 'its record')
    const [server] = house.servers()
    await spawning.kill()
    await waitFor(() => !isAlive(server as number), 'the end of the server')
    await house.run(['recover', 'a', '--continue', 'none'])
    expect(house.running()).toEqual([])
    expect(house.findings(true)).toEqual([])
  })

  test("during a turn: its server stops too, and recovery reads the program's store", async () => {
    const house = new ServerHouse()
    const id = await house.agent('a')
    const sender = house.start(['send', 'a', '[{"say":"finished"},{"hang":1}]'])
    await waitFor(() => stored(house).includes('"finished"'), 'the answer in its store')
    await promptKnown(house, id)
    await sender.kill()
    const resumed = await house.run(['resume', 'a'])
    expect(resumed.exit, resumed.stderr).toBe(0)
    const replies = house.records(id).filter((record) => record.kind === 'message.agent')
    expect(replies.map(({ content }) => content)).toEqual(['echo: hi', 'finished'])
    expect(house.findings(true)).toEqual([])
  })

  test('during an unfinished turn: the turn is interrupted and continued with another server', async () => {
    const house = new ServerHouse()
    const id = await house.agent('a')
    const server = house.server(id) as number
    const sender = house.start(['send', 'a', '[{"hang":1}]'])
    await promptKnown(house, id)
    await sender.kill()
    await waitFor(() => !isAlive(server), 'the end of the server')
    await house.run(['recover', 'a', '--continue', 'none'])
    expect(house.kinds(id)).toContain('run.interrupted')
    const resumed = await house.ok('resume', 'a')
    expect(resumed.stdout).toContain('echo: ')
    expect(house.servers()).toHaveLength(1)
  })
})

test('a copy of the home does not stop the servers of the original', async () => {
  const house = new ServerHouse()
  const id = await house.agent('a')
  const server = house.server(id) as number
  const copy = house.copy({ XDG_DATA_HOME: house.env.XDG_DATA_HOME as string })
  await copy.ok('suspend', 'a')
  await copy.ok('recover', '--all')
  expect(isAlive(server)).toBe(true)
  expect((await house.ok('send', 'a', 'two')).stdout).toBe('echo: two\n')
  expect(house.servers()).toEqual([server])
})

/** Makes the server busy with an orphaned prompt, as after the death of the command that sent it. Returns the session. */
async function makeBusy(house: ServerHouse, id: string): Promise<string> {
  const { url, password } = handleOf(house, id)
  const headers = { authorization: `Basic ${Buffer.from(`opencode:${password}`).toString('base64')}` }
  const [file = ''] = readdirSync(house.store('a')).filter((name) => name.startsWith('ses_'))
  const native = file.replace('.json', '')
  const at = (route: string): string => `${url}${route}?directory=${encodeURIComponent(house.workspace)}`
  const body = JSON.stringify({ parts: [{ type: 'text', text: '[{"hang":1}]' }] })
  await fetch(at(`/session/${native}/prompt_async`), { method: 'POST', headers, body })
  const status = await (await fetch(at('/session/status'), { headers })).json()
  expect(status).toEqual({ [native]: { type: 'busy' } })
  return native
}

/** A moment in the second turn: OpenCode has its prompt, and substrat knows its id. */
async function promptKnown(house: ServerHouse, id: string): Promise<void> {
  await house.waitForRecord(id, 'provider.state', 3)
  await waitFor(() => stored(house).match(/"role":"user"/g)?.length === 2, 'the prompt in its store')
}

function handleOf(house: ServerHouse, id: string): { url: string; password: string } {
  const { handle } = JSON.parse(readFileSync(house.agentFile(id, 'server.json'), 'utf8'))
  return JSON.parse(Buffer.from(handle, 'base64').toString())
}

function readLogs(house: ServerHouse): string {
  try {
    return Object.values(house.logs()).join('')
  } catch {
    return ''
  }
}

function stored(house: ServerHouse): string {
  const folder = house.store('a')
  return readdirSync(folder)
    .filter((name) => name.startsWith('ses_'))
    .map((name) => readFileSync(path.join(folder, name), 'utf8'))
    .join('')
}
