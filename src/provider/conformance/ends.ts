/** Conformance cases: turns that are stopped, fail or are refused. */

import { settledWithin } from '../../clock.js'
import { describeFailure } from '../failure.js'
import { type ConformanceCase, ContractBroken, caseOf, demand, moment } from './case.js'

const STOP_MS_MAX = 3000

/** A stopped turn must soon throw or end its stream, without an answer. */
export function stopCase(
  begin: (signal: AbortSignal) => Promise<{ type: string }[]>,
  withinMs = STOP_MS_MAX,
): ConformanceCase {
  return caseOf('a turn ends in time after its signal aborts', async () => {
    const controller = new AbortController()
    const ended = begin(controller.signal).catch(unlessBroken)
    await moment(ended)
    controller.abort()
    const events = await settledWithin(ended, withinMs)
    demand(events !== undefined, 'the turn must end in time after its signal aborts')
    demand(
      events?.some(({ type }) => ['done', 'stop', 'wait'].includes(type)) === false,
      'a stopped turn must not yield an answer',
    )
  })
}

/** A stopped turn may throw any error, but an error of the suite itself counts. */
function unlessBroken(error: unknown): [] {
  if (error instanceof ContractBroken) throw error
  return []
}

export function failureCase(begin: () => Promise<unknown>): ConformanceCase {
  return caseOf('a turn that fails throws an error with a message', async () => {
    const type = await failureOf(begin)
    demand(type !== undefined, 'a turn that fails must throw')
  })
}

export function refusalCase(begin: () => Promise<unknown>): ConformanceCase {
  return caseOf('a turn that the model refuses fails as refused, without a reply', async () => {
    const type = await failureOf(begin)
    demand(type === 'refused', `the failure type must be refused: ${type}`)
  })
}

/** The failure type that `act` throws; undefined if it does not throw. */
export async function failureOf(act: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await act()
    return undefined
  } catch (error) {
    if (error instanceof ContractBroken) throw error
    demand(error instanceof Error && error.message.trim() !== '', 'a turn must throw an Error with a message')
    return describeFailure(error).type
  }
}
