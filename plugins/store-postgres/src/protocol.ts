/** The messages between the caller, which blocks, and the worker, which has the connections. */
import type { MessagePort } from 'node:worker_threads'

export interface WorkerSettings {
  port: MessagePort
  /** Incremented with each answer. The caller waits for it. */
  answered: Int32Array
  /** For each lease, when it ends (`uptimeMs`); 0 once it is lost. */
  deadlines: BigInt64Array
  url: string
  password: string | undefined
  applicationName: string
  ttlMs: number
}

export interface Statement {
  text: string
  values: unknown[]
  /** Until when it is sent again after a broken connection (`uptimeMs`). */
  untilMs: number
  /** The same if the server has no room for it, and if another transaction has a lock that it needs. Both default to `untilMs`. */
  fullUntilMs?: number | undefined
  lockUntilMs?: number | undefined
  /** The same if the server has no disk or memory for it. Defaults to `fullUntilMs`. */
  diskUntilMs?: number | undefined
  /** The lease that it needs, in `deadlines`. After its end, no answer is awaited. */
  slot?: number | undefined
}

export interface HeldLease {
  slot: number
  kind: 'agent' | 'thing' | 'edge'
  key: string
  lease: string
  /** The file with the end of the lease, for the leashes of programs. */
  file?: string
}

export type Request =
  | { kind: 'statement'; statement: Statement }
  | { kind: 'leases'; leases: HeldLease[] }
  | { kind: 'watch'; agents: string[] }

export type Row = Record<string, unknown>

export interface Failure {
  /** The SQLSTATE, or the code of a system error. */
  code: string
  message: string
  /** Whether the server may have executed the statement. */
  isUnknown: boolean
}

export type Answer = { rows: Row[] } | { failure: Failure }

/** Ends a lease here before it ends in the database, whose clock decides. */
export function marginMs(ttlMs: number): number {
  return Math.min(2000, ttlMs / 10) + 20
}
