/** Connections of pg to a server on a port. */
import { once } from 'node:events'
import { type AddressInfo, createServer, connect as openTcp, type Server } from 'node:net'
import { TLSSocket } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { newClient } from '../../plugins/store-postgres/src/connection.js'
import { type Certificate, certificate } from '../support/model-server/certificate.js'
import { Postgres, whyNoPostgres } from '../support/postgres.js'

const CHANGE_CIPHER_SPEC = 20
const HANDSHAKE = 22
const CLIENT_HELLO = 1

test.skipIf(whyNoPostgres() !== undefined)(
  'a server with TLS need not ask the client to begin again',
  async () => {
    const server = new Postgres({ hasTls: true })
    onTestFinished(() => server.remove())
    const url = new URL(server.tlsUrl('postgres'))
    const port = Number(url.port)
    let hellos = 0
    const proxy = createServer((client) => {
      const upstream = openTcp(port, '127.0.0.1')
      for (const socket of [client, upstream]) socket.on('error', () => undefined)
      client.on('data', (bytes) => {
        // The second ClientHello comes after such a record, which has 6 bytes.
        const at = bytes[0] === CHANGE_CIPHER_SPEC ? 6 : 0
        if (bytes[at] === HANDSHAKE && bytes[at + 5] === CLIENT_HELLO) hellos += 1
      })
      client.pipe(upstream).pipe(client)
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void proxy.close())
    url.port = `${(proxy.address() as AddressInfo).port}`
    const pg = newClient(url.href, undefined)
    await pg.connect()
    const { rows } = await pg.query('select ssl from pg_stat_ssl where pid = pg_backend_pid()')
    await pg.end()
    expect(rows).toEqual([{ ssl: true }])
    expect(hellos).toBe(1)
  },
)

/** Those that OpenSSL offers by itself. Since 3.5 they are fewer and have a name, and there is one against quantum computers. */
const [major = 0, minor = 0] = process.versions.openssl.split('.').map((part) => Number.parseInt(part, 10))
const isNamed = major > 3 || (major === 3 && minor >= 5)
const BY_VERSION = isNamed ? ['X25519MLKEM768'] : ['ffdhe4096', 'ffdhe6144', 'ffdhe8192']
const CURVES = ['prime256v1', 'X25519', 'secp384r1', 'secp521r1', 'X448']
const GROUPS = [...CURVES, 'ffdhe2048', 'ffdhe3072', ...BY_VERSION]
const servers = GROUPS.flatMap((group) => (certificate === undefined ? [] : [{ group, certificate }]))

test.each(servers)('a server that takes only the group $group is reached', async ({ group, certificate }) => {
  const server = serverTaking(group, certificate)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const pg = newClient(
    `postgres://me@127.0.0.1:${port}/home?sslmode=verify-full&sslrootcert=${certificate.file}`,
    '',
  )
  const connected = pg.connect().catch((error: Error) => error.message)
  const [[answer]] = await Promise.all([once(server, 'answered'), connected])
  expect(answer).toBe('TLSv1.3')
})

/** Agrees to TLS, as PostgreSQL does, and hangs up after the handshake. */
function serverTaking(group: string, { key, cert }: Certificate): Server {
  const server = createServer((client) => {
    client.on('error', () => undefined)
    client.once('data', () => {
      client.write('S')
      const tls = new TLSSocket(client, { isServer: true, key, cert, ecdhCurve: group })
      tls.on('error', ({ message }) => server.emit('answered', message))
      tls.once('data', () => {
        server.emit('answered', tls.getProtocol())
        tls.destroy()
      })
    })
  })
  return server
}
