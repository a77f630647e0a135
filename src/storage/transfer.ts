/**
 * The homes of a migration (`operations/transfer/migrate.ts`). Each home records its part, so that a killed migration continues and no moment
 * has two open homes:
 *
 * | source  | target   | what a kill leaves                                      |
 * |---------|----------|---------------------------------------------------------|
 * | open    | none     | nothing                                                 |
 * | open    | arriving | an empty target that no other command opens             |
 * | leaving | arriving | two closed homes: continue, or cancel                   |
 * | left    | arriving | two closed homes with the same content: continue        |
 * | left    | open     | the end                                                 |
 */
import { SubstratError, shellWord } from '../errors.js'
import type { RemovedAgent } from '../format.js'
import type { Store } from './store.js'

export interface Migration {
  id: string
  state: 'arriving' | 'leaving' | 'left'
  /** The other home, for a person. */
  other: string
}

/** Things that no method of a store reads or writes. */
export interface KeptThings {
  /** Messages that the operator took, with the time. */
  taken: { messageId: string; message: object; takenMs: number }[]
  moves: { agentId: string; moveId: string }[]
  removed: RemovedAgent[]
}

export interface HomeTransfer {
  /** For a person, without a password. */
  readonly label: string
  /** Undefined without a home. Reads closed homes too. */
  facts(): { homeId: string; isEmpty: boolean; migration: Migration | undefined } | undefined
  /** The store of the home, also if it is closed. */
  store(): Store
  /** Creates or continues an empty home with that id, which only a migration opens. Durable. */
  arrive(homeId: string, migration: Migration): Store
  /** Closes the home: no other process changes anything in it, though one may still hold an agent. Durable, and may be repeated. */
  closeFor(migration: Migration): Store
  /** From now on the home cannot be reopened. Durable. */
  markLeft(): void
  /** Opens a home that has arrived. Durable, and may be repeated. */
  open(): void
  /** Undoes `closeFor`. Durable, and may be repeated. */
  reopen(): void
  /** Empties a home that is arriving. */
  discard(): void
  readKept(): KeptThings
  writeKept(kept: KeptThings): void
}

/** A home that takes part in a migration is open for no other command. */
export function migratingError(label: string, { state, other }: Migration): SubstratError {
  if (state === 'left')
    return new SubstratError('HOME_UNUSABLE', `the home ${label} was migrated to ${other}`, {
      hint: 'set SUBSTRAT_HOME to that home',
      facts: { home: label, migrated_to: other },
    })
  const [from, to] = state === 'leaving' ? [label, other] : [other, label]
  return new SubstratError('HOME_UNUSABLE', `the home ${label} is in a migration that has not ended`, {
    hint: nextOf(from, to),
    facts: { home: label, from, to },
  })
}

/** The commands that end a migration that has begun. */
export function nextOf(from: string, to: string): string {
  const command = `substrat migrate --from ${shellWord(from)} --to ${shellWord(to)}`
  return `continue it: ${command}; or undo it: ${command} --cancel`
}
