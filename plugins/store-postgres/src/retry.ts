/** When a statement that failed is sent again. Each function of the schema recognizes what it has done. */
import type { Failure } from './protocol.js'
import { uptimeMs } from './uptime.js'

/** The server ended the connection or chose this transaction as a victim. */
const TRANSIENT = /^(08...|40001|40P01|57P0[123])$/
const SQLSTATE = /^[0-9A-Z]{5}$/
const PAUSE_MS = 10
const PAUSE_MS_MAX = 500

export interface FailedAttempt {
  /** The server may have executed the statement. */
  wasSent: boolean
  /** Whether this process has had a connection before. */
  hasConnected: boolean
}

export interface Verdict {
  /** The connection is of no further use. */
  isBroken: boolean
  /** Undefined: after the pause, it is sent again. */
  failure: Failure | undefined
  pauseMs: number
}

/** The attempts of one statement. */
export class Attempts {
  private isUnknown = false
  private pauseMs = PAUSE_MS

  /** `untilMs`: the last attempt begins before (`uptimeMs`). */
  constructor(private readonly untilMs: number) {}

  /** Judges an attempt that failed. */
  after(error: unknown, { wasSent, hasConnected }: FailedAttempt): Verdict {
    const { code = '', message } = error as { code?: string; message: string }
    const isFromServer = SQLSTATE.test(code) && 'severity' in (error as object)
    const { pauseMs } = this
    if (isFromServer && !TRANSIENT.test(code))
      return { isBroken: false, failure: { code, message, isUnknown: false }, pauseMs }
    const isBroken = !(isFromServer && code.startsWith('40'))
    this.isUnknown ||= isBroken && wasSent
    const isStarting = code === '57P03'
    const isLast = uptimeMs() >= this.untilMs || !(hasConnected || isStarting)
    this.pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)
    return { isBroken, failure: isLast ? { code, message, isUnknown: this.isUnknown } : undefined, pauseMs }
  }
}

/** The error of a statement whose lease ends while its answer is awaited. */
export function noAnswer(): Error {
  return new Error('no answer came before the lease was over')
}
