/**
 * Decides whether the From field of a mail is authentic, from the Authentication-Results of our own server.
 *
 * Invariants: only the topmost field with the name of our server counts, because our server adds its field above all that came
 * from outside. The Received fields above it are of our servers as well. Without
 * authentication, a From field names no person.
 */
import type { MailSettings } from '../settings.js'
import { domainOf } from './address.js'
import { type AuthenticationResult, authenticationResults } from './authentication-results.js'
import { type Field, withoutComments } from './fields.js'

/** The reason why the address is not authentic. Undefined if it is. */
export function forgeryIn(
  fields: Field[],
  address: string,
  settings: Pick<MailSettings, 'authservId' | 'receivedBy'>,
): string | undefined {
  const { authservId } = settings
  for (const { name, value } of fields) {
    if (name === 'received') {
      const host = receiverIn(value)
      if (!isOurs(host, settings))
        return `no Authentication-Results of ${authservId} are above the Received field of ${host}; if that is your server, add it to received_by`
    }
    if (name !== 'authentication-results') continue
    // A field that cannot be read may be ours.
    const found = authenticationResults(value)
    if (found === undefined) return 'an Authentication-Results field cannot be read'
    if (found.authservId === authservId) return forgeryBy(found.results, address)
  }
  return `no Authentication-Results of ${authservId}`
}

/** `auth`: the sender has logged in to our server. It alone decides then: a user can write the name of another in the domain. */
function forgeryBy(results: AuthenticationResult[], address: string): string | undefined {
  const by = (method: string): AuthenticationResult[] => results.filter((each) => each.method === method)
  const [auth, ...otherLogins] = by('auth')
  if (auth !== undefined) {
    const user = auth.properties.get('smtp.auth')
    const isSender = auth.result === 'pass' && otherLogins.length === 0 && user === address
    return isSender ? undefined : `auth=${auth.result} for ${user ?? 'a user without a name'}`
  }
  const domain = domainOf(address)
  const dmarc = by('dmarc')
  const bad = dmarc.find(
    ({ result, properties }) => result !== 'pass' || properties.get('header.from') !== domain,
  )
  if (bad !== undefined && bad.result !== 'none')
    return `dmarc=${bad.result} for ${bad.properties.get('header.from') ?? 'a domain without a name'}`
  if (dmarc.length > 0 && bad === undefined) return undefined
  const isSigned = by('dkim').some(
    ({ result, properties }) => result === 'pass' && signerOf(properties) === domain,
  )
  return isSigned ? undefined : `neither dmarc=pass nor dkim=pass for ${domain}`
}

function signerOf(properties: Map<string, string>): string | undefined {
  const identity = properties.get('header.i')
  return properties.get('header.d') ?? (identity === undefined ? undefined : domainOf(identity))
}

/** The host that wrote the Received field. */
function receiverIn(value: string): string {
  const [, host] = /(?:^|\s)by\s+(\S+)/i.exec(withoutComments(value) ?? '') ?? []
  return host?.replace(/[.;]+$/, '').toLowerCase() ?? 'a server without a name'
}

/** Servers with the domain of `authserv_id` are ours. */
function isOurs(host: string, { authservId, receivedBy }: Pick<MailSettings, 'authservId' | 'receivedBy'>) {
  const parent = authservId.replace(/^[^.]+\./, '')
  const domain = parent.includes('.') ? parent : authservId
  return host === domain || host.endsWith(`.${domain}`) || receivedBy.some((name) => matches(name, host))
}

function matches(pattern: string, host: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[^\w-]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`).test(host)
}
