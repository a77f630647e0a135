/**
 * A command that waits for the process that it has asked to stop a turn may be ended by a signal. Its request stays in the home, so the
 * command says that it still counts.
 */
import { SubstratError } from '../errors.js'
import { readableState } from '../session/peek-state.js'
import type { RequestVerb } from '../storage/store.js'
import type { Shutdown, StopSignal } from '../turn/stop.js'
import type { Context } from './context.js'
import { wordOf } from './outcome.js'

/** The agents whose processes a command has asked and waits for. */
const asked = new WeakMap<Shutdown, Map<string, RequestVerb>>()

/** Call it once the request is stored. */
export function requestStands({ store, shutdown }: Context, agentId: string, verb: RequestVerb): void {
  const open = asked.get(shutdown) ?? new Map<string, RequestVerb>()
  asked.set(shutdown, open.set(agentId, verb))
  shutdown.earlyEnd = (signal) => {
    const words = [...open.keys()].map((id) => {
      const state = readableState(store, id)
      return state === undefined ? id : wordOf(state)
    })
    return endedWhileWaiting(signal, verb, words)
  }
}

/** Call it when the wait for that agent is over. */
export function requestEnded({ shutdown }: Context, agentId: string): void {
  const open = asked.get(shutdown)
  if (open?.delete(agentId) === true && open.size === 0) shutdown.earlyEnd = undefined
}

function endedWhileWaiting(signal: StopSignal, verb: RequestVerb, words: string[]): SubstratError {
  const [first = ''] = words
  const turns = words.length === 1 ? `the turn of ${first} was` : `the turns of ${words.join(', ')} were`
  const why = `the request stands: ${turns} asked to stop, and will stop as soon as possible`
  return new SubstratError(`STOPPED_${signal}`, `stopped by ${signal}, but ${why}`, {
    hint:
      verb === 'terminate'
        ? `the agent is not terminated yet: substrat terminate ${first}`
        : `see whether it has ended: substrat show ${first}`,
  })
}
