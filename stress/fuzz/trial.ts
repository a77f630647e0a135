/** Runs one sequence on a home and on its twin. */
import { join } from 'node:path'
import type { SessionRecord } from '../../src/session/records.js'
import { type Counts, type Host, noCounts } from './host.js'
import type { Sequence } from './steps.js'
import type { StepDone } from './story.js'
import { differences } from './twin.js'
import { live } from './victim.js'
import type { World } from './world.js'

export interface Trial {
  violations: string[]
  counts: Counts & {
    messages: number
    tokens: number
    notifications: number
    twins: number
    notCompared: number
  }
  /** The logs of the home with faults, by agent. */
  logs: Map<string, Buffer>
  story: StepDone[]
}

/** `name` is a directory unique to the home. */
export type MakeHost = (name: string, salt: number) => Promise<Host>

export async function tryOut(makeHost: MakeHost, directory: string, sequence: Sequence): Promise<Trial> {
  const host = await makeHost(join(directory, 'first'), sequence.salt)
  const lived = await live(host, sequence)
  const world = lived.atRest
  const logs = new Map(world.agents.map(({ state, log }) => [state.id, log]))
  const story = lived.story.steps
  const counts = {
    ...noCounts(),
    ...host.counts,
    messages: 0,
    tokens: 0,
    notifications: 0,
    twins: 0,
    notCompared: 0,
  }
  for (const { taken, records } of world.agents) {
    counts.messages += taken.length
    counts.tokens += records.filter(({ kind }) => kind === 'token.minted').length
    counts.notifications += records.filter(({ kind }) => kind === 'outbound.queued').length
  }
  if (lived.violations.length > 0 || !sequence.hasTwin)
    return { violations: lived.violations, counts, logs, story }
  if (
    hasFailedTool(world) ||
    hasLeftTurn(world) ||
    hasCutUnderWrongClock(story) ||
    hasReplacedInVain(story, world)
  ) {
    counts.notCompared = 1
    return { violations: [], counts, logs, story }
  }
  counts.twins = 1
  const twin = await makeHost(join(directory, 'twin'), sequence.salt + 1)
  return { violations: await differences(twin, lived), counts, logs, story }
}

/** The model sees a disk fault within a tool and may act differently from then on. */
function hasFailedTool({ agents }: World): boolean {
  return agents.some(({ records, text }) =>
    records.some(
      (record) =>
        record.kind === 'tool.finished' &&
        record.is_error &&
        / (ENOSPC|EIO|EDQUOT)\b|\((ENOSPC|EIO|EDQUOT)\)/.test(text(record)),
    ),
  )
}

/** A turn that failed too often: the next message overtook it. In the twin it was never interrupted. */
function hasLeftTurn({ agents }: World): boolean {
  return agents.some(({ fates }) =>
    [...fates.values()].some(({ status, attempts }) => status === 'interrupted' && attempts > 0),
  )
}

/**
 * A message that is in no log may have let an earlier one of its sender replace a parked turn, before its command was cut short. The
 * twin never sent it, so its turn stays parked.
 */
function hasReplacedInVain(story: StepDone[], { agents }: World): boolean {
  const isInVain = ({ command, told, inTwin }: StepDone['done'][number]): boolean =>
    ['send', 'spawn'].includes(command.action.do) && told.isHarmed && inTwin.length === 0
  return (
    story.some(({ done }) => done.some(isInVain)) && agents.some(({ records }) => hasReplacedByMail(records))
  )
}

function hasReplacedByMail(records: SessionRecord[]): boolean {
  return records.some((record, at) => {
    if (record.kind !== 'run.cancelled' || record.reason !== 'superseded') return false
    const next = records.slice(at).find(({ kind }) => kind === 'run.started')
    return next?.kind === 'run.started' && next.origin === 'mail'
  })
}

/**
 * A command makes everything due by its clock. If that clock is wrong and the command is interrupted, no later command
 * does the same.
 */
function hasCutUnderWrongClock(story: StepDone[]): boolean {
  return story.some(({ step, isHarmed }) => step.kind === 'commands' && step.clockOffMs !== 0 && isHarmed)
}
