/**
 * The named tokens, as a server that runs sees them: the list on disk counts at each request, and a revoked token ends its open
 * requests. A list that cannot be trusted allows nothing.
 */
import { setMaxListeners } from 'node:events'
import { FaceError } from '../../shared/src/face/face-error.js'
import type { NamedToken } from './core.js'
import { Refusal } from './problem.js'

/** Open requests learn of a revocation after at most this time. */
const LOOK_MS = 250

interface Held {
  token: NamedToken
  requests: number
  revoked: AbortController
}

export class NamedTokens {
  /** The tokens of open requests, by hash. */
  private readonly held = new Map<string, Held>()
  private timer: NodeJS.Timeout | undefined
  private noted: string | undefined

  /** `read`: the tokens by hash, as they are now. `note`: tells the operator. */
  constructor(
    private readonly read: () => ReadonlyMap<string, NamedToken>,
    private readonly note: (text: string) => void,
  ) {}

  /** Undefined for an unknown hash. Throws if the list cannot be used. */
  find(sha256: string): NamedToken | undefined {
    return this.current().get(sha256)
  }

  /** An open request of the token. The signal is aborted, with the reason, once the token is no longer in the list. */
  hold(token: NamedToken): { revoked: AbortSignal; release(): void } {
    const held = this.held.get(token.sha256) ?? { token, requests: 0, revoked: new AbortController() }
    // Each open request and stream listens.
    setMaxListeners(0, held.revoked.signal)
    held.requests += 1
    this.held.set(token.sha256, held)
    this.schedule()
    let isOpen = true
    const release = (): void => {
      if (!isOpen) return
      isOpen = false
      held.requests -= 1
      if (held.requests === 0 && this.held.get(token.sha256) === held) this.held.delete(token.sha256)
    }
    return { revoked: held.revoked.signal, release }
  }

  private schedule(): void {
    this.timer ??= setTimeout(() => this.look(), LOOK_MS).unref()
  }

  private look(): void {
    this.timer = undefined
    for (const held of [...this.held.values()]) {
      const reason = this.whyNot(held.token)
      if (reason === undefined) continue
      this.held.delete(held.token.sha256)
      held.revoked.abort(reason)
    }
    if (this.held.size > 0) this.schedule()
  }

  /** Undefined if the token is valid. */
  private whyNot({ name, sha256 }: NamedToken): unknown {
    try {
      return this.find(sha256) === undefined ? revoked(name) : undefined
    } catch (error) {
      return error
    }
  }

  /** Strangers can send a wrong token, so only the operator sees the path of the list. */
  private current(): ReadonlyMap<string, NamedToken> {
    try {
      const tokens = this.read()
      this.noted = undefined
      return tokens
    } catch (error) {
      const { code, message, hint } = Object(error) as FaceError
      const text = `${message}${hint == null ? '' : ` (${hint})`}`
      if (text !== this.noted) this.note(text)
      this.noted = text
      throw FaceError.of({
        code,
        message: 'the server cannot check this token: its list of named tokens cannot be used',
        hint: 'see why: substrat serve token list',
      })
    }
  }
}

export function revoked(name: string): Refusal {
  return new Refusal(
    'UNAUTHORIZED',
    `the token ${name} was revoked`,
    'ask the operator of the server for a new link or token',
  )
}
