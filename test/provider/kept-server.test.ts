/** Kept servers: how they are identified, when they stay, and their state after a crash or a reboot. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { processGroup } from '../../src/host/identity.js'
import {
  isServerAlive,
  keptServerProcesses,
  killServerProcesses,
  stopKeptServer,
  stopKeptServerOrThrow,
} from '../../src/provider/kept-server.js'
import type { Session } from '../../src/session/session.js'
import type { RecordedServer } from '../../src/session/state.js'
import { FileStore } from '../../src/storage/file-store.js'
import { agentWithServer, keptServerHost, launch } from '../support/kept-servers.js'
import { IN_POSTGRES } from '../support/postgres-homes.js'
import { environment, watchersOf } from '../support/processes.js'
import { isAlive } from '../support/programs.js'
import { useScripts } from '../support/scripts.js'
import { newSession, reopen } from '../support/sessions.js'
import { tempDirectory, tempStore } from '../support/temp.js'
import { waitFor } from '../support/wait.js'

const OTHER_ID = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const signal = new AbortController().signal
const scripts = useScripts('kept-server-child.ts')

/** An idle agent with a running server. The test holds its lock. */
async function withServer(): Promise<{ session: Session; server: RecordedServer; pid: number }> {
  const store = tempStore()
  const session = await reopen(store, await agentWithServer(store))
  const server = session.state.warm as RecordedServer
  return { session, server, pid: server.group.process_group }
}

