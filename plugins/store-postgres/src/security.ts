/** A connection that leaves this machine is encrypted, and its server is known by its certificate. */
interface Errors {
  SubstratError: new (code: 'HOME_EXPOSED', message: string, details: { hint: string }) => Error
}

export function assertSafe({ SubstratError }: Errors, url: string): void {
  const [, authority = '', query = ''] = /^[a-z]+:\/\/(?:[^@/?#]*@)?([^/?#]*)[^?]*\??(.*)$/.exec(url) ?? []
  const parameters = new URLSearchParams(query)
  const host = parameters.get('host') ?? authority.replace(/:\d+$/, '')
  const isHere =
    host === '' || host.startsWith('/') || /^(localhost|127\.[\d.]+|\[?::1\]?|%2F.*)$/i.test(host)
  if (isHere || parameters.get('sslmode') === 'verify-full' || process.env.SUBSTRAT_INSECURE === '1') return
  throw new SubstratError(
    'HOME_EXPOSED',
    `the connection to ${host} would not be safe: its sslmode is not verify-full`,
    {
      hint: 'add ?sslmode=verify-full to the URL, or set SUBSTRAT_INSECURE=1 on a network that you trust',
    },
  )
}
