/** What stands outside of the home, and is nobody's business: a link that is followed there is seen by its bytes and its times. */
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

/** In the place of secrets: whatever prints it has read it. */
export const CANARY = 'canary-7f3b19-outside-of-the-home'

export class Decoy {
  readonly root = mkdtempSync(join(tmpdir(), 'substrat-decoy-'))

  /** With nothing in it but a file with the canary, a directory with one, and a place where nothing is yet. */
  reset(): void {
    for (const name of readdirSync(this.root)) rmSync(join(this.root, name), { recursive: true })
    mkdirSync(join(this.root, 'directory'))
    writeFileSync(this.file, `${CANARY}\n`)
    writeFileSync(join(this.root, 'directory', 'file'), `${CANARY}\n`)
    // What a sweep would take away.
    writeFileSync(join(this.root, 'directory', 'x.1-1.tmp'), `${CANARY}\n`)
  }

  get file(): string {
    return join(this.root, 'file')
  }
  get directory(): string {
    return join(this.root, 'directory')
  }
  /** A name that nothing has. */
  get nothing(): string {
    return join(this.root, 'nothing')
  }

  /** What stood in the home, so that one who follows the link to it finds all that it looks for. */
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
