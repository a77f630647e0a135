/**
 * The resume token of a parked run: minted, found and checked, consumed, rotated and revoked. A decision with the token
 * continues the run.
 *
 * Invariants: only the hash of a secret is stored. A rotation or a consumption shares one batch with the records that follow from it,
 * so a kill leaves all of them or none. The fold refuses the second use of a token.
 */
import { timingSafeEqual } from 'node:crypto'
import { readableTime } from '../clock.js'
import { SubstratError, shellWord } from '../errors.js'
import type { ClockReading } from '../host/identity.js'
import type { Amounts, WindowIds } from '../schema/budget.js'
import type { Actor, Ask, CallRecord, Used } from '../schema/types.js'
import type { Decision } from '../schema/words.js'
import { addressOf } from '../session/causes.js'
import { awaitedToken, isExpired, isInScope } from '../session/fold/tokens.js'
import type { NewRecord } from '../session/records.js'
import type { Run, State, TokenEntry, Wait } from '../session/state.js'
import { openWait } from '../session/status.js'
import { sha256Hex } from '../start/hash.js'
import { random, randomUuid } from '../start/random.js'

export interface MintedToken {
  token_id: string
  hash: string
  expires_at: string
}

export interface Decided {
  token_id: string
  decision: Decision
  /** The reason of a denial, the input, or the result. */
  text: string
  /** The complete result, if `text` is only part of it. */
  output?: { blob: string; bytes: number }
  /** A result may be an error: the work failed. */
  isFailed?: boolean
  /** The only call that gets the result. Default: all calls of the wait. */
  call_id?: string | undefined
  /** With an approval: calls that run with other arguments. */
  edits?: CallRecord[]
  /** Records that replace the token that was handed out by this one, so that a user can decide without the secret. */
  rotation?: NewRecord[]
  /** Repeating the key returns the first outcome. */
  key?: string | null
  /** The one who decided. Undefined: the actor of this process. */
  actor?: Actor | undefined
  /** With the approval of a wait for a budget. */
  grant?: { amounts?: Amounts; windows?: WindowIds; once?: true }
  /** Fingerprint of decision and text. Repeating the same decision gets the same answer; another is refused. */
  digest: string
}

/** The secret has the form `st_<token id>_<secret>`. It is shown once, and only its hash is stored. */
export function mintToken(expiresAt: string): { token: MintedToken; secret: string } {
  const token_id = randomUuid()
  const secret = `st_${token_id}_${random.bytes(24).toString('base64url')}`
  return { token: { token_id, hash: hashOf(secret), expires_at: expiresAt }, secret }
}

/** Mints the token of a run that parks until a person decides. */
export function waitRecords(
  run_id: string,
  wait: Wait['kind'],
  { token_id, hash, expires_at }: MintedToken,
  asks: Ask[] | undefined,
  used: Used = {},
  budget: Pick<NewRecord<'run.waiting'>, 'why' | 'not_before' | 'needs' | 'missing'> = {},
): NewRecord[] {
  return [
    { kind: 'token.minted', run_id, token_id, hash, expires_at, wait },
    {
      kind: 'run.waiting',
      run_id,
      wait,
      asks,
      token_id,
      deadline_at: expires_at,
      ...budget,
      ...used,
    },
  ]
}

/** `isFailed` and `call` of a result, and the changed arguments of an approval, are part of the decision. */
export function digestDecision(
  decision: Decision,
  text: string,
  { isFailed = false, call = null, edits = [], grant }: DecisionDetails = {},
): string {
  const more = {
    ...(isFailed ? { failed: true } : {}),
    ...(call === null ? {} : { call }),
    ...(edits.length === 0 ? {} : { edits }),
    ...(grant === undefined ? {} : { grant }),
  }
  return sha256Hex(JSON.stringify([decision, text, ...(Object.keys(more).length === 0 ? [] : [more])]))
}

interface DecisionDetails {
  isFailed?: boolean
  call?: string | null
  edits?: { call_id: string; input: object }[]
  grant?: object
}

const TOKEN = /^st_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})_[\w-]{32}$/

/** The entry that the secret opens. Throws TOKEN_MALFORMED or TOKEN_FOREIGN. */
export function findToken(state: State, secret: string): TokenEntry {
  if (tokenIdOf(secret) === undefined)
    throw refusedTokenError(
      'TOKEN_MALFORMED',
      'the given text is not a resume token: a token has the form st_ID_SECRET',
      state,
    )
  const entry = tokenOf(state, secret)
  if (entry === undefined)
    throw refusedTokenError('TOKEN_FOREIGN', `the token does not belong to agent ${state.path}`, state)
  return entry
}

/** Undefined if the secret is not that of a token of this agent. */
export function tokenOf(state: State, secret: string): TokenEntry | undefined {
  const tokenId = tokenIdOf(secret)
  const entry = state.tokens.find(({ token_id }) => token_id === tokenId)
  if (entry === undefined) return undefined
  return timingSafeEqual(Buffer.from(entry.hash), Buffer.from(hashOf(secret.trim()))) ? entry : undefined
}

function tokenIdOf(secret: string): string | undefined {
  return TOKEN.exec(secret.trim())?.[1]
}