describe('a server', () => {
  test('runs with its own tag, and without the tag of the run that started it', async () => {
    const { session, server, pid } = await withServer()
    // A process has no visible environment during exec.
    await waitFor(() => environment(pid).includes(`SUBSTRAT_SERVER=${server.server_id}`), 'its environment')
    const entries = environment(pid)
    expect(entries).toContain(`SUBSTRAT_AGENT=${session.id}`)
    expect(entries.filter((entry) => /^SUBSTRAT_(RUN|SOCKET)/.test(entry))).toEqual([])
    expect(isServerAlive(session.store.address, server)).toBe(true)
    expect(keptServerProcesses(session.store.address)).toEqual([{ pid, agentId: session.id }])
  })

  test.each<[string, (server: RecordedServer) => RecordedServer]>([
    [
      'from before a reboot',
      ({ group, ...rest }) => ({ ...rest, group: { ...group, kernel_boot_id: 'another' } }),
    ],
    [
      'whose number was reused',
      ({ group }) => ({ server_id: OTHER_ID, group: { ...group, start_time: group.start_time - 1 } }),
    ],
    ["with another server's id", (server) => ({ ...server, server_id: OTHER_ID })],
  ])('%s is not ours: it is not used, not killed, and its record is removed', async (_, changed) => {
    const { session, server, pid } = await withServer()
    const stranger = changed(server)
    expect(isServerAlive(session.store.address, stranger)).toBe(false)
    session.append([{ kind: 'server.stopped', server_id: server.server_id }])
    session.append([{ kind: 'server.kept', ...stranger }])
    const held = keptServerHost(session)
    expect((await held.host.open()).server).toBeNull()
    expect(held.events).toEqual(['server_stopped'])
    expect(session.state.warm).toBeUndefined()
    expect(isAlive(pid)).toBe(true)
  })

  test('without a visible environment is identified by its start time', async () => {
    const store = tempStore()
    const session = await newSession(store)
    const held = keptServerHost(session)
    await launch(held, 'exec env -i sleep 3600')
    const { group, server_id } = session.state.warm as RecordedServer
    const isNamed = (): boolean => readFileSync(`/proc/${group.process_group}/environ`, 'utf8') !== ''
    await waitFor(
      () => readFileSync(`/proc/${group.process_group}/comm`, 'utf8') === 'sleep\n',
      'the program',
    )
    expect(isNamed()).toBe(false)
    expect(isServerAlive(store.address, { server_id, group })).toBe(true)
    const older = { ...group, start_time: group.start_time - 1 }
    expect(isServerAlive(store.address, { server_id, group: older })).toBe(false)
    expect(await killServerProcesses(store.address, { server_id, group }, 0)).toBe('killed')
    expect(isAlive(group.process_group)).toBe(false)
  })

  test('in another pid namespace stays recorded while it runs, and no turn runs beside it', async () => {
    const { session, server, pid } = await withServer()
    session.append([{ kind: 'server.kept', ...server, group: { ...server.group, pid_namespace: '1' } }])
    const notes: string[] = []
    const note = (text: string): void => void notes.push(text)
    expect(await stopKeptServer(session, note)).toBe(false)
    expect(notes).toEqual([
      expect.stringMatching(/^could not kill the kept server .*: it is in another pid namespace$/),
    ])
    await expect(stopKeptServerOrThrow(session, note)).rejects.toMatchObject({
      code: 'SESSION_STATE',
      hint: expect.stringMatching(/^stop it in that namespace: substrat suspend /),
    })
    const held = keptServerHost(session)
    await expect(held.host.open()).rejects.toMatchObject({ failure: { type: 'busy' } })
    expect(held.events).toEqual([])
    expect(session.state.warm).toBeDefined()
    expect(session.store.local.keptServers.uses()).toHaveLength(1)
    expect(isAlive(pid)).toBe(true)
    // Its open output file shows that it runs, also from another pid namespace.
    process.kill(-pid, 'SIGKILL')
    await waitFor(() => !isAlive(pid), 'its end')
    expect(await stopKeptServer(session, note)).toBe(true)
    expect(session.state.warm).toBeUndefined()
  })

  test.each([
    ['stays recorded if a process has its output open', '', false],
    ['loses its record if no process has its output open', '>/dev/null 2>&1', true],
  ])('with a process that cannot be identified, %s', async (_, output, isGone) => {
    const session = await newSession(tempStore())
    const file = join(tempDirectory(), 'child')
    await launch(keptServerHost(session), `env -i sleep 3600 ${output} & echo $! > ${file}; kill -9 $$`)
    const { process_group } = (session.state.warm as RecordedServer).group
    await waitFor(() => processGroup(process_group) === undefined, 'the end of its leader')
    const child = Number(readFileSync(file, 'utf8'))
    onTestFinished(() => void process.kill(child, 'SIGKILL'))
    await waitFor(() => readFileSync(`/proc/${child}/comm`, 'utf8') === 'sleep\n', 'what is left')
    expect(await stopKeptServer(session, () => undefined)).toBe(isGone)
    expect(session.state.warm === undefined).toBe(isGone)
    expect(isAlive(child)).toBe(true)
  })

  test('is killed with its whole group, including processes that have cleared their environment', async () => {
    const store = tempStore()
    const session = await newSession(store)
    const held = keptServerHost(session)
    const directory = tempDirectory()
    await launch(held, `env -i sh -c 'echo $$ > ${directory}/child; sleep 3600; :' & wait`)
    await waitFor(() => existsSync(join(directory, 'child')), 'the child')
    const child = Number(readFileSync(join(directory, 'child'), 'utf8'))
    expect(await killServerProcesses(store.address, session.state.warm as RecordedServer, 0)).toBe('killed')
    expect(isAlive(child)).toBe(false)
  })

  test.each([
    ['runs', ''],
    ['has died', 'kill -9 $$;'],
  ])('that %s leaves no process in another session', async (_, then) => {
    const store = tempStore()
    const session = await newSession(store)
    const file = join(tempDirectory(), 'apart')
    await launch(
      keptServerHost(session),
      `setsid sh -c 'echo $$ > ${file}; exec sleep 3600' & sleep 3600 & ${then} wait`,
    )
    await waitFor(() => existsSync(file) && readFileSync(file, 'utf8') !== '', 'what is apart')
    const pid = Number(readFileSync(file, 'utf8'))
    const other = { server_id: OTHER_ID, group: (session.state.warm as RecordedServer).group }
    await killServerProcesses(tempStore().address, other, 0)
    expect(isAlive(pid)).toBe(true)
    await stopKeptServer(session, () => undefined)
    await waitFor(() => !isAlive(pid), 'its death')
    expect(keptServerProcesses(store.address)).toEqual([])
  })

  test('that ignores SIGTERM is killed', async () => {
    const store = tempStore()
    const session = await newSession(store)
    const server = await launch(keptServerHost(session), "trap '' TERM; while :; do sleep 0.01; done")
    const { process_group } = (session.state.warm as RecordedServer).group
    await server.kill(50)
    expect(isAlive(process_group)).toBe(false)
    expect(session.state.warm).toBeUndefined()
  })

  test.skipIf(IN_POSTGRES)('that has died by itself loses its record and its files', async () => {
    const { session, pid } = await withServer()
    process.kill(-pid, 'SIGKILL')
    await waitFor(() => !isAlive(pid), 'its end')
    const { store, id } = session
    expect(existsSync(join(store.address, 'agents', id, 'server.json'))).toBe(true)
    const held = keptServerHost(session)
    expect((await held.host.open()).server).toBeNull()
    expect(held.events).toEqual(['server_stopped'])
    expect(store.local.keptServers.uses()).toEqual([])
    for (const name of ['server.json', 'server.out'])
      expect(existsSync(join(store.address, 'agents', id, name))).toBe(false)
  })
})

