import { CONTROLS } from './controls.js'
import { DECISIONS } from './decisions.js'
import { EVENTS } from './events/routes.js'
import { METRICS } from './metrics/routes.js'
import { OPENAI } from './openai/routes.js'
import { READS } from './reads.js'
import type { Route } from './route.js'
import { SCHEDULES } from './schedules.js'
import { WRITES } from './writes.js'

export const ROUTES: Route[] = [
  ...READS,
  ...EVENTS,
  ...WRITES,
  ...DECISIONS,
  ...CONTROLS,
  ...SCHEDULES,
  ...METRICS,
  ...OPENAI,
]
