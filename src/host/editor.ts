/** The user's own editor, on this terminal. */
import { spawn, spawnSync } from 'node:child_process'
import { SubstratError } from '../errors.js'

/** `command`: words for the shell, such as `code --wait`. Throws USAGE if it cannot run or fails. `caller`: for the hint. */
export async function edit(command: string, path: string, caller: string): Promise<void> {
  // Ctrl-C in an editor is a key of the editor, so nothing here may take it for a signal to the command.
  const ignore = (): void => undefined
  const listeners = process.rawListeners('SIGINT') as (() => void)[]
  process.on('SIGINT', ignore)
  for (const listener of listeners) process.off('SIGINT', listener)
  try {
    const code = await run(command, path)
    if (code === 0) return
    throw new SubstratError('USAGE', `the editor failed (${command}: ${code}), so nothing is changed`, {
      hint: `name another editor: EDITOR=vi ${caller}`,
    })
  } finally {
    for (const listener of listeners) process.on('SIGINT', listener)
    process.off('SIGINT', ignore)
  }
}

/** An editor that most systems have. Undefined if this one has none of them. */
export function commonEditor(): string | undefined {
  const look = 'for name in sensible-editor nano vi; do command -v "$name" && exit; done'
  return (
    spawnSync('/bin/sh', ['-c', look], { encoding: 'utf8' }).stdout?.trim().split('/').at(-1) || undefined
  )
}

/** Resolves with the exit status, or the signal. */
function run(command: string, path: string): Promise<number | string | null> {
  return new Promise((resolve, reject) => {
    // The shell too gets the signal of Ctrl-C, and must outlive an editor that handles it.
    const child = spawn('/bin/sh', ['-c', `trap : INT; ${command} "$1"`, 'sh', path], { stdio: 'inherit' })
    child.on('error', reject)
    child.on('close', (code, signal) => resolve(code ?? signal))
  })
}
