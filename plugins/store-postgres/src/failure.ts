/** The errors of failed statements, as the fault table of docs/postgres.md lists them. */
import type { StoreKit } from 'substrat/store'
import { StatementError } from './client.js'
import { NoPassword } from './password-file.js'

export interface Where {
  /** The home, without a password. */
  url: string
  agentId?: string | undefined
}

const INIT = 'create the home in the database: substrat store init'

/** Calls `act`, and turns the error of a statement into one of this program. */
export function explained<T>(kit: StoreKit, where: Where, act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw error instanceof StatementError ? errorOf(kit, where, error) : error
  }
}

function errorOf(kit: StoreKit, { url, agentId }: Where, { failure, isWrite }: StatementError): Error {
  const { code, message, isUnknown } = failure
  const of = (
    word: 'HOME_UNUSABLE' | 'STORAGE_FAILED' | 'SYNC_FAILED' | 'CORRUPT',
    why: string,
    hint: string,
  ) => new kit.SubstratError(word, why, { hint, facts: { home: url, sqlstate: code } })
  switch (code) {
    case 'SBGON':
      return kit.agentGone(agentId ?? '')
    case 'SBDUP':
      return kit.createdElsewhere(agentId ?? '')
    case 'SBLST':
      return leaseLost(kit, message)
    case 'SBMOV':
      return of(
        'HOME_UNUSABLE',
        `the home ${url} was closed by a migration`,
        'see where it is: substrat list',
      )
    case 'SBEND':
      return of(
        'CORRUPT',
        `the log of agent ${agentId} is not as this command wrote it: ${message}`,
        LOST_COMMITS,
      )
    case '3F000':
    case '42P01':
    case '42883':
      return of('HOME_UNUSABLE', `the database at ${url} has no substrat home, or an older one`, INIT)
    case '3D000':
      return of('HOME_UNUSABLE', `cannot open ${url}: ${message}`, 'create the database: createdb NAME')
    case '28P01':
    case '28000':
      return of(
        'HOME_UNUSABLE',
        `cannot open ${url}: ${message}`,
        'check the role, its password in ~/.pgpass, and pg_hba.conf',
      )
    case NoPassword.code:
      return of('HOME_UNUSABLE', `cannot open ${url}: ${message}`, PASSWORD)
    case '42501':
      return of('HOME_UNUSABLE', `cannot use ${url}: ${message}`, GRANT)
  }
  if (code === LOCKED)
    return new kit.SubstratError(
      'LOCKED',
      `the database at ${url} is busy: another transaction has a lock that this command needs`,
      { hint: FIND_LOCK, facts: { home: url, sqlstate: code } },
    )
  if (isUnknown && isWrite)
    return of('SYNC_FAILED', `it is unknown whether ${url} has the last change: ${message}`, LOOK_FIRST)
  return of('STORAGE_FAILED', `the database at ${url} cannot be used: ${reasonOf(code, message)}`, CHECK)
}

/** The SQLSTATE of a lock that another transaction has. */
const LOCKED = '55P03'
const FIND_LOCK =
  "find it: psql -c \"select pid, application_name, query from pg_stat_activity where state like 'idle in%' or wait_event_type = 'Lock'\""

/** Why no agent is taken now (distrust.sql). */
export interface Distrust {
  why: string
  until: string
}

export function distrusted(kit: StoreKit, { why, until }: Distrust): Error {
  const time = `${new Date(until).toISOString().slice(0, 19).replace('T', ' ')}Z`
  return new kit.SubstratError(
    'LOCKED',
    `no agent is taken before ${time}, because a host may still run programs of a lease that the server has lost: ${why}`,
    { hint: 'explain it: substrat doctor; then run the same command again', facts: { until } },
  )
}

/** Whether the next attempt may succeed. */
export function mayPass(error: unknown): boolean {
  const { sqlstate, until } = (error as { facts?: Record<string, unknown> }).facts ?? {}
  return sqlstate === LOCKED || until !== undefined
}

const LOST_COMMITS =
  'nothing was written; the server may have lost commits in a failover: compare it with a backup, then run substrat doctor --all'
const PASSWORD = 'correct that file (docs/postgres.md), or set PGPASSWORD; then run the same command again'
const GRANT = 'grant the role EXECUTE on the functions of the schema substrat (docs/postgres.md)'
const LOOK_FIRST =
  'check what is there before you repeat it: substrat log AGENT; a repeated --key delivers at most once'
const CHECK = 'check the server, then run the same command again'

function reasonOf(code: string, message: string): string {
  return message === '' ? code : message
}

export function leaseLost(kit: StoreKit, why: string): Error {
  return new kit.SubstratError(
    'LOCKED',
    `the lease was lost while it was in use: ${why}; this command writes nothing more`,
    {
      hint: 'to continue what was interrupted, run: substrat recover --all',
    },
  )
}
