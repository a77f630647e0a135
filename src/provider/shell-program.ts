/** Whether the program of a shell command is there. The command itself is not run. */
import { execFile } from 'node:child_process'
import { providerFailure } from './failure.js'

/** Throws a failure of type `misconfigured`. A command that does not begin with a plain word, such as `(a; b)`, is not checked. */
export async function findShellProgram(
  command: string,
  workspace: string,
  signal: AbortSignal,
): Promise<void> {
  const [word] = /^[\w./+@:-]+(?=\s|$)/.exec(command.trim()) ?? []
  if (word === undefined) return
  const isThere = await new Promise<boolean>((resolve) => {
    execFile('/bin/sh', ['-c', 'command -v "$1"', 'sh', word], { cwd: workspace, signal }, (error) =>
      resolve(error === null),
    )
  })
  if (!isThere) throw providerFailure('misconfigured', `the program ${word} was not found`)
}
