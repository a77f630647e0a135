/** Connects to the database of a URL. */
import { Socket } from 'node:net'
import { type ConnectionOptions, createSecureContext } from 'node:tls'
import { Client, type ClientConfig } from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import { parserOf } from './values.js'

const CONNECT_MS_MAX = 10_000
/**
 * A server before PostgreSQL 18 takes only the first group, and asks a client that begins with another one to begin again. The others
 * are the defaults of OpenSSL, which has a name for them since 3.5.
 */
const GROUPS = isSince(process.versions.openssl, 3, 5)
  ? 'prime256v1:DEFAULT'
  : 'prime256v1:X25519:secp384r1:secp521r1:X448:ffdhe2048:ffdhe3072:ffdhe4096:ffdhe6144:ffdhe8192'

/** The URL has no password. Without one, pg looks into the file that PGPASSFILE names, or ~/.pgpass. */
export function newClient(url: string, password: string | undefined): Client {
  const config = parseIntoClientConfig(url) as ClientConfig
  const client = new Client({
    ...config,
    ...(password === undefined ? {} : { password }),
    application_name: 'substrat',
    connectionTimeoutMillis: CONNECT_MS_MAX,
    keepAlive: true,
    stream: () => socketFor(config.ssl),
    types: { getTypeParser: parserOf as NonNullable<ClientConfig['types']>['getTypeParser'] },
  })
  // Also raised while no statement runs. The next statement then fails.
  client.on('error', () => undefined)
  return client
}

/** Makes the context for TLS, in up to 40 ms, while the server starts a process for the connection. */
function socketFor(ssl: ClientConfig['ssl']): Socket {
  const socket = new Socket()
  // First pg's own listener asks the server for TLS.
  if (typeof ssl === 'object') socket.once('connect', () => process.nextTick(prepareTls, ssl))
  return socket
}

function prepareTls(ssl: ConnectionOptions): void {
  try {
    ssl.secureContext = createSecureContext({ ecdhCurve: GROUPS, ...ssl })
  } catch {
    // pg makes it again, and reports the error.
  }
}

function isSince(version: string, major: number, minor: number): boolean {
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  return ownMajor > major || (ownMajor === major && ownMinor >= minor)
}
