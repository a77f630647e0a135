/** Installs the real programs from the npm registry, each version once per machine. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { repository } from '../support/lab.js'
import type { RealProgram } from './program.js'

const run = promisify(execFile)
const INSTALL_MS_MAX = 300_000

/** Returns the path of the executable. Throws an Error with a one-line reason if there is none. */
export async function install({
  packages,
  executable,
}: Pick<RealProgram, 'packages' | 'executable'>): Promise<string> {
  const words = Object.entries(packages).map(([name, version]) => `${name}@${version}`)
  if (words.length === 0) return join(repository, 'stress/real', executable)
  const cache = join(tmpdir(), 'substrat-real-programs')
  const folder = join(cache, words.join('+').replaceAll(/[^\w.@+-]/g, '_'))
  const program = join(folder, 'node_modules/.bin', executable)
  if (existsSync(program)) return program
  mkdirSync(cache, { recursive: true })
  // Installed atomically: another run may be looking, and this one may be stopped.
  const making = mkdtempSync(join(cache, '.making-'))
  try {
    writeFileSync(join(making, 'package.json'), '{"private":true}')
    const options = ['--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']
    await run('npm', ['install', ...options, ...words], { cwd: making, timeout: INSTALL_MS_MAX })
    if (!existsSync(join(making, 'node_modules/.bin', executable))) {
      throw new Error(`${words.join(' ')} has no executable ${executable}`)
    }
    rmSync(folder, { recursive: true, force: true })
    renameSync(making, folder)
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    throw new Error((stderr?.trim() || message).split('\n')[0])
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
  return program
}
