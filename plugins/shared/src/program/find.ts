/** Whether a program is there, for `substrat check`. It is not started. */
import { failure } from '../failure.js'
import { outputOf } from './output-of.js'

/**
 * Throws a failure of type `misconfigured`. `command`: a program, or a shell command. One that does not begin with a plain word, such as
 * `(a; b)`, is not checked.
 */
export async function findProgram(command: string, workspace: string, signal: AbortSignal): Promise<void> {
  const [word] = /^[\w./+@:-]+(?=\s|$)/.exec(command.trim()) ?? []
  if (word === undefined) return
  const argv: [string, ...string[]] = ['/bin/sh', '-c', 'command -v "$1"', 'sh', word]
  try {
    await outputOf({ name: word, argv, cwd: workspace, signal })
  } catch {
    throw failure('misconfigured', `the program ${word} was not found`)
  }
}
