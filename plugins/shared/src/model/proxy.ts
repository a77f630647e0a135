/**
 * Selects the proxy of a request from the variables that curl also reads: `https_proxy`, `http_proxy`, `all_proxy`
 * and `no_proxy`, each also in capitals (lower case wins). Loopback addresses never use a proxy: a local model must
 * stay reachable behind a company's proxy.
 */
import { BlockList, isIP } from 'node:net'

export type Environment = Record<string, string | undefined>

/** Undefined without a proxy. Throws an error with a message for the user if the variable is invalid. */
export function proxyFor(url: URL, environment: Environment): URL | undefined {
  const [name, value] = proxyVariable(url, environment)
  if (value === '' || isExempt(url, variable('no_proxy', environment))) return undefined
  const text = value.includes('://') ? value : `http://${value}`
  if (!URL.canParse(text)) throw new Error(`${name} is not a valid proxy URL`)
  const proxy = new URL(text)
  if (proxy.protocol !== 'http:' && proxy.protocol !== 'https:') {
    throw new Error(`${name} names a ${proxy.protocol}// proxy, but only http:// and https:// are supported`)
  }
  return proxy
}

/** The value of `Proxy-Authorization`; undefined if the proxy's URL has no user. */
export function proxyAuthorization(proxy: URL): string | undefined {
  if (proxy.username === '' && proxy.password === '') return undefined
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
  return `Basic ${Buffer.from(credentials).toString('base64')}`
}

function proxyVariable(url: URL, environment: Environment): [name: string, value: string] {
  const own = url.protocol === 'https:' ? 'https_proxy' : 'http_proxy'
  const value = variable(own, environment)
  return value === '' ? ['ALL_PROXY', variable('all_proxy', environment)] : [own.toUpperCase(), value]
}

function variable(name: string, environment: Environment): string {
  return (environment[name] || environment[name.toUpperCase()] || '').trim()
}

function isExempt(url: URL, noProxy: string): boolean {
  const host = bareHost(url)
  if (
    host === 'localhost' ||
    host.endsWith('.localhost') ||
    inSubnet(host, '127.0.0.0/8') ||
    host === '::1'
  ) {
    return true
  }
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => entry !== '' && matches(entry, host, port))
}

/** An entry is `*`, a host with its subdomains, an address or a subnet. A host can have a port. */
function matches(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true
  if (isIP(entry) !== 0 || entry.includes('/')) return entry === host || inSubnet(host, entry)
  const [, name = '', onlyPort] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(entry) ?? []
  if (onlyPort !== undefined && onlyPort !== port) return false
  const domain = name.replace(/^\*?\./, '')
  return host === domain || host.endsWith(`.${domain}`)
}

function inSubnet(host: string, subnet: string): boolean {
  const [address = '', prefix] = subnet.split('/')
  const family = isIP(address)
  const bits = Number(prefix)
  if (family === 0 || isIP(host) !== family || !(bits >= 0 && bits <= (family === 4 ? 32 : 128))) return false
  const list = new BlockList()
  const kind = family === 4 ? 'ipv4' : 'ipv6'
  list.addSubnet(address, bits, kind)
  return list.check(host, kind)
}

/** The host name, without the brackets of an IPv6 address. */
export function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').toLowerCase()
}
