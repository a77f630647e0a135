/** Starts the bundle from V8's compiled code. Compiling the bundle would take most of a start. */
import { runSaved, saveAtExit } from './saved-module.js'
import type { Starter } from './starter.js'

/** The exports of the bundle. */
interface Bundle {
  COMMANDS: Record<string, unknown>
  main(root: string, starter: Starter): unknown
}

export function loadBundle(file: string): Bundle {
  const saved = runSaved(file, {
    // The build writes plain ASCII, which Node decodes fastest as Latin-1.
    encoding: 'latin1',
    members: { importModule: (specifier: string) => import(specifier) },
    warn: (why) => console.error(`substrat: warning: ${why}`),
  })
  const bundle = saved.module.exports as Bundle
  saveAtExit(saved, (command) => Object.keys(bundle.COMMANDS).some((id) => id.split(':')[0] === command))
  return bundle
}
