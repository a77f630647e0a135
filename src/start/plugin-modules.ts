/** Loads the modules of stores and of providers. */
import { requireSaved } from './saved-module.js'

let load: ((file: string) => unknown) | undefined

export function keepLoader(given: typeof load): void {
  load = given
}

/** The exports of a CommonJS module, from V8's compiled code if an earlier command has saved it. */
export function loadModule(file: string): unknown {
  return (load ?? requireSaved)(file)
}
