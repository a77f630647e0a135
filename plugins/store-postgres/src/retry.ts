/** When a statement that failed is sent again. Each function of the schema recognizes what it has done. */
import type { Failure, Statement } from './protocol.js'
import { uptimeMs } from './uptime.js'

/** The server ended the connection or chose this transaction as a victim. */
const TRANSIENT = /^(08...|40001|40P01|57P0[123])$/
/** The server has no room for a connection, or no memory or disk, or it starts or stops. It has not executed the statement. */
const FULL = /^(53...|57P03)$/
/** Errors after which the connection can be used. */
const CONNECTED = /^(40...|53[12]..|55P03)$/
/** pgbouncer has one code for all its errors. */
const FULL_POOL = /^(no more connections allowed|query_wait_timeout)/
/** Another transaction has a lock that the statement waited for. */
const LOCKED = '55P03'
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
  /** Until when it is sent again. */
  untilMs: number
}

export type Ends = Pick<Statement, 'untilMs' | 'fullUntilMs' | 'lockUntilMs' | 'diskUntilMs'>

/** The attempts of one statement. */
export class Attempts {
  private isUnknown = false
  private pauseMs = PAUSE_MS

  constructor(private readonly ends: Ends) {}

  /** Judges an attempt that failed. */
  after(error: unknown, { wasSent, hasConnected }: FailedAttempt): Verdict {
    const { code = '', message } = error as { code?: string; message: string }
    const isFromServer = SQLSTATE.test(code) && 'severity' in (error as object)
    const pauseMs = this.nextPauseMs()
    const untilMs = isFromServer ? this.serverUntilMs(code, message) : this.ends.untilMs
    if (untilMs === undefined)
      return { isBroken: false, failure: { code, message, isUnknown: false }, pauseMs, untilMs: 0 }
    const isRefused = isFromServer && isRefusal(code, message)
    const isBroken = !(isFromServer && CONNECTED.test(code))
    this.isUnknown ||= isBroken && wasSent && !isRefused
    const isLast = uptimeMs() >= untilMs || !(hasConnected || isRefused)
    const failure = isLast ? { code, message, isUnknown: this.isUnknown } : undefined
    return { isBroken, failure, pauseMs, untilMs }
  }

  /** Until when an error of the server is waited out. Undefined for any other error. */
  private serverUntilMs(code: string, message: string): number | undefined {
    const { untilMs, fullUntilMs = untilMs, lockUntilMs = untilMs, diskUntilMs = fullUntilMs } = this.ends
    if (code === LOCKED) return lockUntilMs
    if (CONNECTED.test(code) && FULL.test(code)) return diskUntilMs
    if (isRefusal(code, message)) return fullUntilMs
    return TRANSIENT.test(code) ? untilMs : undefined
  }

  /** Commands that were refused at the same moment come back at different ones. */
  private nextPauseMs(): number {
    const { pauseMs } = this
    this.pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)
    return pauseMs * (0.5 + Math.random())
  }
}

/** The server has no room for a connection. */
export function isFull(error: unknown): boolean {
  const { code = '', message } = error as { code?: string; message: string }
  return isRefusal(code, message) && code !== LOCKED
}

/** The server has certainly not executed the statement. */
function isRefusal(code: string, message: string): boolean {
  return code === LOCKED || FULL.test(code) || (code.startsWith('08') && FULL_POOL.test(message))
}

/** The error of a statement whose lease ends while its answer is awaited. */
export function noAnswer(): Error {
  return new Error('no answer came before the lease was over')
}
