/** Starts the bundle from V8's compiled code. Compiling the bundle would take most of a start. */
import { runSaved, saveAtExit } from './saved-module.js'
import type { Starter } from './starter.js'

/** The exports of the bundle. */
interface Bundle {
  COMMANDS: Record<string, unknown>
  main(root: string, starter: Starter): unknown
}

/** A word that may be a command. Flags have no code of their own. */
const COMMAND = /^[a-z]+$/

export function loadBundle(file: string): Bundle {
  const [, , word = ''] = process.argv
  const command = COMMAND.test(word) ? word : ''
  const saved = runSaved(file, {
    command,
    encoding: 'latin1',
    members: { importModule: (specifier: string) => import(specifier) },
    warn: (why) => console.error(`substrat: warning: ${why}`),
  })
  const bundle = saved.module.exports as Bundle
  if (Object.keys(bundle.COMMANDS).some((id) => id.split(':')[0] === command)) saveAtExit(saved)
  return bundle
}
