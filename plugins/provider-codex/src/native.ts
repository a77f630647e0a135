/**
 * The npm package of codex is a launcher in JavaScript: a whole Node that starts the program and waits for it. Started
 * directly, a turn takes a fifth less, and its signals need nobody who passes them on.
 */
import { readdirSync, realpathSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join, resolve } from 'node:path'

export interface Launch {
  command: [string, ...string[]]
  /** What the launcher tells the program. */
  env: Record<string, string>
}

type Environment = Record<string, string | undefined>

/** As it is, where it is not that launcher, or where what it launches is not found: it says itself what is wrong. */
export function directLaunch(
  command: [string, ...string[]],
  workspace: string,
  environment: Environment,
): Launch {
  const [program, ...args] = command
  const native = nativeProgram(program, workspace, environment)
  if (native === undefined) return { command, env: {} }
  const { file, root } = native
  return {
    command: [file, ...args],
    env: { CODEX_MANAGED_PACKAGE_ROOT: root, CODEX_MANAGED_BY_NPM: '1' },
  }
}

function nativeProgram(
  program: string,
  workspace: string,
  environment: Environment,
): { file: string; root: string } | undefined {
  try {
    const launcher = realpathSync(locate(program, workspace, environment))
    if (!launcher.endsWith('/node_modules/@openai/codex/bin/codex.js')) return undefined
    const platform = `@openai/codex-${process.platform}-${process.arch}/package.json`
    const vendor = join(dirname(createRequire(launcher).resolve(platform)), 'vendor')
    // One folder, of the target that the package is built for.
    const [target, ...others] = readdirSync(vendor)
    if (target === undefined || others.length > 0) return undefined
    const file = join(vendor, target, 'bin/codex')
    return isProgram(file) ? { file, root: dirname(dirname(launcher)) } : undefined
  } catch {
    return undefined
  }
}

/** As a shell in the workspace finds it. */
function locate(program: string, workspace: string, { PATH = '' }: Environment): string {
  if (program.includes('/')) return resolve(workspace, program)
  const found = PATH.split(delimiter)
    .map((folder) => resolve(workspace, folder, program))
    .find(isProgram)
  return found ?? program
}

function isProgram(file: string): boolean {
  const stat = statSync(file, { throwIfNoEntry: false })
  return stat?.isFile() === true && (stat.mode & 0o111) !== 0
}
