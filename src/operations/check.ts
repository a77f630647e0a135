/**
 * `check`: asks the provider of each agent whether a turn could begin now. It takes no lock, changes nothing and asks no service, so it
 * spends nothing.
 */
import { lastKnownPath, readState } from '../dispatch/read-state.js'
import { resultEnd } from '../dispatch/result-end.js'
import { refuseElsewhere, turnObstacle } from '../dispatch/turn-obstacle.js'
import { SubstratError } from '../errors.js'
import { CHANNEL } from '../format.js'
import type { ProviderSettings } from '../provider/contract.js'
import type { ProviderRegistry } from '../provider/registry.js'
import { checkWorkspace } from '../provider/workspace.js'
import type { CheckedAgent, ResultEnd } from '../schema/output.js'
import { readText } from '../session/read.js'
import type { State } from '../session/state.js'
import type { Store } from '../storage/store.js'
import { listAgents, repetitionOf } from './list-and-show.js'

/** `text`: a line for a person, of an agent that is ready or of its failure. */
export type CheckListener = (checked: CheckedAgent, failure: SubstratError | undefined, text: string) => void

/** Every agent that is not terminated, without channels, oldest first. */
export function checkableAgents(store: Store | undefined): string[] {
  return listAgents(store, { roots: false, all: false }).flatMap((agent) =>
    'provider' in agent && agent.provider === CHANNEL ? [] : [agent.id],
  )
}

/** The providers that a command has asked. Agents with the same settings share an answer. */
export class Checker {
  private readonly asked = new Map<string, Promise<SubstratError | undefined>>()

  constructor(private readonly providers: ProviderRegistry) {}

  /** Calls back with each agent, in order. */
  async checkAgents(store: Store, agentIds: string[], onChecked: CheckListener): Promise<void> {
    for (const agentId of agentIds) {
      let state: State
      try {
        state = readState(store, agentId)
      } catch (error) {
        if (!(error instanceof SubstratError)) throw error
        const path = lastKnownPath(store, agentId)
        tell({ agent: agentId, path, provider: null }, error, '', onChecked)
        continue
      }
      const { path, provider_name: provider } = state
      const failure = await this.failureOf(store, state)
      tell({ agent: agentId, path, provider }, failure, afterReady(store, state), onChecked)
    }
  }

  /** The provider of new agents, with these settings. */
  async checkProvider(provider: string, workspace: string, onChecked: CheckListener): Promise<void> {
    let failure: SubstratError | undefined
    try {
      const settings = await this.providers.withDefaults(provider, { model: null, options: {} })
      failure = await this.ask(provider, { ...settings, workspace, instructions: null })
    } catch (error) {
      if (!(error instanceof SubstratError)) throw error
      failure = error
    }
    tell({ agent: null, path: null, provider }, failure, '', onChecked)
  }

  private async failureOf(store: Store, state: State): Promise<SubstratError | undefined> {
    const { workspace, model, options, provider_name } = state
    try {
      refuseElsewhere(store, state)
      checkWorkspace(workspace)
      const { instructions: content } = state
      const instructions = content === null ? null : readText(store, state.id, content)
      return await this.ask(provider_name, { workspace, model, instructions, options })
    } catch (error) {
      if (error instanceof SubstratError) return error
      throw error
    }
  }

  private ask(provider: string, settings: ProviderSettings): Promise<SubstratError | undefined> {
    const key = JSON.stringify([provider, settings])
    const known = this.asked.get(key)
    if (known !== undefined) return known
    const answer = this.providers.checkReady(provider, settings).then(
      () => undefined,
      (error) => {
        if (error instanceof SubstratError) return error
        throw error
      },
    )
    this.asked.set(key, answer)
    return answer
  }
}

/** The end of the line of an agent whose provider is ready. A hold or a wait may be on purpose, so it is not a failure. */
function afterReady(store: Store, state: State): string {
  const obstacle = turnObstacle(store, state, 'mail')
  switch (obstacle?.kind) {
    case 'hold':
    case 'gate':
      return `, but it is ${obstacle.is}: ${obstacle.next}`
    case 'wait':
      return `, but its turn waits: ${obstacle.next}`
    case 'program':
    case 'unknown':
      return `, but a person has to decide about its turn: ${obstacle.next}`
    default:
      return state.refused === undefined
        ? ''
        : `; send the refused message again: ${repetitionOf(state, state.refused)}`
  }
}

function tell(
  facts: Omit<CheckedAgent, 'ready' | keyof ResultEnd>,
  failure: SubstratError | undefined,
  again: string,
  onChecked: CheckListener,
): void {
  const who = facts.path ?? facts.agent ?? facts.provider ?? ''
  const text = failure === undefined ? `${who}: ready${again}` : `${who} could not run: ${failure.message}`
  onChecked({ ...facts, ready: failure === undefined, ...resultEnd(failure) }, failure, text)
}
