/** A connection that leaves this machine is encrypted, and its server is known by its certificate. */
interface Errors {
  SubstratError: new (code: 'HOME_EXPOSED', message: string, details: { hint: string }) => Error
}

export function assertSafe({ SubstratError }: Errors, url: string): void {
  const { host, sslmode } = targetOf(url)
  const isHere = host === '' || host.startsWith('/') || /^(localhost|127\.[\d.]+|\[?::1\]?)$/i.test(host)
  if (isHere || sslmode === 'verify-full' || process.env.SUBSTRAT_INSECURE === '1') return
  throw new SubstratError(
    'HOME_EXPOSED',
    `the connection to ${host} would not be safe: its sslmode is not verify-full`,
    {
      hint: 'add ?sslmode=verify-full to the URL, or set SUBSTRAT_INSECURE=1 on a network that you trust',
    },
  )
}

/** As pg reads them: of a parameter that is given twice the last counts, and without a host PGHOST names it. */
function targetOf(url: string): { host: string; sslmode: string | undefined } {
  const [, authority = '', query = ''] = /^[a-z]+:\/\/(?:[^@/?#]*@)?([^/?#]*)[^?]*\??(.*)$/.exec(url) ?? []
  const parameters = new URLSearchParams(query)
  const last = (name: string): string | undefined => parameters.getAll(name).at(-1)
  const named = last('host') || decodeURIComponent(authority.replace(/:\d+$/, ''))
  return { host: named || process.env.PGHOST || '', sslmode: last('sslmode') }
}
