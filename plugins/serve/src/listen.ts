/** Opens the socket: on an address, or one that systemd or another parent passed on. */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { createServer, type Server as HttpServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type Address, addressOf, isLocal, listenOptions } from './address.js'
import { StartError } from './start-error.js'

export interface Security {
  /** Files in PEM. Both or none. */
  tlsCert: string | undefined
  tlsKey: string | undefined
  /** Whether an address that other machines can reach needs no TLS. */
  isInsecure: boolean
}

/**
 * Node's own limits, stated here because the server relies on them. On a busy machine, the server itself may take seconds to read
 * headers that have arrived.
 */
const LIMITS = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 30_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 15_000,
  connectionsCheckingInterval: 5000,
}
const CONNECTIONS_MAX = 1024

/** Throws if it may not listen there. Nothing is open yet. */
export function serverFor(wanted: Address, security: Security, limits = LIMITS): HttpServer {
  if (wanted.kind === 'fd') checkPassedOn(wanted.fd)
  checkReach(wanted, security)
  const http =
    security.tlsCert === undefined
      ? createServer(limits)
      : createSecureServer({ ...limits, ...certificateOf(security) })
  http.maxConnections = CONNECTIONS_MAX
  return http
}

/** Returns the address of the socket. The caller adds the listener for requests at once. */
export async function listen(http: HttpServer, wanted: Address, security: Security): Promise<Address> {
  await open(http, await listenOptions(wanted))
  const address = addressOf(http.address(), wanted)
  try {
    checkReach(address, security)
  } catch (error) {
    http.close()
    throw error
  }
  return address
}

function checkReach(address: Address, { tlsCert, isInsecure }: Security): void {
  if (isLocal(address) || tlsCert !== undefined || isInsecure) return
  throw new StartError(
    'USAGE',
    `${address.kind === 'tcp' ? address.host : 'the address'} can be reached by other machines, and the token would cross the network in clear text`,
    'forward a local address with ssh -L, give --tls-cert and --tls-key, or add --insecure',
  )
}

function certificateOf({ tlsCert, tlsKey }: Security): { cert: Buffer; key: Buffer } {
  if (tlsCert === undefined || tlsKey === undefined)
    throw new StartError('USAGE', 'TLS needs a certificate and its key', 'give both --tls-cert and --tls-key')
  return { cert: readPem(tlsCert), key: readKey(tlsKey) }
}

function readPem(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw unreadable(file, error)
  }
}

/** A key that others can read or replace protects nothing. Checked on the open file, so that no other file can take its place. */
function readKey(file: string): Buffer {
  let fd: number
  try {
    fd = openSync(file, 'r')
  } catch (error) {
    throw unreadable(file, error)
  }
  try {
    const { mode, uid } = fstatSync(fd)
    // A key of root may be readable by a group that exists for keys, such as ssl-cert of Debian.
    const foreign = uid === 0 ? 0o037 : 0o077
    if ((mode & foreign) !== 0 || (uid !== 0 && uid !== process.geteuid?.()))
      throw new StartError(
        'HOME_EXPOSED',
        `other users can read or change the private key ${file}`,
        `make it yours alone (chmod 600 ${file}), and get a new key if others may have read it`,
      )
    return readFileSync(fd)
  } catch (error) {
    if (error instanceof StartError) throw error
    throw unreadable(file, error)
  } finally {
    closeSync(fd)
  }
}

function unreadable(file: string, error: unknown): StartError {
  return new StartError('USAGE', `cannot read ${file}: ${(error as Error).message}`, 'name a PEM file')
}

/** The protocol of systemd: LISTEN_PID is the process that the sockets are meant for, and the first of LISTEN_FDS is 3. */
function checkPassedOn(fd: number): void {
  const { LISTEN_PID: pid, LISTEN_FDS: count } = process.env
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete process.env[name]
  const hint = 'let a systemd socket unit start the server, or systemd-socket-activate'
  if (pid !== String(process.pid))
    throw new StartError(
      'USAGE',
      `no socket was passed on to this process: LISTEN_PID is ${pid ?? 'not set'}`,
      hint,
    )
  if (fd < 3 || fd >= 3 + Number(count))
    throw new StartError(
      'USAGE',
      `file descriptor ${fd} is not one of the ${count ?? 0} that were passed on`,
      hint,
    )
}

async function open(http: HttpServer, options: object): Promise<void> {
  // Only the owner may connect to a unix socket.
  const umask = process.umask(0o077)
  try {
    await new Promise<void>((resolve, reject) => {
      http.once('error', reject)
      http.listen(options, () => {
        http.off('error', reject)
        resolve()
      })
    })
  } finally {
    process.umask(umask)
  }
}
