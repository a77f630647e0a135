/** The servers of a URL. It may name several, as in postgres://one,two:5433/DATABASE?target_session_attrs=read-write. */
import { userInfo } from 'node:os'
import type { ClientConfig } from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'

const PARTS = /^([a-z][a-z0-9+.-]*:\/\/(?:[^@/?#]*@)?)([^/?#]*)([^?#]*)(?:\?([^#]*))?/

/** One URL for each server, in the order of the URL. */
export function serversOf(url: string): string[] {
  const [, begin = '', authority = '', path = '', query = ''] = PARTS.exec(url) ?? []
  const parameters = new URLSearchParams(query)
  const [hosts, ports] = [lastOf(parameters, 'host'), lastOf(parameters, 'port')].map((text) =>
    text?.split(','),
  )
  const authorities = authority.split(',')
  const count = Math.max(authorities.length, hosts?.length ?? 1)
  if (count === 1) return [url]
  return Array.from({ length: count }, (_, at) => {
    const own = new URLSearchParams(query)
    for (const [name, values] of [['host', hosts] as const, ['port', ports] as const])
      if (values !== undefined) own.set(name, values[at] ?? values[0] ?? '')
    return `${begin}${authorities[at] ?? authorities[0]}${path}?${own}`
  })
}

/** Whether the server must accept writes. Throws for the other values: each command may write. */
export function needsPrimary(url: string): boolean {
  const wanted = lastOf(new URLSearchParams(PARTS.exec(url)?.[4] ?? ''), 'target_session_attrs')
  if (wanted === undefined || wanted === 'any') return false
  if (wanted === 'read-write' || wanted === 'primary') return true
  throw new Error(`target_session_attrs=${wanted} is not supported; use read-write, primary or any`)
}

/** The parameters of one server. */
export function configOf(url: string): ClientConfig {
  // pg treats these as verify-full, and warns of it at each command.
  const strict = url.replace(/(?<=[?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, 'verify-full')
  const config = parseIntoClientConfig(strict) as ClientConfig
  return { ...config, user: config.user || process.env.PGUSER || process.env.USER || ownName() }
}

function lastOf(parameters: URLSearchParams, name: string): string | undefined {
  return parameters.getAll(name).at(-1) || undefined
}

/** The user of the process, as psql has it. The environment of a service may lack USER. */
function ownName(): string | undefined {
  try {
    return userInfo().username
  } catch {
    return undefined
  }
}
