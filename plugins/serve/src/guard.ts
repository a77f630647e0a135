/** The checks that every request passes before anything is read. */

import { createHash, timingSafeEqual } from 'node:crypto'
import { FaceError } from '../../shared/src/face/face-error.js'
import type { Scope } from './core.js'
import { type NamedTokens, revoked } from './named-tokens.js'
import { Refusal } from './problem.js'
import { findAgent, type Server } from './server.js'

/** The holder of a token of the server. */
export interface Bearer {
  /** `operator` for the token that the server made itself. */
  name: string
  /** The beginning of its hash. */
  id: string
  may: Scope
  /** Null for the operator's token. */
  created_at: string | null
  /** Aborted, with the reason, once the token is revoked. Undefined for the operator's token, which lasts as long as the server. */
  revoked: AbortSignal | undefined
  /** Throws if the token was revoked since its request came. */
  check(): void
  /** The request has ended. */
  release(): void
}

const noop = (): void => undefined

/** Enough to tell apart the tokens that once had the same name. */
const ID_DIGITS = 16

export class Guard {
  private readonly digest: Buffer
  private readonly operator: Bearer

  constructor(
    token: string,
    private readonly named: NamedTokens,
    /** The values of Host that name this server. Undefined for a unix socket, which no web page can reach. */
    private readonly hosts: ReadonlySet<string> | undefined,
  ) {
    this.digest = digestOf(token)
    this.operator = {
      name: 'operator',
      id: this.digest.toString('hex').slice(0, ID_DIGITS),
      may: 'all',
      created_at: null,
      revoked: undefined,
      check: noop,
      release: noop,
    }
  }

  /**
   * A page of another site can make a browser send requests here, also under a name that its own DNS server points at the
   * loopback (DNS rebinding). Host then has that name, and Origin names that site.
   */
  checkAddress(request: Request): void {
    if (this.hosts === undefined) return
    const host = (request.headers.get('host') ?? '').toLowerCase()
    if (!this.hosts.has(host))
      throw new Refusal(
        'HOST_REFUSED',
        `this server is not ${JSON.stringify(host.slice(0, 200))}`,
        'use the address that the server printed, or start it with --allow-host NAME',
      )
    const origin = request.headers.get('origin')
    if (origin === null) return
    if (origin !== `http://${host}` && origin !== `https://${host}`)
      throw new Refusal(
        'ORIGIN_REFUSED',
        `pages of ${origin.slice(0, 200)} may not use this server`,
        'open the address that the server printed',
      )
  }

  /**
   * Throws UNAUTHORIZED. The comparison with the operator's token takes the same time for every wrong token. A named one is looked up
   * by its hash: the time of that could tell only hashes, whose beginnings cannot be chosen.
   */
  checkToken(request: Request): Bearer {
    const given = bearerOf(request)
    const next = 'send the header Authorization: Bearer TOKEN; the token is in the file that the server named'
    if (given === undefined) throw new Refusal('UNAUTHORIZED', 'the request has no token', next)
    const digest = digestOf(given)
    return timingSafeEqual(digest, this.digest)
      ? this.operator
      : this.namedBearer(digest.toString('hex'), next)
  }

  private namedBearer(sha256: string, next: string): Bearer {
    const token = this.named.find(sha256)
    if (token === undefined)
      throw new Refusal(
        'UNAUTHORIZED',
        'the server does not accept this token: it was replaced or revoked, or is of another home',
        next,
      )
    const { name, may, created_at } = token
    const { revoked: signal, release } = this.named.hold(token)
    const check = (): void => {
      if (this.named.find(sha256) === undefined) throw revoked(name)
    }
    return { name, id: sha256.slice(0, ID_DIGITS), may, created_at, revoked: signal, check, release }
  }
}

/** The length of a token of the server in base64url. One in 262,144 begins as a resume token does. */
const TOKEN_CHARACTERS = 43

/** The bearer token, if it has the form of a resume token. */
export function resumeTokenOf(request: Request): string | undefined {
  const given = bearerOf(request)
  return given?.startsWith('st_') === true && given.length !== TOKEN_CHARACTERS ? given : undefined
}

/**
 * Throws TOKEN_FOREIGN. A resume token decides about one turn of its agent, and tells its holder nothing else: the answer is the same
 * for an agent that does not exist. Only a genuine token makes the server read a body or start a command.
 */
export function checkResumeToken(server: Server, agent: string, token: string): void {
  if (isGenuine(server, agent, token)) return
  throw FaceError.of({
    code: 'TOKEN_FOREIGN',
    message: 'the token is not for this agent',
    hint: 'use the agent and the token of one wait',
  })
}

function isGenuine(server: Server, agent: string, token: string): boolean {
  try {
    const { store, agentId } = findAgent(server, agent)
    return server.core.hasToken(store, agentId, token)
  } catch (error) {
    const { code } = Object(error) as { code?: string }
    if (code === 'AGENT_NOT_FOUND' || code === 'AGENT_AMBIGUOUS') return false
    throw error
  }
}

function bearerOf(request: Request): string | undefined {
  return /^bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
