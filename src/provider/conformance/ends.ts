/** The cases of the conformance suite about turns that do not succeed. */

import { describeFailure } from '../failure.js'
import { type ConformanceCase, ContractBroken, caseOf, demand, moment } from './case.js'

const STOP_MS_MAX = 3000

/** A turn that is stopped ends soon, by an error or by the end of its stream, and without an answer. */
export function stopCase(
  begin: (signal: AbortSignal) => Promise<{ type: string }[]>,
  withinMs = STOP_MS_MAX,
): ConformanceCase {
  return caseOf('a turn that is stopped ends in time', async () => {
    const controller = new AbortController()
    const ended = begin(controller.signal).catch(unlessBroken)
    await moment(ended)
    controller.abort()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, withinMs, undefined)
    })
    const events = await Promise.race([ended, late]).finally(() => clearTimeout(timer))
    demand(events !== undefined, 'it ended in time')
    demand(
      events?.some(({ type }) => ['done', 'stop', 'wait'].includes(type)) === false,
      'it did not pretend to have answered',
    )
  })
}

/** A stopped turn may throw what it likes; what the suite found wrong meanwhile counts. */
function unlessBroken(error: unknown): [] {
  if (error instanceof ContractBroken) throw error
  return []
}

export function failureCase(begin: () => Promise<unknown>): ConformanceCase {
  return caseOf('a turn that fails throws, and says why', async () => {
    const type = await failureOf(begin)
    demand(type !== undefined, 'it threw')
  })
}

export function refusalCase(begin: () => Promise<unknown>): ConformanceCase {
  return caseOf('a model that refuses fails its turn as refused, and not with a reply', async () => {
    const type = await failureOf(begin)
    demand(type === 'refused', `the type is ${type}`)
  })
}

/** The type of what `act` throws; undefined where it throws nothing. */
export async function failureOf(act: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await act()
    return undefined
  } catch (error) {
    if (error instanceof ContractBroken) throw error
    demand(error instanceof Error && error.message.trim() !== '', 'what it throws is an error that says why')
    return describeFailure(error).type
  }
}
