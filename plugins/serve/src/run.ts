/** The life of the server: sweep, listen, serve, stop. */
import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { type Address, hostsOf, hostWord, isLocal, listenOptions, parseAddress } from './address.js'
import { buildApp } from './app.js'
import { Children } from './children.js'
import type { Core } from './core.js'
import { Feeds } from './events/feeds.js'
import { Guard } from './guard.js'
import { Page } from './page.js'
import { ROUTES } from './routes.js'
import type { Server } from './server.js'
import { StartError } from './start-error.js'
import { sweep } from './sweep.js'
import { openToken, type TokenFile, tokenPath } from './token.js'

export interface Settings {
  core: Core
  /** The command line that starts substrat again. */
  command: string[]
  home: string
  version: string
  /** The folder of the page's files. */
  page: string
  stateDirectory: string
  listen: string
  allowedHosts: string[]
  isReadOnly: boolean
  isTokenNew: boolean
}

/** Node's own limits, stated here because the server relies on them. */
const LIMITS = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 15_000,
  connectionsCheckingInterval: 5000,
}
const CONNECTIONS_MAX = 1024

/** Resolves when the server has stopped. */
export async function runServer(settings: Settings): Promise<void> {
  const { core, home, isReadOnly } = settings
  const address = parseAddress(settings.listen)
  if (!isLocal(address))
    throw new StartError(
      'USAGE',
      `${settings.listen} is not an address of this machine alone`,
      'listen on the loopback or a unix socket, and forward it: ssh -L',
    )
  const children = new Children(settings.command, home)
  const stopping = new AbortController()
  const feeds = new Feeds(core, () => core.openHome(home), children)
  const server: Server = { core, home, children, feeds, isReadOnly, stopping: stopping.signal }
  const swept = isReadOnly ? undefined : await sweep(children)
  if (swept !== undefined) note(swept)
  const tokens = openToken(tokenPath(settings.stateDirectory, home), settings.isTokenNew)
  const http = createServer(LIMITS)
  http.maxConnections = CONNECTIONS_MAX
  await listen(http, address)
  const port = (http.address() as AddressInfo | null)?.port ?? 0
  const guard = new Guard(tokens.token, hostsOf(address, port, settings.allowedHosts))
  const app = buildApp(server, guard, {
    routes: ROUTES,
    page: new Page(settings.page),
    version: settings.version,
  })
  http.on('request', getRequestListener(app.fetch, { hostname: 'localhost' }))
  announce(address, port, tokens)
  await stopped(http, stopping)
}

async function listen(http: HttpServer, address: Address): Promise<void> {
  const options = await listenOptions(address)
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

/** The link is the only place where the token is printed, once in its life. */
function announce(address: Address, port: number, { token, path, isNew }: TokenFile): void {
  if (address.kind === 'tcp') {
    const url = `http://${hostWord(address.host)}:${port}`
    note(`listening on ${url}`)
    if (isNew) note(`open ${url}/#token=${token}`)
  } else note(`listening on ${address.kind === 'unix' ? address.path : `file descriptor ${address.fd}`}`)
  note(`the token is in ${path}`)
}

function note(text: string): void {
  process.stderr.write(`substrat: ${text}\n`)
}

const STOP_MS = 1000

/** SIGINT and SIGTERM stop the server at once. Commands that it started continue, and clients come back with their cursor. */
function stopped(http: HttpServer, stopping: AbortController): Promise<void> {
  return new Promise((resolve) => {
    const stop = (): void => {
      process.off('SIGINT', stop).off('SIGTERM', stop)
      stopping.abort()
      http.close(() => resolve())
      http.closeIdleConnections()
      setTimeout(() => http.closeAllConnections(), STOP_MS).unref()
    }
    process.on('SIGINT', stop).on('SIGTERM', stop)
  })
}
