/**
 * A copy of the repository for the mutants. The working tree is never edited, and later edits in it do not affect the
 * run.
 */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { repository } from '../support/lab.js'
import { sourcesIn } from './code.js'
import { type Mutant, mutate } from './mutant.js'

const LEFT_OUT = new Set(['.git', 'node_modules'])

export class Copy {
  private changed: { path: string; original: string } | undefined
  /** Whether the CLI's bundle is built from the unchanged sources. */
  private isBuilt = false

  private constructor(readonly root: string) {}

  static open(): Copy {
    const root = mkdtempSync(join(tmpdir(), 'substrat-mutants-'))
    for (const name of readdirSync(repository).filter((each) => !LEFT_OUT.has(each)))
      cpSync(join(repository, name), join(root, name), {
        recursive: true,
        filter: (path) => !LEFT_OUT.has(basename(path)),
      })
    symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'))
    // Tests start processes of another user.
    chmodSync(root, 0o755)
    return new Copy(root)
  }

  close(): void {
    rmSync(this.root, { recursive: true, force: true })
  }

  apply(mutant: Mutant): void {
    const { file, source } = mutate(sourcesIn(this.root), mutant)
    const path = join(this.root, 'src', file)
    const original = readFileSync(path, 'utf8')
    writeFileSync(path, source)
    this.changed = { path, original }
    this.isBuilt = false
  }

  restore(): void {
    if (this.changed === undefined) return
    writeFileSync(this.changed.path, this.changed.original)
    this.changed = undefined
    this.isBuilt = false
  }

  suitePath(suite: string): string {
    return join(this.root, 'test', `${suite}.test.ts`)
  }

  build(): void {
    if (this.isBuilt) return
    execFileSync(process.execPath, ['esbuild.config.mjs'], { cwd: this.root, stdio: 'pipe' })
    this.isBuilt = true
  }
}
