/**
 * The resume tokens of an agent, folded from its log. `src/turn/tokens.ts` builds their records.
 *
 * Invariant: a token is consumed at most once, and only while it is neither consumed nor revoked.
 */
import { SessionStateError } from '../../errors.js'
import type { ClockReading } from '../../host/identity.js'
import { limits } from '../../limits.js'
import { isOver } from '../durations.js'
import type { NewRecord } from '../records.js'
import type { Run, State, TokenEntry, Wait } from '../state.js'

export function withToken(
  run: Run | null,
  tokens: TokenEntry[],
  record: NewRecord<'token.minted' | 'token.consumed' | 'token.revoked' | 'token.expired'>,
): TokenEntry[] {
  const { token_id, run_id } = record
  if (record.kind === 'token.minted') {
    if (tokens.some((token) => token.token_id === token_id))
      throw new SessionStateError(`token ${token_id} is minted twice`)
    const { hash, expires_at, clock = null, wait } = record
    if (run?.run_id !== run_id)
      throw new SessionStateError(`token ${token_id} is of run ${run_id}, which is not open`)
    const place = { ...run.start, started_at: run.started_at, end: 0 }
    const entry: TokenEntry = {
      token_id,
      run_id,
      run: place,
      hash,
      status: 'minted',
      expires_at,
      clock,
      decision: null,
      digest: null,
      reason: null,
      ...(wait === undefined ? {} : { wait }),
    }
    return [...tokens, entry].slice(-limits.tokensKept)
  }
  const found = tokens.find((token) => token.token_id === token_id)
  if (found === undefined) throw new SessionStateError(`token ${token_id} was never minted`)
  if (found.status !== 'minted') throw new SessionStateError(`token ${token_id} is ${found.status} already`)
  if (record.kind === 'token.consumed' && !isInScope(found, run?.wait ?? null))
    throw new SessionStateError(`token ${token_id} is for another kind of wait`)
  return tokens.map((token) => (token === found ? ended(found, record) : token))
}

function ended(
  token: TokenEntry,
  record: NewRecord<'token.consumed' | 'token.revoked' | 'token.expired'>,
): TokenEntry {
  switch (record.kind) {
    case 'token.consumed':
      return {
        ...token,
        status: 'consumed',
        decision: record.decision,
        digest: record.digest,
        ...(record.key === undefined ? {} : { key: record.key }),
      }
    case 'token.revoked':
      return { ...token, status: 'revoked', reason: record.reason }
    case 'token.expired':
      return { ...token, status: 'expired', reason: 'expired' }
  }
}

/** Whether the token may end this kind of wait. A token of format 1 may end any. */
export function isInScope({ wait }: Pick<TokenEntry, 'wait'>, open: Pick<Wait, 'kind'> | null): boolean {
  return wait === undefined || wait === open?.kind
}

/** The token whose decision continues the run. */
export function awaitedToken({ tokens }: Pick<State, 'tokens'>, wait: Wait | null): TokenEntry | undefined {
  return tokens.find(({ token_id }) => token_id === wait?.resume_token_id)
}

export function isExpired({ expires_at, clock }: TokenEntry, now: ClockReading): boolean {
  return isOver(expires_at, clock, now)
}
