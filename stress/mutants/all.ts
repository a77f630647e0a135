/** Every mutant, by the rule that it breaks: the durability rules of the design (section 5), and what stands beside them. */
import { ACKNOWLEDGED, NAMES_ON_DISK } from './barriers.js'
import { INTENT } from './intent.js'
import { LOCKS } from './locks.js'
import { DAMAGE, FAILED_SYNC, FAILED_WRITE, UNSYNCED } from './log-rules.js'
import type { Mutant } from './mutant.js'
import { DELIVERED_ONCE, KEYS, TOKENS, TRANSITIONS } from './once.js'
import { REBUILDABLE, ROWS, SETTLING } from './recovery.js'
import { MAIL, NAMES, OWNER_ALONE, TREE } from './tree.js'

export interface RuleMutant extends Mutant {
  rule: string
}

const BY_RULE: Record<string, Mutant[]> = {
  '1 acknowledged': ACKNOWLEDGED,
  '2 intent': INTENT,
  '3 names on disk': NAMES_ON_DISK,
  '4 unsynced': UNSYNCED,
  '5 damage': DAMAGE,
  '6 failed sync': FAILED_SYNC,
  '7 failed write': FAILED_WRITE,
  '8 locks': LOCKS,
  '9 delivered once': DELIVERED_ONCE,
  '10 rebuildable': REBUILDABLE,
  'recovery table': ROWS,
  settling: SETTLING,
  keys: KEYS,
  tokens: TOKENS,
  transitions: TRANSITIONS,
  names: NAMES,
  tree: TREE,
  mail: MAIL,
  'owner alone': OWNER_ALONE,
}

export const MUTANTS: RuleMutant[] = Object.entries(BY_RULE).flatMap(([rule, mutants]) =>
  mutants.map((mutant) => ({ rule, ...mutant })),
)
