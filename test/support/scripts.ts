/** Scripts of test/support that import the sources, as real processes: bundled once for a test file. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'
import { afterAll, beforeAll } from 'vitest'

const repository = join(import.meta.dirname, '..', '..')

export interface Scripts {
  start(script: string, args: string[], env?: Record<string, string>): ChildProcess
}

/** At the top of a test file. Those that still run after it are killed. */
export function useScripts(...scripts: string[]): Scripts {
  const children = new Set<ChildProcess>()
  let directory = ''
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'substrat-test-'))
    buildSync({
      entryPoints: scripts.map((script) => join(import.meta.dirname, script)),
      outdir: directory,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      platform: 'node',
      format: 'esm',
      // The add-on of the locks is looked for where the sources look for it.
      define: { 'import.meta.url': JSON.stringify(pathToFileURL(join(repository, 'src/x.js')).href) },
      banner: {
        js: `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(${JSON.stringify(pathToFileURL(join(repository, 'package.json')).href)})`,
      },
    })
  })
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  })
  return {
    start(script, args, env = {}) {
      const file = join(directory, script.replace(/\.ts$/, '.mjs'))
      const child = spawn(process.execPath, [file, ...args], {
        env: { ...process.env, ...env },
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      children.add(child)
      child.once('exit', () => children.delete(child))
      return child
    },
  }
}
