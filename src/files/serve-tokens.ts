/**
 * The files of `substrat serve` in the user's state directory. They are outside of the home: a copy of a home must not carry a right
 * to use the original.
 *
 * Invariants of the list of named tokens:
 * - It has the SHA-256 of each token, never a token. A token is 256 random bits, so its hash cannot be guessed backwards.
 * - It is the old list or the new one. A writer holds the lock beside it, and replaces it in one rename.
 * - A list that cannot be trusted allows nothing: one that other users can read or write, a symbolic link, a damaged one.
 */
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { SubstratError, shellWord } from '../errors.js'
import { isPlainObject } from '../format.js'
import { type FileFacts, factsOf } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { errnoOf } from '../host/disk/operation.js'
import { replace } from '../host/disk/replace.js'
import { isTemporaryName, writerOf } from '../host/disk/temporary.js'
import type { NamedToken } from '../schema/files.js'
import { SERVE_PREDICATES } from '../schema/generated/serve-predicates.js'
import { sha256Hex } from '../start/hash.js'
import { makeDirectories } from './package-files.js'

const BYTES_MAX = 16 * 1024 * 1024
const REVOKE_ALL = 'revoke all named tokens: substrat serve token revoke --all'

/** `home`: its absolute path, or its URL. `ending`: which file of the server for this home. */
export function serveFile(home: string, ending: 'token' | 'tokens.json'): string {
  const state = process.env.XDG_STATE_HOME || join(homedir(), '.local', 'state')
  return join(state, 'substrat', `serve-${sha256Hex(home).slice(0, 16)}.${ending}`)
}

/** Empty if there is no list. Throws HOME_EXPOSED or CORRUPT for one that cannot be trusted. */
export function readServeTokens(path: string): NamedToken[] {
  const file = openList(path)
  if (file === undefined) return []
  try {
    return tokensIn(file, factsOf('serve_tokens.stat', file))
  } finally {
    io.close(file)
  }
}

/** Durable on return. The caller holds the lock. It replaces a list that cannot be trusted, too. */
export function writeServeTokens(path: string, tokens: readonly NamedToken[]): void {
  const parent = dirname(path)
  makeDirectories(parent)
  for (const name of io.listDirectory('serve_tokens.list', parent))
    if (isLeftover(path, name)) io.unlink('serve_tokens.sweep', join(parent, name))
  const bytes = Buffer.from(`${JSON.stringify({ tokens }, null, 1)}\n`)
  replace('serve_tokens', path, bytes, { durableName: true })
}

/** A writer that was killed before its rename left it. */
function isLeftover(path: string, name: string): boolean {
  return (
    join(dirname(path), name).startsWith(`${path}.`) && isTemporaryName(name) && writerOf(name) !== 'alive'
  )
}

/** Reads the list again whenever it has changed. */
export class ServeTokensReader {
  /** The file stays open, so that no later file can have its inode. */
  private known: { file: io.OpenFile; facts: FileFacts; read(): ReadonlyMap<string, NamedToken> } | undefined

  constructor(private readonly path: string) {}

  /** The tokens by hash. Throws as `readServeTokens`. */
  current(): ReadonlyMap<string, NamedToken> {
    const file = openList(this.path)
    if (file === undefined) {
      this.forget()
      return new Map()
    }
    const facts = factsOf('serve_tokens.stat', file)
    if (this.known !== undefined && isSame(this.known.facts, facts)) {
      io.close(file)
      return this.known.read()
    }
    this.forget()
    this.known = { file, facts, read: readOnce(() => byHash(tokensIn(file, facts))) }
    return this.known.read()
  }

  private forget(): void {
    if (this.known !== undefined) io.close(this.known.file)
    this.known = undefined
  }
}

function byHash(tokens: NamedToken[]): ReadonlyMap<string, NamedToken> {
  return new Map(tokens.map((token) => [token.sha256, token]))
}

/** A damaged list costs one reading too: a stranger can send a wrong token many times. */
function readOnce<T>(read: () => T): () => T {
  let result: T
  try {
    result = read()
  } catch (error) {
    return () => {
      throw error
    }
  }
  return () => result
}

function isSame(a: FileFacts, b: FileFacts): boolean {
  return (
    a.inode === b.inode &&
    a.device === b.device &&
    a.modifiedMs === b.modifiedMs &&
    a.sizeBytes === b.sizeBytes &&
    a.mode === b.mode &&
    a.owner === b.owner
  )
}

function openList(path: string): io.OpenFile | undefined {
  try {
    return io.openIfThere('serve_tokens.read', path, 'read')
  } catch (error) {
    if (errnoOf(error) !== 'ELOOP') throw error
    throw untrusted('HOME_EXPOSED', path, 'it is a symbolic link, and its target could be of another user')
  }
}

function tokensIn(file: io.OpenFile, { kind, mode, owner, sizeBytes }: FileFacts): NamedToken[] {
  const { path } = file
  if (kind !== 'file')
    throw untrusted(
      'CORRUPT',
      path,
      'it is not a regular file',
      `move it away: mv ${shellWord(path)} ${shellWord(`${path}.damaged`)}`,
    )
  if ((mode & 0o077) !== 0 || owner !== process.geteuid?.())
    throw untrusted('HOME_EXPOSED', path, 'other users can read or change it')
  if (sizeBytes > BYTES_MAX) throw untrusted('CORRUPT', path, `it is larger than ${BYTES_MAX} bytes`)
  const tokens = parsed(io.readRange('serve_tokens.read', file, 0, sizeBytes).toString('utf8'))
  if (tokens === undefined) throw untrusted('CORRUPT', path, 'it is damaged')
  return tokens
}

/** Undefined unless the text is a whole list. A name or a token that is there twice leaves open which right counts. */
function parsed(text: string): NamedToken[] | undefined {
  try {
    const list: unknown = JSON.parse(text)
    const tokens = isPlainObject(list) ? list.tokens : undefined
    if (!Array.isArray(tokens) || !tokens.every(isNamedToken)) return undefined
    const isUnique = (field: 'name' | 'sha256'): boolean =>
      new Set(tokens.map((token) => token[field])).size === tokens.length
    return isUnique('name') && isUnique('sha256') ? tokens : undefined
  } catch {
    return undefined
  }
}

function isNamedToken(value: unknown): value is NamedToken {
  if (!isPlainObject(value)) return false
  return Object.entries(SERVE_PREDICATES.namedToken).every(([field, isValid]) => isValid(value[field]))
}

function untrusted(
  code: 'HOME_EXPOSED' | 'CORRUPT',
  path: string,
  why: string,
  hint = REVOKE_ALL,
): SubstratError {
  return new SubstratError(code, `the list of named tokens ${path} cannot be used: ${why}`, {
    hint,
    facts: { path },
  })
}
