/** Opens a home by its address, which is the value of SUBSTRAT_HOME. */
import { FileStore } from './file-store.js'
import { HomePaths } from './paths.js'
import type { Entry, Store, Unseen } from './store.js'
import { surveyHome } from './survey.js'

/** Undefined if there is no home. Writes nothing. */
export function openHome(address: string): Store | undefined {
  return FileStore.openForRead(address)
}

/** Creates the home if it is missing. */
export function openOrCreateHome(address: string): Store {
  return FileStore.openForWrite(address)
}

/** Every name in a home in files, also if its home.json is unreadable. */
export function surveyOf(address: string): Iterable<Entry | Unseen> {
  return surveyHome(address)
}

/** home.json. Without it, no other file of the home is read. */
export function factsPath(address: string): string {
  return new HomePaths(address).homeFile
}

/** config.json, which may not exist, also without a home. */
export function configFilePath(address: string): string {
  return new HomePaths(address).configFile
}
