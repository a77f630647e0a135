/** Opens a home by its address, which is the value of SUBSTRAT_HOME: a directory, or the URL of a home that a plugin keeps. */
import { SubstratError } from '../errors.js'
import { FileStore } from './file-store.js'
import { FileTransfer } from './file-transfer.js'
import * as kit from './kit.js'
import { chooseLockKind } from './locks/kernel-lock.js'
import { type KernelLease, tryLease } from './locks/lease.js'
import { HomePaths } from './paths.js'
import type { StoreKit } from './plugin.js'
import type { Entry, Store, Unseen } from './store.js'
import { surveyHome } from './survey.js'
import type { HomeTransfer } from './transfer.js'

export type { StorePlugin } from './plugin.js'
export { type HomeTransfer, type KeptThings, type Migration, migratingError, nextOf } from './transfer.js'

const SCHEME = /^([a-z][a-z0-9+.-]*):\/\//

/** The scheme of a URL. Undefined for a directory. */
export function schemeOf(address: string): string | undefined {
  return SCHEME.exec(address)?.[1]
}

interface ByUrl {
  open(kit: StoreKit, url: string): Store
  transfer(kit: StoreKit, url: string): HomeTransfer
  prepare(kit: StoreKit, url: string): void
}

let byUrl: ByUrl | undefined

/** Storage knows no plugins: the layer that does gives it the functions that open a URL. */
export function openUrlsWith(functions: ByUrl): void {
  byUrl = functions
}

/** The process may open that home soon, which takes less time then. */
export function prepareHome(url: string): void {
  byUrl?.prepare(kit, url)
}

/** A home that takes part in a migration. Writes nothing. */
export function transferOf(address: string): HomeTransfer {
  if (schemeOf(address) === undefined) return new FileTransfer(address)
  return byUrl === undefined ? refuseUrl(address) : byUrl.transfer(kit, address)
}

/** Undefined if there is no home. Writes nothing. */
export function openHome(address: string): Store | undefined {
  return schemeOf(address) === undefined ? FileStore.openForRead(address) : openUrl(address)
}

/**
 * The right to a file outside of every home. Undefined while another process has it. Only a kernel lock, also on a file system of
 * another machine: a lock directory would outlive a killed holder.
 */
export function lockFile(path: string, command: string): Promise<KernelLease | undefined> {
  return tryLease({ kind: chooseLockKind(), isLocal: true }, path, command)
}

/** Creates the home if it is missing, but not in a database. */
export function openOrCreateHome(address: string): Store {
  return schemeOf(address) === undefined ? FileStore.openForWrite(address) : openUrl(address)
}

function openUrl(url: string): Store {
  return byUrl === undefined ? refuseUrl(url) : byUrl.open(kit, url)
}

function refuseUrl(url: string): never {
  throw new SubstratError('HOME_UNUSABLE', `this program opens only homes in files, and the home is ${url}`, {
    hint: 'set SUBSTRAT_HOME to a directory',
  })
}

/** Every name in a home in files, also if its home.json is unreadable. None for a URL. */
export function surveyOf(address: string): Iterable<Entry | Unseen> {
  return schemeOf(address) === undefined ? surveyHome(address) : []
}

/** home.json. Without it, no other file of the home is read. */
export function factsPath(address: string): string {
  return new HomePaths(address).homeFile
}

/** config.json, which may not exist, also without a home. A home at a URL has its settings there. */
export function configFilePath(address: string): string {
  return schemeOf(address) === undefined ? new HomePaths(address).configFile : address
}
