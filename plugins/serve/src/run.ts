/** The life of the server: sweep, listen, serve, stop. */
import { setMaxListeners } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { Commands } from '../../shared/src/face/commands.js'
import { type Address, hostsOf, hostWord, parseAddress } from './address.js'
import { buildApp } from './app.js'
import type { Core, Store } from './core.js'
import { cutConnections } from './cut.js'
import { Feeds } from './events/feeds.js'
import { Guard } from './guard.js'
import { onIdle } from './idle.js'
import { listen, type Security, serverFor } from './listen.js'
import { Metrics } from './metrics/metrics.js'
import { NamedTokens } from './named-tokens.js'
import { Page } from './page.js'
import { ROUTES } from './routes.js'
import type { Server } from './server.js'
import { StartError } from './start-error.js'
import { sweep } from './sweep.js'
import { openToken, type TokenFile } from './token.js'

export interface Settings {
  core: Core
  /** The command line that starts substrat again. */
  command: string[]
  home: string
  version: string
  /** The folder of the page's files. */
  page: string
  listen: string
  allowedHosts: string[]
  isReadOnly: boolean
  isTokenNew: boolean
  security: Security
  /** Without requests for so long, the server ends. Undefined: it does not. */
  idleMs: number | undefined
}

/** Resolves when the server has stopped. */
export async function runServer(settings: Settings): Promise<void> {
  const { core, home, isReadOnly, security } = settings
  const wanted = parseAddress(settings.listen)
  const http = serverFor(wanted, security)
  const open = (): Store | undefined => core.openHome(home)
  const commands = new Commands({
    command: settings.command,
    home,
    environment: open()?.commandEnvironment,
    sign: (actor, words) => core.signedActor(home, actor, words),
    whenDied: 'look at what it has done, then repeat the request with the same Idempotency-Key',
  })
  const stopping = new AbortController()
  // Each open request and stream listens.
  setMaxListeners(0, stopping.signal)
  const metrics = new Metrics(core)
  commands.onStart = (agentId) => metrics.begin(agentId === undefined ? undefined : open(), agentId)
  const feeds = new Feeds(core, open, commands, metrics.onSync)
  const server: Server = { core, home, commands, feeds, metrics, isReadOnly, stopping: stopping.signal }
  const note = (text: string): void => core.stderr.line(`substrat: ${text}`)
  const swept = isReadOnly ? undefined : await sweep(commands)
  if (swept !== undefined) note(swept)
  const address = await listen(http, wanted, security)
  const tokens = tokenFor(http, settings)
  const list = new core.ServeTokensReader(core.serveFile(home, 'tokens.json'))
  const named = new NamedTokens(() => list.current(), note)
  const guard = new Guard(tokens.token, named, hostsOf(address, settings.allowedHosts))
  const app = buildApp(server, guard, {
    routes: ROUTES,
    page: new Page(settings.page),
    version: settings.version,
  })
  http.on('request', getRequestListener(app.fetch, { hostname: 'localhost' }))
  cutConnections(http)
  const { idleMs } = settings
  if (idleMs !== undefined) onIdle(http, commands, idleMs, () => stopping.abort())
  for (const line of announcement(address, security.tlsCert !== undefined, tokens)) note(line)
  await stopped(http, stopping)
}

/**
 * A server that cannot listen makes and replaces no token: the link with a new one would never be printed. No request is read before
 * the caller adds its listener. Throws if the list of named tokens cannot be used.
 */
function tokenFor(http: HttpServer, { core, home, isTokenNew }: Settings): TokenFile {
  try {
    core.readServeTokens(core.serveFile(home, 'tokens.json'))
    return openToken(core.serveFile(home, 'token'), isTokenNew)
  } catch (error) {
    http.close()
    throw error
  }
}

/** The link has the token, so only a person at a terminal gets it. In a pipe it would stay in a journal that others may read. */
function announcement(address: Address, isSecure: boolean, { token, path }: TokenFile): string[] {
  const where = `the token is in ${path}`
  if (address.kind !== 'tcp')
    return [`listening on ${address.kind === 'unix' ? address.path : `file descriptor ${address.fd}`}`, where]
  const place = `${hostWord(address.host)}:${address.port}`
  const link = process.stderr.isTTY
    ? `open ${linkOf(address, isSecure, token)}`
    : `the link with the token: substrat serve --print-link --listen ${place}`
  return [`listening on ${isSecure ? 'https' : 'http'}://${place}`, link, where]
}

function linkOf(address: Address & { kind: 'tcp' }, isSecure: boolean, token: string): string {
  return `${isSecure ? 'https' : 'http'}://${hostWord(address.host)}:${address.port}/#token=${token}`
}

/** The link of a server with the same home and address, whether it runs or not. */
export function pageLink(settings: Pick<Settings, 'core' | 'home' | 'listen' | 'security'>): string {
  const address = parseAddress(settings.listen)
  if (address.kind !== 'tcp' || address.port === 0)
    throw new StartError(
      'USAGE',
      `${settings.listen} has no link: a browser needs an address and a port`,
      'give the address that the server printed: --listen IP:PORT',
    )
  const { token } = openToken(settings.core.serveFile(settings.home, 'token'), false)
  return linkOf(address, settings.security.tlsCert !== undefined, token)
}

const STOP_MS = 1000

/** SIGINT and SIGTERM stop the server at once. Commands that it started continue, and clients come back with their cursor. */
function stopped(http: HttpServer, stopping: AbortController): Promise<void> {
  return new Promise((resolve) => {
    const onSignal = (): void => stopping.abort()
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
    stopping.signal.addEventListener('abort', () => {
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
      http.close(() => resolve())
      http.closeIdleConnections()
      setTimeout(() => http.closeAllConnections(), STOP_MS).unref()
    })
  })
}
