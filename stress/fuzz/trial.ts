/** One sequence, on one home and on its twin. */
import { join } from 'node:path'
import { type Counts, type Host, noCounts } from './host.js'
import type { Sequence } from './steps.js'
import type { StepDone } from './story.js'
import { differences } from './twin.js'
import { live } from './victim.js'
import type { World } from './world.js'

export interface Trial {
  violations: string[]
  counts: Counts & { messages: number; tokens: number; twins: number; notCompared: number }
  /** Of the home that things happened to, by agent. */
  logs: Map<string, Buffer>
  story: StepDone[]
}

/** `name` is a directory of its own for each home. */
export type MakeHost = (name: string, salt: number) => Host

export async function tryOut(makeHost: MakeHost, directory: string, sequence: Sequence): Promise<Trial> {
  const host = makeHost(join(directory, 'first'), sequence.salt)
  const lived = await live(host, sequence)
  const world = lived.atRest
  const logs = new Map(world.agents.map(({ state, log }) => [state.id, log]))
  const story = lived.story.steps
  const counts = { ...noCounts(), ...host.counts, messages: 0, tokens: 0, twins: 0, notCompared: 0 }
  for (const { taken, records } of world.agents) {
    counts.messages += taken.length
    counts.tokens += records.filter(({ kind }) => kind === 'token.minted').length
  }
  if (lived.violations.length > 0 || !sequence.hasTwin)
    return { violations: lived.violations, counts, logs, story }
  if (hasFailedTool(world) || hasLeftTurn(world) || hasCutUnderWrongClock(story)) {
    counts.notCompared = 1
    return { violations: [], counts, logs, story }
  }
  counts.twins = 1
  const twin = makeHost(join(directory, 'twin'), sequence.salt + 1)
  return { violations: await differences(twin, lived), counts, logs, story }
}

/** A fault of the disk within a tool is the model's to know: what it does then is another story. */
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

/** One that was tried in vain too often: the next message went past it, and in the twin it was never cut short. */
function hasLeftTurn({ agents }: World): boolean {
  return agents.some(({ fates }) =>
    [...fates.values()].some(({ status, attempts }) => status === 'interrupted' && attempts > 0),
  )
}

/** A command makes due whatever is due by its clock: where that is wrong, and it is cut short, nothing else does so later. */
function hasCutUnderWrongClock(story: StepDone[]): boolean {
  return story.some(({ step, isHarmed }) => step.kind === 'commands' && step.clockOffMs !== 0 && isHarmed)
}
