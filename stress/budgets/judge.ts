/** Judges the logs of a tree under one cap, with a count that is independent of the product's fold. */
import type { SessionRecord } from '../../src/session/records.js'

/** The hold of one request, from one time to another, and its count after that. */
export interface Hold {
  agent: string
  from: string
  to: string
  held: number
  counted: number
}

export interface Refusal {
  agent: string
  at: string
  needs: number
}

const FREE = ['rate_limit', 'overloaded', 'authentication', 'billing', 'misconfigured', 'invalid', 'overflow']
const NEVER = '9999'

/** A service charges for an answer that began, also if an error ends it. */
function isFree(record: SessionRecord & { kind: 'model.failed' }): boolean {
  const hasBegun = record.answer_began === true || record.usage !== undefined || record.model !== undefined
  return !hasBegun && FREE.includes(record.error.type)
}

export function holdsIn(agent: string, records: SessionRecord[]): Hold[] {
  const holds: Hold[] = []
  let open: Hold | undefined
  const end = (ts: string, counted: number): void => {
    if (open !== undefined) holds.push({ ...open, to: ts, counted })
    open = undefined
  }
  for (const record of records) {
    switch (record.kind) {
      case 'budget.held':
        end(record.ts, open?.held ?? 0)
        open = { agent, from: record.ts, to: NEVER, held: record.amounts.tokens ?? 0, counted: 0 }
        break
      case 'model.responded': {
        const { usage } = record
        end(record.ts, usage === undefined ? (open?.held ?? 0) : usage.input_tokens + usage.output_tokens)
        break
      }
      case 'model.failed':
        end(record.ts, isFree(record) ? 0 : (open?.held ?? 0))
        break
      case 'run.failed':
      case 'run.cancelled':
      case 'run.interrupted':
        end(record.ts, open?.held ?? 0)
    }
  }
  if (open !== undefined) holds.push({ ...open, counted: open.held })
  return holds
}

/** Requests without a hold in their batch, while a cap is over the agent. */
export function unheldIn(agent: string, records: SessionRecord[]): string[] {
  return records.flatMap((record, index) =>
    record.kind === 'model.requested' && records[index - 1]?.kind !== 'budget.held'
      ? [`${agent}: request ${record.seq} has no hold`]
      : [],
  )
}

export function refusalsIn(agent: string, records: SessionRecord[]): Refusal[] {
  return records.flatMap((record) =>
    record.kind === 'run.waiting' && record.wait === 'budget'
      ? [{ agent, at: record.ts, needs: record.needs?.tokens ?? 0 }]
      : [],
  )
}

/** The use at that time: the counts of ended requests, and the holds of open ones. */
function usedAt(holds: Hold[], at: string, besides?: string): number {
  let used = 0
  for (const { agent, from, to, held, counted } of holds)
    if (from <= at && !(agent === besides && from === at)) used += to <= at ? counted : held
  return used
}

export interface CapChange {
  at: string
  max: number
}

function capAt(caps: CapChange[], at: string): number {
  return caps.findLast((change) => change.at <= at)?.max ?? 0
}

/** `slackMs`: a request is in an account a moment before it is in its log. */
export function judge(
  holds: Hold[],
  refusals: Refusal[],
  caps: CapChange[],
  killsAt: number[],
  excess: number,
  slackMs: number,
): string[] {
  const violations: string[] = []
  for (const { agent, from } of holds) {
    const used = usedAt(holds, from)
    const max = capAt(caps, from)
    if (used > max + excess) violations.push(`${agent} held at ${from}, and ${used} of ${max} were used then`)
  }
  for (const { agent, at, needs } of refusals) {
    const late = new Date(Date.parse(at) + slackMs).toISOString()
    const early = new Date(Date.parse(at) - slackMs).toISOString()
    // A process that dies between its account and its log holds for a moment what no log has.
    if (killsAt.some((ms) => Math.abs(ms - Date.parse(at)) < slackMs)) continue
    const used = Math.max(usedAt(holds, late), usedAt(holds, early), mostBetween(holds, early, late))
    const max = capAt(caps, at)
    if (used + needs <= max)
      violations.push(`${agent} was refused at ${at}: ${used} of ${max} used, ${needs} needed`)
  }
  return violations
}

function mostBetween(holds: Hold[], early: string, late: string): number {
  const times = holds.map(({ from }) => from).filter((from) => from >= early && from <= late)
  return Math.max(0, ...times.map((at) => usedAt(holds, at)))
}
