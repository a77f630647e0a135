/** A connection that leaves this machine is encrypted, and its server is known by its certificate. */
interface Errors {
  SubstratError: new (code: 'HOME_EXPOSED', message: string, details: { hint: string }) => Error
}

export function assertSafe({ SubstratError }: Errors, url: string): void {
  const { hosts, sslmode } = targetOf(url)
  const host = hosts.find((each) => !isHere(each))
  if (host === undefined || sslmode === 'verify-full' || process.env.SUBSTRAT_INSECURE === '1') return
  throw new SubstratError(
    'HOME_EXPOSED',
    `the connection to ${host} would not be safe: its sslmode is not verify-full`,
    {
      hint: 'add ?sslmode=verify-full to the URL, or set SUBSTRAT_INSECURE=1 on a network that you trust',
    },
  )
}

function isHere(host: string): boolean {
  return host === '' || host.startsWith('/') || /^(localhost|127\.[\d.]+|\[?::1\]?)$/i.test(host)
}

/** As pg reads them: of a parameter that is given twice the last counts, and without a host PGHOST names it. */
function targetOf(url: string): { hosts: string[]; sslmode: string | undefined } {
  const [, authority = '', query = ''] = /^[a-z]+:\/\/(?:[^@/?#]*@)?([^/?#]*)[^?]*\??(.*)$/.exec(url) ?? []
  const parameters = new URLSearchParams(query)
  const last = (name: string): string | undefined => parameters.getAll(name).at(-1)
  const inUrl = authority.split(',').map((each) => decodeURIComponent(each.replace(/:\d+$/, '')))
  const named = [...(last('host')?.split(',') ?? []), ...inUrl].filter((host) => host !== '')
  return { hosts: named.length > 0 ? named : [process.env.PGHOST || ''], sslmode: last('sslmode') }
}
