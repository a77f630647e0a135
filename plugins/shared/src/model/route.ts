/**
 * Routes a request to its host: directly on a kept connection, through a proxy as an absolute-form request (http), or
 * through a proxy's tunnel (https). The build loads `node:https` and `node:tls` only if needed: they take 15 ms.
 */
import { readFileSync } from 'node:fs'
import { Agent, type ClientRequest, request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest, Agent as SecureAgent } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { failure } from '../failure.js'
import { bareHost, type Environment, proxyAuthorization, proxyFor } from './proxy.js'

export interface Route {
  /** The host in messages, with the proxy but without its credentials. */
  target: string
  /** The proxy on the way. */
  proxy?: string
  open(options: RequestOptions): ClientRequest
}

export interface RouteOptions {
  environment: Environment
  signal: AbortSignal
  /** False: use a new connection. */
  reuse: boolean
}

let agent: Agent | undefined
let secureAgent: SecureAgent | undefined

export async function routeTo(url: URL, options: RouteOptions): Promise<Route> {
  const proxy = proxyOf(url, options.environment)
  if (proxy !== undefined) {
    const target = `${url.host} (through the proxy ${proxy.host})`
    return {
      target,
      proxy: proxy.host,
      open: await (url.protocol === 'https:' ? tunnelRoute : forwardRoute)(url, proxy, target, options),
    }
  }
  const kept = options.reuse ? {} : { agent: false as const }
  if (url.protocol === 'http:') {
    agent ??= new Agent({ keepAlive: true })
    return { target: url.host, open: (request) => httpRequest(url, { agent, ...request, ...kept }) }
  }
  secureAgent ??= new SecureAgent({ keepAlive: true })
  const trust = { agent: secureAgent, ...trustedRoots(options.environment) }
  return { target: url.host, open: (request) => httpsRequest(url, { ...trust, ...request, ...kept }) }
}

export function proxyOf(url: URL, environment: Environment): URL | undefined {
  try {
    return proxyFor(url, environment)
  } catch (error) {
    throw failure('misconfigured', (error as Error).message)
  }
}

async function forwardRoute(
  url: URL,
  proxy: URL,
  _target: string,
  { environment }: RouteOptions,
): Promise<Route['open']> {
  const request = requestOf(proxy, environment)
  return (options) =>
    request({
      ...options,
      path: url.href,
      headers: { ...options.headers, host: url.host, ...authorization(proxy) },
    })
}

async function tunnelRoute(
  url: URL,
  proxy: URL,
  target: string,
  options: RouteOptions,
): Promise<Route['open']> {
  // The tunnel comes last, because an abort cannot close it before its request begins.
  const socket = await openTunnel(url, proxy, target, options)
  const host = bareHost(url)
  const createConnection = (): Socket =>
    connectSecurely({
      socket,
      host,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...trustedRoots(options.environment),
    })
  return (request) => httpsRequest(url, { ...request, createConnection })
}

async function openTunnel(url: URL, proxy: URL, target: string, options: RouteOptions): Promise<Socket> {
  const open = requestOf(proxy, options.environment)
  const authority = `${url.hostname}:${url.port || 443}`
  return new Promise((resolve, reject) => {
    const request = open({
      method: 'CONNECT',
      path: authority,
      headers: { host: authority, ...authorization(proxy) },
      signal: options.signal,
    })
    request.once('connect', ({ statusCode = 0 }, socket) => {
      if (statusCode >= 200 && statusCode < 300) return resolve(socket)
      socket.destroy()
      reject(refusedByProxy(statusCode, target))
    })
    request.once('response', (response) => {
      response.destroy()
      reject(refusedByProxy(response.statusCode ?? 0, target))
    })
    request.once('error', (error) =>
      reject(isUnconnected(error) ? unreachableProxy(error, url.host, proxy.host) : error),
    )
    request.end()
  })
}

const UNCONNECTED = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT']

/** Whether the other end was never reached. */
export function isUnconnected(error: unknown): boolean {
  return UNCONNECTED.includes((error as NodeJS.ErrnoException | null)?.code ?? '')
}

export function unreachableProxy(error: unknown, host: string, proxy: string): Error {
  const { code } = error as NodeJS.ErrnoException
  const sentence = `the proxy ${proxy}, on the way to ${host}, cannot be reached (${code})`
  return Object.assign(failure('unreachable', sentence), { cause: error })
}

export function refusedByProxy(status: number, target: string): Error {
  return status === 407
    ? failure('misconfigured', `${target}: the proxy requires a user and password; add them to its URL`)
    : failure('unreachable', `${target}: the proxy answered ${status}`)
}

/** Returns the function that sends requests to the proxy itself. */
function requestOf(proxy: URL, environment: Environment): (options: RequestOptions) => ClientRequest {
  const address = { hostname: bareHost(proxy), port: proxy.port || undefined, agent: false as const }
  if (proxy.protocol === 'http:') return (options) => httpRequest({ ...options, ...address })
  return (options) => httpsRequest({ ...options, ...address, ...trustedRoots(environment) })
}

function authorization(proxy: URL): Record<string, string> {
  const value = proxyAuthorization(proxy)
  return value === undefined ? {} : { 'proxy-authorization': value }
}

/**
 * `SSL_CERT_FILE` replaces Node's root certificates, as with OpenSSL. Node adds `NODE_EXTRA_CA_CERTS` only to its own
 * roots, so it is added here.
 */
function trustedRoots(environment: Environment): { ca?: string[] } {
  const { SSL_CERT_FILE: file, NODE_EXTRA_CA_CERTS: extra } = environment
  if (!file) return {}
  return {
    ca: [certificates('SSL_CERT_FILE', file), ...(extra ? [certificates('NODE_EXTRA_CA_CERTS', extra)] : [])],
  }
}

function certificates(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw failure('misconfigured', `${name}: ${(error as Error).message}`)
  }
}
