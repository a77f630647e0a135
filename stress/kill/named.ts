/** The moments of a turn whose kills the report counts separately. Each is a range of the kill points of a scenario. */
import type { KillPoint } from './strace.js'

/** The n-th call of that kind on that file. */
type Mark = [syscall: string, what: RegExp, nth: number]

interface Moment {
  name: string
  scenario: string
  /** The kill comes after this call, and before (or right before) that one. */
  after: Mark
  upTo: Mark
}

const CRADLE = /^agents\/\.spawn-<id>$/
const FIRST_BATCH = /^agents\/\.spawn-<id>\/events\.jsonl$/
const LOG = /^agents\/<id>\/events\.jsonl$/
const TOLD = /^socket$/
const QUEUED = /^agents\/<id>\/inbox\//

export const MOMENTS: Moment[] = [
  ...['spawn', 'spawn-prompt', 'spawn-child'].map((scenario) => ({
    ...{ scenario, name: 'after create, before the record' },
    after: ['mkdir', CRADLE, 1] as Mark,
    upTo: ['pwrite64', FIRST_BATCH, 1] as Mark,
  })),
  {
    ...{ scenario: 'spawn-prompt', name: 'record written, before the first send' },
    after: ['pwrite64', FIRST_BATCH, 1],
    upTo: ['fdatasync', LOG, 1],
  },
  {
    ...{ scenario: 'send', name: 'send done, before the reply is delivered' },
    after: ['pwrite64', LOG, 2],
    upTo: ['write', TOLD, 2],
  },
  {
    // The child's log has the reply; its parent does not have it yet.
    ...{ scenario: 'send-mail', name: 'send done, before the reply is delivered' },
    after: ['pwrite64', LOG, 5],
    upTo: ['link', QUEUED, 2],
  },
  ...['send-queue', 'send-mail'].map((scenario) => ({
    ...{ scenario, name: 'enqueued, before marked delivered' },
    after: ['link', QUEUED, 1] as Mark,
    upTo: ['fdatasync', LOG, scenario === 'send-queue' ? 1 : 3] as Mark,
  })),
  {
    ...{ scenario: 'spawn-child', name: 'tree link written, before spawn returns' },
    after: ['rename', CRADLE, 1],
    upTo: ['write', TOLD, 2],
  },
  {
    // From the sync of the model request to the record of its response.
    ...{ scenario: 'send-inference', name: 'in mid-inference' },
    after: ['fdatasync', LOG, 1],
    upTo: ['pwrite64', LOG, 2],
  },
]

/** The same points, each with the name of its moment. */
export function namePoints(scenario: string, points: KillPoint[]): KillPoint[] {
  const named = points.map((point) => ({ ...point }))
  for (const { name, after, upTo } of MOMENTS.filter((moment) => moment.scenario === scenario)) {
    const [from, to] = [indexOf(points, after), indexOf(points, upTo)]
    if (from === -1 || to <= from) throw new Error(`"${name}" no longer has a place in ${scenario}`)
    for (const point of named.slice(from + 1, to + 1)) point.named = name
  }
  return named
}

function indexOf(points: KillPoint[], [syscall, what, nth]: Mark): number {
  const found = points.flatMap((point, index) =>
    point.syscall === syscall && what.test(point.what) ? [index] : [],
  )
  return found[nth - 1] ?? -1
}
