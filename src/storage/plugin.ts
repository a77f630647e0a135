/** The contract between this program and the package of a store (`substrat/store`). It has types only. */
import type * as kit from './kit.js'
import type { Store } from './store.js'
import type { HomeTransfer } from './transfer.js'

export type * from './store.js'
export type * from './transfer.js'

export type StoreKit = typeof kit

/** The exports of the module of a store. */
export interface StorePlugin {
  /** Opens the home at a URL without its password. Throws if it cannot be used. Creates nothing. */
  open(kit: StoreKit, url: string, password: string | undefined): Store
  /** The process may open the home soon: connects and reads ahead meanwhile. Errors come from `open`. */
  prepare?(kit: StoreKit, url: string, password: string | undefined): void
  /** The same home for `migrate`, which also reads and opens closed ones. */
  transfer(kit: StoreKit, url: string, password: string | undefined): HomeTransfer
}
