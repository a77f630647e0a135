/**
 * The named tokens of `substrat serve`: added, listed and revoked.
 *
 * A kill before the rename leaves the old list. After the rename of `add`, the list names a token that was not printed: revoking it
 * and adding it again gives another one.
 */
import { timestampAfter } from '../clock.js'
import { SubstratError } from '../errors.js'
import { readServeTokens, serveFile, writeServeTokens } from '../files/serve-tokens.js'
import type { NamedToken } from '../schema/files.js'
import { type Scope, TOKEN_NAME } from '../schema/words.js'
import { sha256Hex } from '../start/hash.js'
import { random } from '../start/random.js'
import { exclusivelyInFile } from './exclusively.js'

/** The name that the log has for the token that the server makes itself. */
const OPERATORS = 'operator'
const TOKENS_MAX = 10_000
const NAMED_MAX = 20

export type ListedToken = Omit<NamedToken, 'sha256'>

/** The token itself exists only here, and at its user. */
export interface AddedToken extends ListedToken {
  token: string
}

export function listServeTokens(home: string): ListedToken[] {
  return readServeTokens(serveFile(home, 'tokens.json')).map(({ sha256: _, ...listed }) => listed)
}

/** Durable when it returns. Throws USAGE, or NAME_TAKEN. */
export function addServeToken(home: string, name: string, may: Scope): Promise<AddedToken> {
  checkName(name, may)
  return changing(home, 'add', (path) => {
    const tokens = readServeTokens(path)
    const known = tokens.find((token) => token.name === name)
    if (known !== undefined)
      throw new SubstratError('NAME_TAKEN', `the token ${name} exists, and may ${known.may}`, {
        hint: `revoke it first: substrat serve token revoke ${name}; or choose another name`,
        facts: { name },
      })
    if (tokens.length >= TOKENS_MAX)
      throw new SubstratError('USAGE', `there are ${TOKENS_MAX} named tokens, which is the limit`, {
        hint: 'find one that is no longer used: substrat serve token list; then revoke it: substrat serve token revoke NAME',
      })
    const token = random.bytes(32).toString('base64url')
    const listed = { name, may, created_at: timestampAfter(undefined) }
    writeServeTokens(path, [...tokens, { ...listed, sha256: sha256Hex(token) }])
    return { ...listed, token }
  })
}

/** Durable when it returns. Throws TOKEN_NOT_FOUND. */
export function revokeServeToken(home: string, name: string): Promise<string[]> {
  return changing(home, 'revoke', (path) => {
    const tokens = readServeTokens(path)
    const others = tokens.filter((token) => token.name !== name)
    if (others.length === tokens.length) throw unknownToken(name, tokens)
    writeServeTokens(path, others)
    return [name]
  })
}

/** Also if the list is damaged. Returns the names, as far as they can be read. */
export function revokeAllServeTokens(home: string): Promise<string[]> {
  return changing(home, 'revoke', (path) => {
    const names = namesIn(path)
    writeServeTokens(path, [])
    return names
  })
}

function namesIn(path: string): string[] {
  try {
    return readServeTokens(path).map(({ name }) => name)
  } catch {
    return []
  }
}

function changing<T>(home: string, verb: string, change: (path: string) => T): Promise<T> {
  const path = serveFile(home, 'tokens.json')
  const work = { what: 'changing the tokens', command: `substrat serve token ${verb}` }
  return exclusivelyInFile(path, work, () => change(path))
}

function checkName(name: string, may: Scope): void {
  if (name === OPERATORS)
    throw new SubstratError(
      'USAGE',
      `${OPERATORS} is the name of the token that substrat serve makes itself`,
      {
        hint: `choose another name: substrat serve token add phone --may ${may}`,
      },
    )
  if (TOKEN_NAME.test(name)) return
  throw new SubstratError('USAGE', `${JSON.stringify(name.slice(0, 80))} cannot be the name of a token`, {
    hint: `use 1 to 64 of a-z, 0-9, ".", "_" and "-", with a letter or digit first: substrat serve token add ${similarName(name)} --may ${may}`,
  })
}

function similarName(name: string): string {
  const similar = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[._-]+|[._-]+$/g, '')
    .slice(0, 64)
  return TOKEN_NAME.test(similar) && similar !== OPERATORS ? similar : 'phone'
}

function unknownToken(name: string, tokens: NamedToken[]): SubstratError {
  const names = tokens.slice(0, NAMED_MAX).map((token) => token.name)
  const more = tokens.length - names.length
  const which =
    names.length === 0
      ? 'no named token exists'
      : `the tokens are ${names.join(', ')}${more === 0 ? '' : ` and ${more} more`}`
  return new SubstratError(
    'TOKEN_NOT_FOUND',
    `there is no token ${JSON.stringify(name.slice(0, 80))}; ${which}`,
    {
      hint: 'list them: substrat serve token list',
      facts: { name },
    },
  )
}

const DEFAULT_ADDRESS = 'http://127.0.0.1:4777'

/** The part of a link before the token. Throws USAGE for what no browser opens, or would send to another path. */
export function pageAddress(given = DEFAULT_ADDRESS): string {
  const { protocol, origin, pathname, search, hash, username, password } = parsedUrl(given) ?? {}
  const isBare = pathname === '/' && search === '' && hash === '' && username === '' && password === ''
  if ((protocol === 'http:' || protocol === 'https:') && isBare) return origin as string
  throw new SubstratError(
    'USAGE',
    `--url ${JSON.stringify(given.slice(0, 200))} is not the address of a server`,
    {
      hint: 'write it as https://HOST:PORT, without a path',
    },
  )
}

function parsedUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
