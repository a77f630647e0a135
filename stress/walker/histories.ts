/** Small histories, each of which ends in one error. */
import { AGENTS } from './agents.js'
import { DECISIONS } from './decisions.js'
import { HOMES } from './homes.js'
import { MOVES } from './moves.js'
import { OTHERS } from './others.js'
import { PLUGINS } from './plugins.js'
import { SCHEDULES } from './schedules.js'
import { SERVE_TOKENS } from './serve-tokens.js'
import { USAGE } from './usage.js'
import type { History } from './walk.js'

export const HISTORIES: History[] = [
  ...USAGE,
  ...AGENTS,
  ...DECISIONS,
  ...OTHERS,
  ...HOMES,
  ...MOVES,
  ...PLUGINS,
  ...SERVE_TOKENS,
  ...SCHEDULES,
]
