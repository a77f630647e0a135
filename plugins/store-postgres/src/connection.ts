/** Connects to the database of a URL. */
import { createSecureContext } from 'node:tls'
import { Client, type ClientConfig } from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import { parserOf } from './values.js'

const CONNECT_MS_MAX = 10_000

/**
 * The URL has no password. Without one, pg looks into the file that PGPASSFILE names, or ~/.pgpass. `prepare` gets the client before
 * it connects. Throws what pg throws.
 */
export async function connect(
  url: string,
  password: string | undefined,
  prepare: (client: Client) => void = () => undefined,
): Promise<Client> {
  const config = parseIntoClientConfig(url) as ClientConfig
  const client = new Client({
    ...config,
    ...(password === undefined ? {} : { password }),
    application_name: 'substrat',
    connectionTimeoutMillis: CONNECT_MS_MAX,
    keepAlive: true,
    types: { getTypeParser: parserOf as NonNullable<ClientConfig['types']>['getTypeParser'] },
  })
  // Also raised while no statement runs. The next statement then fails.
  client.on('error', () => undefined)
  prepare(client)
  try {
    await Promise.all([client.connect(), prepareTls(config.ssl)])
    return client
  } catch (error) {
    void client.end().catch(() => undefined)
    throw error
  }
}

/** Takes up to 40 ms. Meanwhile the server answers, and starts a process for the connection. */
async function prepareTls(ssl: ClientConfig['ssl']): Promise<void> {
  if (typeof ssl === 'object') ssl.secureContext = createSecureContext(ssl)
}
