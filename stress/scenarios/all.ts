/** Every command that is swept, each with the home it starts from and what the contract says of it. */

import { DELIVER } from './deliver.js'
import { END } from './end.js'
import { INFERENCE } from './inference.js'
import { KEYS } from './keys.js'
import { MAIL } from './mail.js'
import { RECOVER_ALL } from './recover.js'
import type { Scenario } from './scenario.js'
import { SEND } from './send.js'
import { SETTINGS } from './settings.js'
import { SPAWN } from './spawn.js'
import { STOP } from './stop.js'
import { TOOLS } from './tools.js'
import { TREE } from './tree.js'
import { WAITS } from './waits.js'

export const SCENARIOS: Scenario[] = [
  ...SPAWN,
  ...SEND,
  ...KEYS,
  ...INFERENCE,
  ...TOOLS,
  ...MAIL,
  ...WAITS,
  ...RECOVER_ALL,
  ...DELIVER,
  ...STOP,
  ...END,
  ...TREE,
  ...SETTINGS,
]
