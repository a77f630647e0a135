/** Connections of pg to a server on a port. */
import { type AddressInfo, createServer, connect as openTcp } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { newClient } from '../../plugins/store-postgres/src/connection.js'
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
