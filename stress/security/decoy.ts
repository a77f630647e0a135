/** Files outside the home that no command may touch. Their bytes and times show whether a link to them was followed. */
import {
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Stands in for a secret: a command that prints it has read the file. */
export const CANARY = 'canary-7f3b19-outside-of-the-home'

export class Decoy {
  readonly root = mkdtempSync(join(tmpdir(), 'substrat-decoy-'))

  /** Contains only a file with the canary, a directory with one, and a name that does not exist. */
  reset(): void {
    for (const name of readdirSync(this.root)) rmSync(join(this.root, name), { recursive: true })
    mkdirSync(join(this.root, 'directory'))
    writeFileSync(this.file, `${CANARY}\n`)
    writeFileSync(join(this.root, 'directory', 'file'), `${CANARY}\n`)
    // A name that a sweep of temporary files would remove.
    writeFileSync(join(this.root, 'directory', 'x.1-1.tmp'), `${CANARY}\n`)
  }

  get file(): string {
    return join(this.root, 'file')
  }
  get directory(): string {
    return join(this.root, 'directory')
  }
  /** The path that does not exist. */
  get nothing(): string {
    return join(this.root, 'nothing')
  }

  /** A copy of the home's file, so that a command that follows the link finds what it expects. */
  copyOf(path: string): string {
    const copy = join(this.root, 'copy')
    cpSync(path, copy, { recursive: true, preserveTimestamps: true })
    return copy
  }

  /** Names, kinds, modes, times and bytes. */
  print(): string {
    const lines: string[] = []
    const look = (path: string): void => {
      const { mode, mtimeNs, ctimeNs } = lstatSync(path, { bigint: true })
      const isDirectory = (mode & 0o170000n) === 0o040000n
      const bytes = isDirectory ? '' : readFileSync(path, 'latin1')
      lines.push(`${path} ${mode.toString(8)} ${mtimeNs} ${ctimeNs} ${bytes}`)
      if (isDirectory) for (const name of readdirSync(path).sort()) look(join(path, name))
    }
    look(this.root)
    return lines.join('\n')
  }

  close(): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}
