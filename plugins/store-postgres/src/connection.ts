/** Connects to the database of a URL. */
import { Client, type ClientConfig } from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import { parserOf } from './values.js'

const CONNECT_MS_MAX = 10_000

/** The URL has no password. Without one, pg looks into the file that PGPASSFILE names, or ~/.pgpass. */
export function newClient(url: string, password: string | undefined): Client {
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
  return client
}