describe('a turn', () => {
  test('gets the server of the previous turn, after the log records that', async () => {
    const { session, pid } = await withServer()
    const held = keptServerHost(session)
    const { server } = await held.host.open()
    expect(Buffer.from(server?.handle ?? []).toString()).toBe('a handle')
    expect(held.events).toEqual(['launched'])
    await held.host.close(true)
    expect(isAlive(pid)).toBe(true)
    expect(session.state.warm).toBeDefined()
  })

  test('records its use of a server before a leash can kill it', async () => {
    const { session, pid } = await withServer()
    await waitFor(() => watchersOf(pid).length === 0, 'the end of the first watcher')
    const watchers: number[][] = []
    const held = keptServerHost(session, true, () => void watchers.push(watchersOf(pid)))
    await held.host.open()
    expect(watchers).toEqual([[]])
    expect(watchersOf(pid)).toHaveLength(1)
    await held.host.close(false)
  })

  test('that does not complete keeps no server, used or new', async () => {
    const { session, pid } = await withServer()
    const held = keptServerHost(session)
    await held.host.open()
    await held.host.close(false)
    expect(isAlive(pid)).toBe(false)
    const second = keptServerHost(session)
    const server = await launch(second)
    await server.keep(Buffer.from('x'))
    await second.host.close(false)
    expect(second.events).toEqual(['server_kept', 'server_stopped'])
    expect(keptServerProcesses(session.store.address)).toEqual([])
  })

  test('keeps only the server that the provider keeps', async () => {
    const session = await newSession(tempStore())
    const held = keptServerHost(session)
    await launch(held)
    await held.host.close(true)
    expect(held.events).toEqual(['server_kept', 'server_stopped'])
    expect(keptServerProcesses(session.store.address)).toEqual([])
    expect(session.store.local.keptServers.uses()).toEqual([])
  })

  test('has at most one server: another replaces the first', async () => {
    const { session, pid } = await withServer()
    const held = keptServerHost(session)
    const { launchServer, server } = await held.host.open()
    const second = await launchServer?.({ argv: ['/bin/sleep', '3600'], cwd: '/' }, { signal })
    expect(isAlive(pid)).toBe(false)
    // The log no longer has a server.
    await server?.kill(0)
    expect(held.events).toEqual(['launched', 'server_stopped', 'server_kept'])
    await second?.keep(Buffer.from('x'))
    await held.host.close(true)
    expect(keptServerProcesses(session.store.address)).toHaveLength(1)
  })

  test.skipIf(IN_POSTGRES)(
    'kills a server without a handle: its substrat died before it stored one',
    async () => {
      const { session, pid } = await withServer()
      writeFileSync(join(session.store.address, 'agents', session.id, 'server.json'), 'half a li')
      const held = keptServerHost(session)
      expect((await held.host.open()).server).toBeNull()
      expect(isAlive(pid)).toBe(false)
    },
  )

  test('that must not keep a server gets none, and kills the kept one', async () => {
    const { session, pid } = await withServer()
    const held = keptServerHost(session, false)
    expect(await held.host.open()).toEqual({ launchServer: null, server: null })
    expect(isAlive(pid)).toBe(false)
  })

  test('that has ended launches and records nothing, but can still kill', async () => {
    const session = await newSession(tempStore())
    const held = keptServerHost(session)
    const { launchServer } = await held.host.open()
    const command = { argv: ['/bin/sleep', '3600'] as [string, ...string[]], cwd: '/' }
    const server = await launchServer?.(command, { signal })
    await server?.keep(Buffer.from('x'))
    await held.host.close(true)
    await expect(launchServer?.(command, { signal })).rejects.toThrow('after the end of its turn')
    await server?.kill(0)
    expect(held.events).toEqual(['server_kept'])
    expect(keptServerProcesses(session.store.address)).toEqual([])
  })

  test.skipIf(IN_POSTGRES)("gets the end of its server's output, which does not fill the disk", async () => {
    const session = await newSession(tempStore())
    const held = keptServerHost(session)
    const loud =
      'echo first; echo second >&2; head -c 1500000 /dev/zero | tr "\\0" x; echo last; exec sleep 3600'
    const server = await launch(held, loud)
    await waitFor(() => server.output().endsWith('last\n'), 'its output')
    expect(server.output()).toHaveLength(64 * 1024)
    await server.keep(Buffer.from('x'))
    await held.host.close(true)
    const next = keptServerHost(session)
    expect((await next.host.open()).server?.output()).toBe('')
    const size = execFileSync('stat', [
      '-c',
      '%s',
      join(session.store.address, 'agents', session.id, 'server.out'),
    ])
    expect(Number(size)).toBe(0)
  })

  test('cannot keep a handle that is too large', async () => {
    const session = await newSession(tempStore())
    const server = await launch(keptServerHost(session))
    await expect(server.keep(Buffer.alloc(64 * 1024 + 1))).rejects.toThrow('broke its contract')
    await server.kill(0)
  })
})

