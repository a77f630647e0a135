/**
 * Whether the program of a turn is there. It is not started. A program in PATH costs a few calls of access(2). Only for one that is not
 * found there the shell is asked too, which knows its own words and the default PATH.
 */
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { isProgram } from '../files/user-files.js'
import type { ProviderProgram } from './contract.js'
import { providerFailure } from './failure.js'

/** Throws a failure of type `misconfigured` if the program cannot be there. */
export async function findProgram(
  program: ProviderProgram | undefined,
  workspace: string,
  signal: AbortSignal,
): Promise<void> {
  if (program === undefined) return
  const name = 'name' in program ? program.name : firstWord(program.shell)
  if (name === undefined || isInPath(name, workspace)) return
  if (name.includes('/')) throw providerFailure('misconfigured', `the program ${name} is not there`)
  if (await shellLacks(name, workspace, signal))
    throw providerFailure('misconfigured', `the program ${name} is not in PATH`)
}

/**
 * Undefined if the command may work without its first word: it has an alternative, such as `gmake || make`, or begins with a function or
 * with more than a plain word, such as `(a; b)`.
 */
function firstWord(command: string): string | undefined {
  if (/\|\||[;\n]|(?<![&>])&(?![&>])/.test(command.trim())) return undefined
  return /^[\w./+@:-]+(?=\s|$)(?!\s*\()/.exec(command.trim())?.[0]
}

function isInPath(name: string, workspace: string): boolean {
  const directories = name.includes('/') ? [''] : (process.env.PATH?.split(':') ?? [])
  return directories.some((directory) => isProgram(resolve(workspace, directory, name)))
}

/** False if the shell could not be asked: the turn itself then finds out. */
async function shellLacks(name: string, cwd: string, signal: AbortSignal): Promise<boolean> {
  const argv = ['-c', 'command -v "$1"', 'sh', name]
  return new Promise((settle) => {
    execFile('/bin/sh', argv, { cwd, signal }, (error) => settle(typeof error?.code === 'number'))
  })
}
