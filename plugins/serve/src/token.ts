/** The operator's token: 256 random bits in a file that only its owner can read. It survives the server, so that clients do too. */
import { randomBytes, randomUUID } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { StartError } from './start-error.js'

export interface TokenFile {
  token: string
  path: string
}

/** `renews`: replaces an existing token, which stops working at once for servers that start later. */
export function openToken(file: string, renews: boolean): TokenFile {
  const known = renews ? undefined : readToken(file)
  if (known !== undefined) return { token: known, path: file }
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  const token = randomBytes(32).toString('base64url')
  // Complete under another name first: a crash leaves no file with half a token.
  const temporary = `${file}.${randomUUID()}.tmp`
  const fd = openSync(temporary, 'wx', 0o600)
  try {
    writeSync(fd, `${token}\n`)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  if (renews) {
    renameSync(temporary, file)
    return { token, path: file }
  }
  try {
    // Fails if another server was faster: then its token counts.
    linkSync(temporary, file)
    return { token, path: file }
  } catch (error) {
    const other = readToken(file)
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || other === undefined) throw error
    return { token: other, path: file }
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** Undefined if there is none. Throws for a file that others could read or have written. */
function readToken(file: string): string | undefined {
  let fd: number
  try {
    fd = openSync(file, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    const { mode, uid } = fstatSync(fd)
    if ((mode & 0o077) !== 0 || uid !== process.geteuid?.())
      throw new StartError(
        'HOME_EXPOSED',
        `other users can use the token in ${file}`,
        'make a new one: substrat serve --new-token',
      )
    const token = readFileSync(fd, 'utf8').trim()
    if (/^[\w-]{43}$/.test(token)) return token
    throw new StartError('CORRUPT', `${file} has no token`, 'make a new one: substrat serve --new-token')
  } finally {
    closeSync(fd)
  }
}
