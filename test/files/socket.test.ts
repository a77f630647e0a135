import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { connectTo, type ServedSocket, serveSocket } from '../../src/files/socket.js'
import { failing, withFaults } from '../support/faults.js'
import { tempDirectory } from '../support/temp.js'
import { waitFor } from '../support/wait.js'

let path: string

beforeEach(() => {
  path = join(tempDirectory(), `${randomUUID()}.sock`)
})

async function serve(
  onConnection: (connection: Socket) => Promise<void> = async () => undefined,
): Promise<ServedSocket> {
  const served = await serveSocket(path, onConnection)
  onTestFinished(() => served.close())
  return served
}

const echo = async (connection: Socket): Promise<void> => void connection.pipe(connection)

async function connected(): Promise<Socket> {
  const connection = await connectTo(path)
  if (connection === undefined) throw new Error('nobody is behind the socket')
  onTestFinished(() => void connection.destroy())
  return connection
}

async function said(connection: Socket, words: string): Promise<string> {
  connection.write(words)
  const [bytes] = (await once(connection, 'data')) as [Buffer]
  return bytes.toString()
}

const descriptors = (): number => readdirSync('/proc/self/fd').length

describe('a socket in the home', () => {
  test('is only for this user while it is served, and carries data', async () => {
    await serve(echo)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(await said(await connected(), 'hello')).toBe('hello')
  })

  test('is only for this user from creation under any umask, and restores the umask', async () => {
    const before = process.umask(0)
    try {
      const serving = serve(echo)
      expect(statSync(path).mode & 0o777).toBe(0o600)
      expect(process.umask()).toBe(0)
      await serving
    } finally {
      process.umask(before)
    }
  })

  test('works below a path longer than a socket address', async () => {
    path = join(dirname(path), ...Array.from({ length: 6 }, () => 'x'.repeat(100)), 'a.sock')
    mkdirSync(dirname(path), { recursive: true })
    await serve(echo)
    expect(await said(await connected(), 'hello')).toBe('hello')
  })

  test('serves several connections at once', async () => {
    await serve(echo)
    const connections = await Promise.all([connected(), connected(), connected()])
    const heard = await Promise.all(connections.map((connection, index) => said(connection, `${index}`)))
    expect(heard).toEqual(['0', '1', '2'])
  })

  test('replaces the socket of a killed process', async () => {
    const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
    expect(() => execFileSync(process.execPath, ['-e', script], { stdio: 'ignore' })).toThrow()
    expect(statSync(path).isSocket()).toBe(true)
    expect(await connectTo(path)).toBeUndefined()
    await serve(echo)
    expect(await said(await connected(), 'hello')).toBe('hello')
  })

  test('is removed when closed, and its connections are closed', async () => {
    const served = await serve(echo)
    const connection = await connected()
    await said(connection, 'hello')
    const closed = once(connection, 'close')
    served.close()
    await closed
    expect(existsSync(path)).toBe(false)
    expect(await connectTo(path)).toBeUndefined()
  })

  test('does not keep its process alive', () => {
    const built = join(dirname(path), 'serve.cjs')
    execFileSync(
      join(import.meta.dirname, '../../node_modules/.bin/esbuild'),
      [
        join(import.meta.dirname, '../../src/files/socket.ts'),
        '--bundle',
        '--platform=node',
        '--format=cjs',
        '--external:fs-native-extensions',
        '--log-level=error',
        `--outfile=${built}`,
      ],
      { stdio: 'inherit' },
    )
    const script = `require(${JSON.stringify(built)}).serveSocket(${JSON.stringify(path)}, async () => undefined).then(() => console.log('served'))`
    expect(execFileSync(process.execPath, ['-e', script]).toString()).toBe('served\n')
  })

  test('drops a connection whose handler fails, and serves others', async () => {
    let isBroken = true
    await serve(async (connection) => {
      if (!isBroken) return echo(connection)
      isBroken = false
      throw new Error('not this one')
    })
    const first = await connected()
    await once(first.resume(), 'close')
    expect(await said(await connected(), 'hello')).toBe('hello')
  })

  test('survives a client that disconnects midway', async () => {
    await serve(async (connection) => void connection.resume())
    const connection = await connected()
    connection.write('half a w')
    connection.destroy()
    const other = await connected()
    other.end()
    await once(other.resume(), 'close')
  })
})

describe('connecting finds no server', () => {
  test('if there is no socket, no directory, or another file of that name', async () => {
    expect(await connectTo(path)).toBeUndefined()
    expect(await connectTo(join(dirname(path), 'missing', 'a.sock'))).toBeUndefined()
    writeFileSync(path, 'a file')
    expect(await connectTo(path)).toBeUndefined()
  })
})

describe.skipIf(process.platform !== 'linux')('no descriptor stays open', () => {
  test('after serving, connecting or finding no server', async () => {
    const before = descriptors()
    for (let round = 0; round < 5; round++) {
      await connectTo(path)
      const served = await serveSocket(path, echo)
      const connection = (await connectTo(path)) as Socket
      await said(connection, 'hello')
      connection.destroy()
      served.close()
    }
    await waitFor(() => descriptors() <= before, 'the descriptors to be closed')
  })

  test('if the socket cannot be served, and nothing listens then', async () => {
    const before = descriptors()
    withFaults(failing('EPERM', ({ point }) => point === 'socket.unlink'))
    await expect(serveSocket(path, echo)).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    withFaults(() => undefined)
    mkdirSync(join(dirname(path), 'taken.sock'))
    await expect(serveSocket(join(dirname(path), 'taken.sock'), echo)).rejects.toThrow()
    expect(await connectTo(path)).toBeUndefined()
    await waitFor(() => descriptors() <= before, 'the descriptors to be closed')
  })
})
