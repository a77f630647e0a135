/** Every mutant, by what it breaks: a durability rule (docs/architecture.md, Durability rules), or another part of the contract. */
import type { Mutant } from './mutant.js'
import { ACKNOWLEDGED } from './rules/acknowledged.js'
import { ACTORS } from './rules/actors.js'
import { BUDGETS } from './rules/budgets.js'
import { DAMAGE } from './rules/damage.js'
import { DAMAGED_LINES } from './rules/damaged-lines.js'
import { DELIVERED_ONCE } from './rules/delivered-once.js'
import { DISTRUSTED } from './rules/distrusted.js'
import { EFFECTS } from './rules/effects.js'
import { FAILED_SYNC } from './rules/failed-sync.js'
import { FAILED_WRITE } from './rules/failed-write.js'
import { INTENT } from './rules/intent.js'
import { KEYS } from './rules/keys.js'
import { LEFT_RUNNING } from './rules/left-running.js'
import { LOCKS } from './rules/locks.js'
import { MAIL } from './rules/mail.js'
import { MOVES } from './rules/moves.js'
import { NAMES } from './rules/names.js'
import { NAMES_ON_DISK } from './rules/names-on-disk.js'
import { OUTBOUND } from './rules/outbound.js'
import { OWNER_ALONE } from './rules/owner-alone.js'
import { PEOPLE } from './rules/people.js'
import { REBUILDABLE } from './rules/rebuildable.js'
import { ROWS } from './rules/recovery-table.js'
import { SCHEDULES } from './rules/schedules.js'
import { SETTLING } from './rules/settling.js'
import { TOKENS } from './rules/tokens.js'
import { TRANSITIONS } from './rules/transitions.js'
import { TREE } from './rules/tree.js'
import { UNDER_LOCKS } from './rules/under-locks.js'
import { UNSYNCED } from './rules/unsynced.js'
import { USAGE } from './rules/usage.js'

export type RuleMutant = Mutant & { rule: string }

const BY_RULE: Record<string, Mutant[]> = {
  '1 acknowledged': ACKNOWLEDGED,
  '2 intent': INTENT,
  '3 names on disk': NAMES_ON_DISK,
  '4 unsynced': UNSYNCED,
  '5 damage': [...DAMAGE, ...DAMAGED_LINES, ...DISTRUSTED],
  '6 failed sync': FAILED_SYNC,
  '7 failed write': FAILED_WRITE,
  '8 locks': [...LOCKS, ...UNDER_LOCKS],
  '9 delivered once': DELIVERED_ONCE,
  '10 rebuildable': REBUILDABLE,
  'recovery table': ROWS,
  settling: [...SETTLING, ...LEFT_RUNNING],
  actors: ACTORS,
  effects: EFFECTS,
  keys: KEYS,
  tokens: TOKENS,
  'usage and items': USAGE,
  budgets: BUDGETS,
  transitions: TRANSITIONS,
  names: NAMES,
  tree: TREE,
  mail: MAIL,
  schedules: SCHEDULES,
  moves: MOVES,
  outbound: OUTBOUND,
  'owner alone': OWNER_ALONE,
  people: PEOPLE,
}

export const MUTANTS: RuleMutant[] = Object.entries(BY_RULE).flatMap(([rule, mutants]) =>
  mutants.map((mutant) => ({ rule, ...mutant })),
)
