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
import { onlyInFiles, type Scenario } from './scenario.js'
import { SCHEDULES } from './schedules.js'
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

const FORMAT_1 = 'every home of format 1 is in files'

const SCENARIOS: Scenario[] = [
  ...SPAWN,
  ...SEND,
  ...onlyInFiles('it writes thousands of turns into the file of the log', KEYS),
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
  ...SCHEDULES,
  ...onlyInFiles('doctor repairs files; a database has the repairs of its server', MENDING),
  ...OUTBOUND,
  ...CHANNEL,
  ...onlyInFiles(FORMAT_1, UPGRADE),
  ...onlyInFiles(FORMAT_1, UPGRADE_WAITS),
]

/** The scenarios that the lab runs. */
export function scenariosOf(lab: LabName | 'postgres'): Scenario[] {
  return SCENARIOS.filter(({ not }) => not?.[lab] === undefined)
}

/** The scenarios that the lab leaves out, with the reason. */
export function leftOutBy(lab: LabName | 'postgres'): [name: string, reason: string][] {
  return SCENARIOS.flatMap(({ name, not }) => (not?.[lab] === undefined ? [] : [[name, not[lab]]]))
}

export function scenarioOf(name: string): Scenario {
  const found = SCENARIOS.find((scenario) => scenario.name === name)
  if (found === undefined) throw new Error(`there is no scenario ${name}`)
  return found
}