/** Throws for a token that is revoked, expired or out of scope. The caller handles a consumed one: see `digest`. */
export function checkToken(state: State, entry: TokenEntry, now: ClockReading): void {
  if (entry.status === 'revoked' || entry.status === 'expired') {
    // A log of format 1 has `revoked` with the reason `expired`.
    const code = entry.reason === 'expired' ? 'TOKEN_EXPIRED' : 'TOKEN_REVOKED'
    throw refusedTokenError(
      code,
      `token ${entry.token_id} is no longer valid: ${REVOKED[entry.reason ?? ''] ?? 'it was revoked'}`,
      state,
    )
  }
  if (entry.status === 'minted' && isExpired(entry, now)) {
    throw refusedTokenError(
      'TOKEN_EXPIRED',
      `token ${entry.token_id} expired at ${readableTime(entry.expires_at)}`,
      state,
    )
  }
  const wait = openWait(state)
  if (entry.status === 'minted' && wait?.resume_token_id === entry.token_id && !isInScope(entry, wait)) {
    throw refusedTokenError(
      'TOKEN_SCOPE',
      `token ${entry.token_id} has the wrong scope: it is for the wait ${entry.wait}, and the turn waits for ${wait.kind}`,
      state,
    )
  }
}

/** `decision` differs from the first decision in its kind or in its text. */
/** `made`: the actor and the time of the first decision. */
export function alreadyDecided(
  state: State,
  entry: TokenEntry,
  decision: Decision,
  made: string,
): SubstratError {
  const first = entry.decision as Decision
  const other = first === decision ? `a different ${NOUN[first]}` : `a different decision: ${first}`
  const text = `token ${entry.token_id} was already used for ${other}${made === '' ? '' : `,${made}`}`
  return refusedTokenError('TOKEN_CONSUMED', text, state)
}

const NOUN: Record<Decision, string> = {
  approve: 'approval',
  deny: 'denial',
  input: 'answer',
  result: 'result',
}

/** Consumes the token of a decision, after the rotation that created it, if there was one. */
export function consumedRecords(
  run_id: string,
  { token_id, decision, digest, rotation = [], key = null, actor }: Decided,
): NewRecord[] {
  const keyed = key === null ? {} : { key }
  const by = actor === undefined ? {} : { actor }
  return [...rotation, { kind: 'token.consumed', run_id, token_id, decision, digest, ...keyed, ...by }]
}

/** Revokes the token that the open run waits for, and mints another in its place. */
export function rotation(
  state: State,
  asks: Ask[] | undefined,
  expiresAt: string,
): { records: NewRecord[]; token_id: string; secret: string } {
  const { token, secret } = mintToken(expiresAt)
  const run = state.run as Run
  const { kind } = run.wait as Wait
  const records = [...revokedRecords(state, run, 'rotated'), ...waitRecords(run.run_id, kind, token, asks)]
  return { records, token_id: token.token_id, secret }
}

/** Revokes the token of the run's wait, if it can still be used. */
export function revokedRecords(
  state: State,
  run: Run,
  reason: Exclude<NewRecord<'token.revoked'>['reason'], 'expired'>,
): NewRecord[] {
  const { run_id } = run
  return usableToken(state, run).map(({ token_id }) => ({ kind: 'token.revoked', run_id, token_id, reason }))
}

/** Ends the token of a wait whose deadline has passed. */
export function expiredRecords(state: State, run: Run): NewRecord[] {
  const { run_id } = run
  return usableToken(state, run).map(({ token_id }) => ({ kind: 'token.expired', run_id, token_id }))
}

function usableToken(state: State, run: Run): TokenEntry[] {
  const token = awaitedToken(state, run.wait)
  return token?.status === 'minted' ? [token] : []
}

const REVOKED: Record<string, string> = {
  rotated: 'another token replaced it',
  superseded: 'a new message superseded its turn',
  ended: 'its turn has ended',
  expired: 'it has expired',
}

type TokenCode =
  | 'TOKEN_MALFORMED'
  | 'TOKEN_FOREIGN'
  | 'TOKEN_SCOPE'
  | 'TOKEN_EXPIRED'
  | 'TOKEN_REVOKED'
  | 'TOKEN_CONSUMED'

/** The token of the latest turn, if its wait ended at the deadline without a decision. */
export function lapsedToken({ recovery, tokens, run }: State): TokenEntry | undefined {
  if (recovery.interruption?.reason !== 'wait_timeout') return undefined
  return tokens.findLast((entry) => entry.reason === 'expired' && entry.run_id === run?.run_id)
}

function refusedTokenError(code: TokenCode, message: string, state: State): SubstratError {
  const name = shellWord(addressOf(state))
  return new SubstratError(code, message, {
    hint:
      openWait(state) === null
        ? lapsedToken(state) === undefined
          ? `see its status: substrat show ${name}`
          : `let it ask again: substrat resume ${name}`
        : `see what the agent waits for: substrat show ${name}; get a new token: substrat token rotate ${name}`,
    facts: { agent_id: state.id },
  })
}

function hashOf(secret: string): string {
  return sha256Hex(secret)
}
