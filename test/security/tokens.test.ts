/**
 * A resume token is the only way to continue a parked turn. The comparison takes equally long for every wrong token.
 */
import { beforeEach, expect, test, vi } from 'vitest'
import type { State, TokenEntry } from '../../src/session/state.js'
import { findToken, mintToken } from '../../src/turn/tokens.js'

const { compared } = vi.hoisted(() => ({ compared: [] as [Uint8Array, Uint8Array][] }))
vi.mock('node:crypto', async (importOriginal) => {
  const crypto = await importOriginal<typeof import('node:crypto')>()
  const timingSafeEqual = (a: Uint8Array, b: Uint8Array): boolean => {
    compared.push([a, b])
    return crypto.timingSafeEqual(a, b)
  }
  return { ...crypto, timingSafeEqual }
})

const { token, secret } = mintToken('9999-12-01T00:00:00.000Z')
const tokens = [{ ...token, status: 'minted' } as TokenEntry]
const state = { id: 'a', name: 'a', path: 'a', tokens, recovery: { interruption: null } } as unknown as State

beforeEach(() => {
  compared.length = 0
})

const wrong = (at: number): string =>
  `${secret.slice(0, at)}${secret[at] === 'A' ? 'B' : 'A'}${secret.slice(at + 1)}`
const first = secret.length - 32

test.each([
  ['in its first character', wrong(first)],
  ['in its middle', wrong(first + 16)],
  ['in its last character', wrong(secret.length - 1)],
  ['in all of them', `${secret.slice(0, first)}${'_'.repeat(32)}`],
])('a secret that is wrong %s is refused in the same way, by comparing hashes of equal length', (_, word) => {
  expect(() => findToken(state, word)).toThrow(
    expect.objectContaining({ code: 'TOKEN_FOREIGN', message: 'the token does not belong to agent a' }),
  )
  expect(compared.map((pair) => pair.map(({ length }) => length))).toEqual([[64, 64]])
  // The compared bytes do not show how much of the secret was right.
  expect(compared.flat().map((bytes) => Buffer.from(bytes).toString())).not.toContain(word)
})

test('the right secret is found by the same comparison', () => {
  expect(findToken(state, secret).token_id).toBe(token.token_id)
  expect(compared).toHaveLength(1)
})

test('neither the message nor the facts of a refusal contain the secret', () => {
  for (const word of [wrong(first), `${secret}x`, 'st_nonsense']) {
    const refusal = refusalOf(word)
    expect(JSON.stringify({ ...refusal, message: refusal.message })).not.toContain(word)
  }
})

function refusalOf(word: string): Error {
  try {
    findToken(state, word)
  } catch (error) {
    return error as Error
  }
  throw new Error('it was not refused')
}
