/** Scripts of test/support that import the sources and run as real processes; bundled once per test file. */
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

/** Call it at the top of a test file. Scripts that still run after the file are killed. */
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
      // Keeps the path at which the sources look for the native locks.
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
