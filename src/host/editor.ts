/** The user's own editor, on this terminal. */
import { spawn } from 'node:child_process'
import { SubstratError } from '../errors.js'

/** `command`: words for the shell, such as `code --wait`. Throws USAGE if it cannot run or fails. `caller`: for the hint. */
export async function edit(command: string, path: string, caller: string): Promise<void> {
  // Ctrl-C in an editor is a key of the editor.
  const ignore = (): void => undefined
  process.on('SIGINT', ignore)
  try {
    const code = await run(command, path)
    if (code === 0) return
    throw new SubstratError('USAGE', `the editor failed (${command}: ${code}), so nothing is changed`, {
      hint: `name another editor: EDITOR=vi ${caller}`,
    })
  } finally {
    process.off('SIGINT', ignore)
  }
}

/** Resolves with the exit status, or the signal. */
function run(command: string, path: string): Promise<number | string | null> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', `${command} "$1"`, 'sh', path], { stdio: 'inherit' })
    child.on('error', reject)
    child.on('close', (code, signal) => resolve(code ?? signal))
  })
}
