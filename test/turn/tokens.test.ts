import { createHash, randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { SubstratError } from '../../src/errors.js'
import type { NewRecord } from '../../src/session/records.js'
import type { State } from '../../src/session/state.js'
import { random } from '../../src/start/random.js'
import { alreadyDecided, checkToken, digestDecision, findToken, mintToken } from '../../src/turn/tokens.js'
import { foldAll, timeOf } from '../support/folding.js'
import { reading } from '../support/readings.js'
import { createdRecord, startedRun } from '../support/sessions.js'

const RUN = '1b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const EXPIRY = timeOf(1000)
const { token, secret } = mintToken(EXPIRY)
const { token_id } = token
const minted: NewRecord[] = [
  createdRecord(randomUUID(), { name: 'a' }),
  { kind: 'session.activated', boot_id: 'b' },
  startedRun(RUN),
  { kind: 'token.minted', run_id: RUN, ...token },
]
const state = foldAll(minted)
const stateAfter = (...records: NewRecord[]): State => foldAll(records, state)

/** The code, message and hint of the thrown error. */
function refusal(act: () => unknown): SubstratError {
  try {
    act()
  } catch (error) {
    return error as SubstratError
  }
  throw new Error('it was not refused')
}

describe('a token', () => {
  test('has its id and a random secret of 192 bits; only the hash of the secret is stored', () => {
    expect(secret).toMatch(/^st_[0-9a-f-]{36}_[A-Za-z0-9_-]{32}$/)
    expect(secret).toContain(token_id)
    expect(token).toEqual({
      token_id,
      hash: createHash('sha256').update(secret).digest('hex'),
      expires_at: EXPIRY,
    })
    expect(JSON.stringify(state)).not.toContain(secret.slice(-32))
    expect(mintToken(EXPIRY).secret).not.toBe(secret)
  })

  test('has a secret that is not derived from its id', () => {
    const { bytes } = random
    random.bytes = (size) => (size === 16 ? Buffer.alloc(16) : bytes(size))
    try {
      const [one, two] = [mintToken(EXPIRY), mintToken(EXPIRY)]
      expect(one.token.token_id).toBe(two.token.token_id)
      expect(one.secret).not.toBe(two.secret)
    } finally {
      random.bytes = bytes
    }
  })

  test('is found by its secret, also with pasted whitespace around it', () => {
    for (const pasted of [secret, ` ${secret}\n`])
      expect(findToken(state, pasted)).toMatchObject({ token_id, status: 'minted' })
  })

  test('can be used until it expires', () => {
    const entry = findToken(state, secret)
    expect(() => checkToken(state, entry, reading(timeOf(999)))).not.toThrow()
    expect(refusal(() => checkToken(state, entry, reading(EXPIRY)))).toMatchObject({
      code: 'TOKEN_EXPIRED',
      exitStatus: 13,
    })
  })
})

describe('refused with its own code and message is', () => {
  test('a token of another kind of wait, although the turn waits for it', () => {
    const scoped = foldAll([
      ...minted.slice(0, 3),
      { kind: 'token.minted', run_id: RUN, ...token, wait: 'tool_result' },
      { kind: 'run.waiting', run_id: RUN, wait: 'approval', token_id, deadline_at: EXPIRY },
    ])
    const entry = findToken(scoped, secret)
    expect(refusal(() => checkToken(scoped, entry, reading(timeOf(999))))).toMatchObject({
      code: 'TOKEN_SCOPE',
      exitStatus: 13,
      message: expect.stringContaining('wrong scope'),
    })
    const consumed = { run_id: RUN, token_id, decision: 'approve', digest: 'd' } as const
    expect(() => foldAll([{ kind: 'token.consumed', ...consumed }], scoped)).toThrow('another kind of wait')
  })

  test('a token that expired in a record of its own, as one that was revoked for that in an older log', () => {
    for (const end of [
      { kind: 'token.expired', run_id: RUN, token_id },
      { kind: 'token.revoked', run_id: RUN, token_id, reason: 'expired' },
    ] as const) {
      const after = stateAfter(end)
      expect(refusal(() => checkToken(after, findToken(after, secret), reading(timeOf(1))))).toMatchObject({
        code: 'TOKEN_EXPIRED',
        message: `token ${token_id} is no longer valid: it has expired`,
      })
    }
  })

  test.each([
    '',
    'x',
    `st_${token_id}`,
    `st_${token_id}_`,
    secret.slice(0, -1),
    `${secret}x`,
    secret.toUpperCase(),
    secret.replace('st_', 'sk_'),
  ])('text that is not a token: %j', (pasted) => {
    expect(refusal(() => findToken(state, pasted))).toMatchObject({ code: 'TOKEN_MALFORMED', exitStatus: 13 })
  })

  test('a token of another agent, and one with a wrong secret', () => {
    const last = secret.endsWith('A') ? 'B' : 'A'
    for (const foreign of [mintToken(EXPIRY).secret, secret.slice(0, -1) + last]) {
      const { code, message } = refusal(() => findToken(state, foreign))
      expect(code).toBe('TOKEN_FOREIGN')
      expect(message).not.toContain(foreign.slice(-32))
    }
  })

  const REVOKED: [NewRecord<'token.revoked'>['reason'], string, RegExp][] = [
    ['rotated', 'TOKEN_REVOKED', /another token replaced it/],
    ['superseded', 'TOKEN_REVOKED', /a new message superseded its turn/],
    ['ended', 'TOKEN_REVOKED', /its turn has ended/],
    ['expired', 'TOKEN_EXPIRED', /it has expired/],
  ]
  test.each(REVOKED)('a revoked token: %s', (reason, code, why) => {
    const revoked = stateAfter({ kind: 'token.revoked', run_id: RUN, token_id, reason })
    const error = refusal(() => checkToken(revoked, findToken(revoked, secret), reading(timeOf(10))))
    expect(error).toMatchObject({ code, exitStatus: 13, message: expect.stringMatching(why) })
    expect(error.hint).toContain('substrat show a')
  })

  test('a consumed token, with the decision that used it', () => {
    const consumed = stateAfter({
      kind: 'token.consumed',
      run_id: RUN,
      token_id,
      decision: 'deny',
      digest: 'd',
    })
    const entry = findToken(consumed, secret)
    expect(() => checkToken(consumed, entry, reading(timeOf(5000)))).not.toThrow()
    expect(alreadyDecided(consumed, entry, 'deny', ' by ana at noon').message).toContain(
      'for a different denial, by ana at noon',
    )
    expect(alreadyDecided(consumed, entry, 'approve', '')).toMatchObject({
      code: 'TOKEN_CONSUMED',
      exitStatus: 13,
      message: expect.stringContaining('different decision: deny'),
    })
  })
})

test('two decisions are the same only if their texts are', () => {
  const same = digestDecision('deny', 'no')
  expect(digestDecision('deny', 'no')).toBe(same)
  for (const [decision, text] of [
    ['deny', 'No'],
    ['deny', ''],
    ['approve', 'no'],
    ['input', 'no'],
  ] as const)
    expect(digestDecision(decision, text)).not.toBe(same)
})
