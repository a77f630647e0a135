/** The password file of PostgreSQL: PGPASSFILE, or ~/.pgpass. The support for it in pg is deprecated, and warns at each command. */
import { readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Whom the password is for. */
export interface Login {
  host: string
  port: number
  database: string
  user: string
}

/** The server asks for a password, and there is none. `code` as of a statement. */
export class NoPassword extends Error {
  static readonly code = 'SBPWD'
  readonly code = NoPassword.code
}

export function passwordFile(): string {
  return process.env.PGPASSFILE || join(homedir(), '.pgpass')
}

/** Throws NoPassword, which names the file and the reason. */
export function passwordFor(login: Login, file = passwordFile()): string {
  const { host, port, database, user } = login
  const wanted = [host.startsWith('/') ? [host, 'localhost'] : [host], [`${port}`], [database], [user]]
  const found = linesOf(file).find(
    (fields) =>
      fields.length >= 5 &&
      wanted.every((names, at) => fields[at] === '*' || names.includes(fields[at] as string)),
  )
  if (found !== undefined) return found.slice(4).join(':')
  throw new NoPassword(
    `the server asks for a password, and ${file} has no line for it; add this one: ${host}:${port}:${database}:${user}:PASSWORD`,
  )
}

/** The fields of each line. A backslash quotes the next character. */
function linesOf(file: string): string[][] {
  const lines = textOf(file).split('\n')
  return lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) =>
      [...line.matchAll(/(?:^|:)((?:\\.|[^:\\])*)/g)].map(([, field = '']) => field.replace(/\\(.)/g, '$1')),
    )
}

function textOf(file: string): string {
  try {
    const mode = statSync(file).mode & 0o777
    if ((mode & 0o077) === 0) return readFileSync(file, 'utf8')
    throw new NoPassword(
      `the server asks for a password, and ${file} is not used, because its mode is ${mode.toString(8).padStart(4, '0')}: chmod 600 ${file}`,
    )
  } catch (error) {
    if (error instanceof NoPassword) throw error
    const { code } = error as { code?: string }
    throw new NoPassword(
      code === 'ENOENT'
        ? `the server asks for a password, and ${file} does not exist`
        : `the server asks for a password, and ${file} cannot be read: ${code}`,
    )
  }
}
