/** The tree to be built, and the words and actions of each of its agents. The seed decides all of it. */

import type { Random } from '../../test/support/random.js'
import type { ScriptedEntry, ScriptedTool } from '../turns/agent.js'

export interface Shape {
  roots: number
  /** The number of agents below each root. */
  middles: number
  /** The number of agents below each of those. */
  leaves: number
}

export interface PlannedAgent {
  path: string
  name: string
  parent: string | null
  level: 0 | 1 | 2
  /** The creator of the agent: the operator, its parent by `spawn_agent`, or its parent by the CLI in a shell. */
  bornBy: 'operator' | 'tool' | 'shell'
  /** Whether it is terminated before the end. */
  isDoomed: boolean
  entries: ScriptedEntry[]
}

export interface FamilyOptions {
  shape: Shape
  /** The number of entries in each agent's scenario. */
  entries: number
  scenarioOf(path: string): string
  /** The command line that starts the CLI in a shell. */
  cli: string
}

/** Roots first, then the agents below them, then leaves. */
export function planFamily(random: Random, options: FamilyOptions): PlannedAgent[] {
  const family = members(random, options.shape)
  for (const agent of family) agent.entries = entriesOf(random, family, agent, options)
  return family
}

export function childrenOf(family: PlannedAgent[], { path }: PlannedAgent): PlannedAgent[] {
  return family.filter(({ parent }) => parent === path)
}

/** The agents that it may write to: one hop up, down or sideways. */
export function relativesOf(family: PlannedAgent[], agent: PlannedAgent): PlannedAgent[] {
  return family.filter(
    ({ path, parent }) =>
      path !== agent.path &&
      (path === agent.parent || parent === agent.path || (parent !== null && parent === agent.parent)),
  )
}

function members(random: Random, { roots, middles, leaves }: Shape): PlannedAgent[] {
  const make = (
    parent: string | null,
    name: string,
    level: PlannedAgent['level'],
    bornBy: PlannedAgent['bornBy'] = 'operator',
  ): PlannedAgent => ({
    path: parent === null ? name : `${parent}/${name}`,
    name,
    parent,
    level,
    bornBy,
    isDoomed: level === 2 && bornBy === 'operator' && random.chance(0.06),
    entries: [],
  })
  const tops = range(roots).map((index) => make(null, `r${index}`, 0))
  const mids = tops.flatMap(({ path }) => range(middles).map((index) => make(path, `m${index}`, 1)))
  const ends = mids.flatMap(({ path }) =>
    range(leaves).map((index) =>
      make(path, `l${index}`, 2, index === 0 ? 'tool' : index === 1 ? 'shell' : 'operator'),
    ),
  )
  return [...tops, ...mids, ...ends]
}

const WEIGHTS = {
  say: 40,
  request: 22,
  notification: 14,
  several: 9,
  broadcast: 5,
  wait: 6,
  shell: 1.5,
  overloaded: 2.5,
} as const

function entriesOf(
  random: Random,
  family: PlannedAgent[],
  agent: PlannedAgent,
  options: FamilyOptions,
): ScriptedEntry[] {
  const births = childrenOf(family, agent).flatMap((child) => birthOf(child, options))
  const entries = range(options.entries).map((index): ScriptedEntry => {
    const text = (call: number): string => `call ${agent.path} ${births.length + index}.${call}`
    const kin = relativesOf(family, agent)
    const children = childrenOf(family, agent)
    const message = (call: number, kind: string): ScriptedTool => ({
      name: 'send_message',
      input: { to: wordFor(agent, random.pick(kin)), content: text(call), kind },
    })
    switch (random.pickWeighted(WEIGHTS)) {
      case 'request':
        return { tools: [message(0, 'request')] }
      case 'notification':
        return { tools: [message(0, 'notification')] }
      case 'several':
        return {
          tools: [
            message(0, 'notification'),
            { name: 'check_inbox', input: {} },
            message(2, 'request'),
            message(3, 'notification'),
          ],
        }
      case 'broadcast':
        return children.length === 0
          ? {}
          : { tools: [{ name: 'broadcast', input: { content: text(0), kind: random.pick(KINDS) } }] }
      case 'wait': {
        // A wait downwards is answered. A wait in another direction may close a ring, which is refused.
        const to = children.length > 0 && random.chance(0.8) ? random.pick(children) : random.pick(kin)
        return { tools: [{ name: 'send_message', input: { to: to.path, content: text(0), wait: true } }] }
      }
      case 'shell': {
        const waits = children.length > 0 && random.chance(0.5)
        const to = waits ? random.pick(children) : random.pick(kin)
        const flags = waits ? '' : ' --queue --no-drain'
        return { tools: [shell(`${options.cli} send ${to.path} '${text(0)}'${flags}`)] }
      }
      case 'overloaded':
        return { fail: { type: 'overloaded' } }
      default:
        return {}
    }
  })
  return [...births, ...entries]
}

const KINDS = ['notification', 'request']

/** The entries that make a parent spawn a child: its first ones. */
function birthOf(child: PlannedAgent, { scenarioOf, cli }: FamilyOptions): ScriptedEntry[] {
  const { bornBy, name, path } = child
  const scenario = scenarioOf(path)
  if (bornBy === 'tool')
    return [{ tools: [{ name: 'spawn_agent', input: { name, options: { scenario } } }] }, {}]
  if (bornBy === 'shell')
    return [{ tools: [shell(`${cli} spawn --name ${name} --option scenario=${scenario} --allow all`)] }, {}]
  return []
}

function shell(command: string): ScriptedTool {
  return { name: 'shell', input: { command } }
}

/** The name that a model would use, if it is not ambiguous. */
function wordFor(from: PlannedAgent, to: PlannedAgent): string {
  return to.path === from.parent ? 'parent' : to.parent === from.path ? to.name : to.path
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index)
}
