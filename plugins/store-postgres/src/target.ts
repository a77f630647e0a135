/** How to reach the server of a URL. */
import { existsSync } from 'node:fs'
import ConnectionParameters from 'pg/lib/connection-parameters'
import { passwordFile } from './password-file.js'
import { configOf, needsPrimary, serversOf } from './servers.js'

export interface Target {
  usesTls: boolean
  /** Undefined if pg must make the connection: over TCP, or with an option that is more than a parameter of the server. */
  socket: SocketTarget | undefined
}

export interface SocketTarget {
  path: string
  startup: Record<string, string>
  /** A password is known, so the server may ask for it. */
  mayNeedPassword: boolean
}

const TEXTS = ['user', 'database', 'application_name', 'options'] as const
const NUMBERS = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'] as const

export function targetOf(url: string, password: string | undefined, applicationName = 'substrat'): Target {
  const [first = url, ...others] = serversOf(url)
  const config = configOf(first)
  const given = new ConnectionParameters({
    ...config,
    application_name: config.application_name ?? applicationName,
  })
  const { isDomainSocket, ssl, replication, binary, query_timeout } = given
  const needsOne = others.length > 0 || needsPrimary(url)
  const needsPg = needsOne || !isDomainSocket || ssl || replication || binary || query_timeout
  return { usesTls: Boolean(ssl), socket: needsPg ? undefined : socketTarget(given, password) }
}

function socketTarget(given: ConnectionParameters, password: string | undefined): SocketTarget {
  const startup: Record<string, string> = {}
  for (const name of TEXTS) if (given[name]) startup[name] = `${given[name]}`
  // As pg does: 5s are 5 milliseconds.
  for (const name of NUMBERS) if (given[name]) startup[name] = `${Number.parseInt(`${given[name]}`, 10)}`
  const mayNeedPassword = password !== undefined || existsSync(passwordFile())
  return { path: `${given.host}/.s.PGSQL.${given.port}`, startup, mayNeedPassword }
}
