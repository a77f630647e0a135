/** Every scenario of the crash tests. */

import { CHANNEL } from './channel.js'
import { DELIVER } from './deliver.js'
import { END } from './end.js'
import { INFERENCE } from './inference.js'
import { KEYS } from './keys.js'
import { MAIL } from './mail.js'
import { MENDING } from './mending.js'
import { MOVES } from './moves.js'
import { OUTBOUND } from './outbound.js'
import { RECOVER_ALL } from './recover.js'
import type { Scenario } from './scenario.js'
import { SEND } from './send.js'
import { SETTINGS } from './settings.js'
import { SPAWN } from './spawn.js'
import type { LabName } from './stage.js'
import { STOP } from './stop.js'
import { TOOLS } from './tools.js'
import { TREE } from './tree.js'
import { UPGRADE } from './upgrade.js'
import { UPGRADE_WAITS } from './upgrade-waits.js'
import { WAITS } from './waits.js'

const SCENARIOS: Scenario[] = [
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
  ...MOVES,
  ...SETTINGS,
  ...MENDING,
  ...OUTBOUND,
  ...CHANNEL,
  ...UPGRADE,
  ...UPGRADE_WAITS,
]

/** The scenarios that the lab runs. */
export function scenariosOf(lab: LabName): Scenario[] {
  return SCENARIOS.filter(({ not }) => not?.[lab] === undefined)
}

export function scenarioOf(name: string): Scenario {
  const found = SCENARIOS.find((scenario) => scenario.name === name)
  if (found === undefined) throw new Error(`there is no scenario ${name}`)
  return found
}
