/** A file for a program's eyes only, for what the arguments must not have: those are readable by everybody on the machine. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface PrivateFile {
  path: string
  /** May be called more than once. */
  remove(): void
}

export function privateFile(name: string, text: string): PrivateFile {
  const folder = mkdtempSync(join(tmpdir(), 'substrat-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  try {
    const path = join(folder, name)
    writeFileSync(path, text, { mode: 0o600 })
    return { path, remove }
  } catch (error) {
    remove()
    throw error
  }
}