describe('substrat killed', () => {
  test('between the barrier and the record leaves no process', async () => {
    const directory = tempDirectory()
    const child = scripts.start('kept-server-child.ts', [directory, 'hold the record'])
    const file = join(directory, 'group')
    // The file exists before the number is written to it.
    await waitFor(() => existsSync(file) && readFileSync(file, 'utf8') !== '', 'the fork')
    const group = Number(readFileSync(file, 'utf8'))
    expect(isAlive(group)).toBe(true)
    child.kill('SIGKILL')
    await waitFor(() => !isAlive(group), 'the end of what waited at the gate')
    expect(existsSync(join(directory, 'ran'))).toBe(false)
  })

  async function killedBy(what: string): Promise<{ store: FileStore; session: Session; pid: number }> {
    const directory = tempDirectory()
    const child = scripts.start('kept-server-child.ts', [directory, what])
    await waitFor(() => existsSync(join(directory, 'there')), 'the server')
    child.kill('SIGKILL')
    const store = FileStore.openForWrite(join(directory, 'home'))
    const [id] = store.agentIds()
    await waitFor(() => !store.isHeld(id as string), 'its lock')
    const session = await reopen(store, id as string)
    return { store, session, pid: session.state.warm?.group.process_group as number }
  }

  test.each(['go on', 'in use again'])(
    'in a turn (%s) kills its server, which the log names',
    async (what) => {
      const { store, session, pid } = await killedBy(what)
      await waitFor(() => !isAlive(pid), 'the end of the server')
      await stopKeptServer(session, () => undefined)
      expect(store.local.keptServers.uses()).toEqual([])
    },
  )

  test('after a turn that kept the server leaves it running, and the log names it', async () => {
    const { store, session, pid } = await killedBy('at rest')
    await waitFor(() => watchersOf(pid).length === 0, 'the end of the watcher')
    expect(isAlive(pid)).toBe(true)
    await stopKeptServer(session, () => undefined)
    expect(isAlive(pid)).toBe(false)
    expect(store.local.keptServers.uses()).toEqual([])
  })
})
