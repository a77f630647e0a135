/** Each server and turn that a scenario has started ends with it, also if it fails. One that stays keeps its lab from ending. */
import type { Scenario } from './scenario.js'
import type { Stage } from './stage.js'

/** Ends the stage if the work throws. */
export async function endingOnFailure<T>(stage: { end(): void }, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    stage.end()
    throw error
  }
}

/** Does the work beside the scenario's concurrent work, then waits for the latter. */
export async function withOthers<T>(
  { meanwhile }: Pick<Scenario, 'meanwhile'>,
  stage: Stage,
  work: () => Promise<T>,
): Promise<T> {
  const release = await meanwhile?.(stage)
  try {
    return await work()
  } finally {
    await release?.()
  }
}
