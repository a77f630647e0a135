/** Connects to the database of a URL. */
import type { EventEmitter } from 'node:events'
import { Socket } from 'node:net'
import { type ConnectionOptions, createSecureContext } from 'node:tls'
import { Client, type ClientConfig } from 'pg'
import { type Login, passwordFor } from './password-file.js'
import { configOf, needsPrimary, serversOf } from './servers.js'
import { parserOf } from './values.js'

export const CONNECT_MS_MAX = 10_000
/**
 * A server before PostgreSQL 18 takes only the first group, and asks a client that begins with another one to begin again. The others
 * are the defaults of OpenSSL, which has a name for them since 3.5.
 */
const GROUPS = isSince(process.versions.openssl, 3, 5)
  ? 'prime256v1:DEFAULT'
  : 'prime256v1:X25519:secp384r1:secp521r1:X448:ffdhe2048:ffdhe3072:ffdhe4096:ffdhe6144:ffdhe8192'

export interface Access {
  /** It has no password. */
  url: string
  /** Undefined: a password file may have one. */
  password: string | undefined
  applicationName: string
}

/** Connects to the first server of the URL that can be used. Throws why the last one cannot. */
export async function connectTo({ url, password, applicationName }: Access): Promise<Client> {
  let why: unknown
  for (const server of serversOf(url)) {
    const client = newClient(server, password, applicationName)
    const isWritable = writableState(client)
    try {
      await client.connect()
      if (!needsPrimary(url) || isWritable()) return client
      throw NO_PRIMARY
    } catch (error) {
      // A server that is there says more than one that is not.
      why = why === undefined || 'severity' in (error as object) ? error : why
    }
    void client.end().catch(() => undefined)
  }
  throw why
}

/** Like a server that starts: one of them may be promoted soon. */
const NO_PRIMARY = Object.assign(new Error('none of the servers in the URL accepts changes'), {
  code: '57P03',
  severity: 'FATAL',
})

/** Every server says at the connection whether it is a standby, and whether its transactions are read only. */
function writableState(client: Client): () => boolean {
  const reported = new Map<string, string>()
  const { connection } = client as unknown as { connection: EventEmitter }
  connection.on('parameterStatus', ({ parameterName, parameterValue }) =>
    reported.set(parameterName, parameterValue),
  )
  return () =>
    reported.get('in_hot_standby') !== 'on' && reported.get('default_transaction_read_only') !== 'on'
}

/** The URL names one server. */
export function newClient(url: string, password: string | undefined, applicationName = 'substrat'): Client {
  const config = configOf(url)
  const client: Client = new Client({
    ...config,
    password: password ?? (() => passwordFor(loginOf(client))),
    application_name: config.application_name ?? applicationName,
    connectionTimeoutMillis: CONNECT_MS_MAX,
    keepAlive: true,
    stream: () => socketFor(config.ssl),
    types: { getTypeParser: parserOf as NonNullable<ClientConfig['types']>['getTypeParser'] },
  })
  // Also raised while no statement runs. The next statement then fails.
  client.on('error', () => undefined)
  return client
}

function loginOf({ host, port, database = '', user = '' }: Client): Login {
  return { host, port, database, user }
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
