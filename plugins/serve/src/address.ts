/** Where the server listens: `--listen` as a loopback address, another address, a unix socket, or a socket that was passed on. */
import { existsSync, lstatSync, unlinkSync } from 'node:fs'
import { type AddressInfo, createConnection, isIP, type ListenOptions } from 'node:net'
import { networkInterfaces } from 'node:os'
import { StartError } from './start-error.js'

export type Address =
  | { kind: 'tcp'; host: string; port: number }
  | { kind: 'unix'; path: string }
  | { kind: 'fd'; fd: number }

export const DEFAULT_LISTEN = '127.0.0.1:4777'

export function parseAddress(text: string): Address {
  const unix = /^unix:(\/.+)$/.exec(text)
  if (unix !== null) return { kind: 'unix', path: unix[1] as string }
  const fd = /^fd:(\d+)$/.exec(text)
  if (fd !== null) return { kind: 'fd', fd: Number(fd[1]) }
  const tcp = /^(?:\[([0-9a-f:.]+)\]|([^[\]:]*)):(\d{1,5})$/i.exec(text)
  const host = tcp?.[1] ?? (tcp?.[2] || '127.0.0.1')
  const port = Number(tcp?.[3])
  if (tcp !== null && port < 65_536 && (isIP(host) !== 0 || host === 'localhost'))
    return { kind: 'tcp', host, port }
  throw new StartError(
    'USAGE',
    `${JSON.stringify(text)} is not an address to listen on`,
    `write IP:PORT such as ${DEFAULT_LISTEN}, unix:/PATH, or fd:3`,
  )
}

export function isLocal(address: Address): boolean {
  return address.kind !== 'tcp' || isLoopback(address.host)
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** Removes the socket of a server that died. Throws if another server listens there, or the path is something else. */
export async function listenOptions(address: Address): Promise<ListenOptions & { fd?: number }> {
  if (address.kind === 'tcp') return { host: address.host, port: address.port }
  if (address.kind === 'fd') return { fd: address.fd }
  const { path } = address
  if (existsSync(path)) {
    if (!lstatSync(path).isSocket())
      throw new StartError('USAGE', `${path} exists and is not a socket`, 'name another path')
    if (await answers(path))
      throw new StartError('USAGE', `another server listens on ${path}`, 'name another path')
    unlinkSync(path)
  }
  return { path }
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/** The address of the open socket. One that was passed on can be of either kind. */
export function addressOf(bound: AddressInfo | string | null, wanted: Address): Address {
  if (typeof bound === 'string') return { kind: 'unix', path: bound }
  if (bound === null) return wanted
  const host = wanted.kind === 'tcp' ? wanted.host : bound.address
  return { kind: 'tcp', host, port: bound.port }
}

/** The values of Host that name the server. Undefined for a unix socket. */
export function hostsOf(address: Address, allowed: string[]): Set<string> | undefined {
  if (address.kind !== 'tcp') return undefined
  const names = [...ownNames(address.host), ...allowed.map((name) => name.toLowerCase())]
  // Browsers leave out the port of the scheme.
  return new Set(names.flatMap((name) => [name, `${name}:${address.port}`]))
}

function ownNames(host: string): string[] {
  if (isLoopback(host)) return LOOPBACK_NAMES
  if (host !== '0.0.0.0' && host !== '::') return [hostWord(host)]
  // A rebinding page comes with its own name, never with an address.
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  return [...LOOPBACK_NAMES, ...all.map(({ address }) => hostWord(address))]
}

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]']

export function hostWord(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host
}
