/**
 * Follows a redirect, or names it.
 *
 * Invariants:
 * - A request, and with it the key, goes only to the host that the user named.
 * - A POST is repeated only if the status says that its method and body stay the same.
 */
import { failure } from '../failure.js'

const REDIRECTS = [301, 302, 303, 307, 308]
const SAME_METHOD = [307, 308]
const HOPS_MAX = 5

export interface Redirected {
  method: 'GET' | 'POST'
  url: URL
  status: number
  location: string | undefined
  target: string
  hops: number
}

/** The next URL; undefined without a redirect. */
export function redirectOf({ method, url, status, location, target, hops }: Redirected): URL | undefined {
  if (!REDIRECTS.includes(status) || location === undefined || !URL.canParse(location, url.href))
    return undefined
  const next = new URL(location, url)
  const isSameHost = next.host === url.host && (next.protocol === url.protocol || next.protocol === 'https:')
  const keepsMethod = method === 'GET' || SAME_METHOD.includes(status)
  if (isSameHost && keepsMethod && hops < HOPS_MAX) return next
  // A query may hold a secret.
  const shown = `${next.origin}${next.pathname}`
  const why =
    hops >= HOPS_MAX
      ? `redirects more than ${HOPS_MAX} times, last to`
      : `answered ${status} and redirects to`
  throw failure(
    'misconfigured',
    `${target} ${why} ${shown}; if that is the API, name it in --option base_url=…`,
  )
}
