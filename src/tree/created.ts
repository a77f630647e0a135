/** The first record of an agent. */

import { FORMAT } from '../format.js'
import type { Cap } from '../schema/budget.js'
import type { Actor } from '../schema/types.js'
import type { NewRecord } from '../session/records.js'

export interface AgentFacts {
  id: string
  name: string | null
  parent: string | null
  /** Names from the root down. */
  path: string
  provider: string
  model: string | null
  instructions: string | null
  /** Absolute. */
  workspace: string
  options: Record<string, string>
  /** Tools that need no approval. */
  allow: string[]
  /** Rules for calls whose result a crash lost. */
  onUnknown?: string[] | undefined
  /** How much of the earlier conversation a turn begins with. Default: `all`. */
  context?: string | undefined
  /** Its creator. Undefined for an agent of `spawn_agent`. */
  actor?: Actor | undefined
  /** The caps of the agent and everything below it. */
  budget?: Cap[] | undefined
}

export function createdRecord(facts: AgentFacts): NewRecord {
  const {
    id,
    name,
    parent,
    path,
    provider,
    model,
    instructions,
    workspace,
    options,
    allow,
    onUnknown = [],
    context = 'all',
    actor,
    budget = [],
  } = facts
  return {
    kind: 'session.created',
    agent_id: id,
    format: FORMAT,
    name,
    parent,
    ...(parent === null ? {} : { path }),
    instructions,
    provider,
    options,
    model,
    workspace,
    ...(allow.length === 0 ? {} : { allow }),
    ...(onUnknown.length === 0 ? {} : { on_unknown: onUnknown }),
    ...(context === 'all' ? {} : { context }),
    ...(actor === undefined ? {} : { actor }),
    ...(budget.length === 0 ? {} : { budget }),
  }
}
