/** The agents and the ordered commands of the shells, from a seed. */

import type { Random } from '../../test/support/random.js'
import { childrenOf, type PlannedAgent, planFamily, relativesOf, type Shape } from './family.js'

/** A message that a command of the plan sends. Its content is unique. */
interface Post {
  content: string
  to: string
  /** A path, or `operator`. */
  from: string
  kind: 'request' | 'notification'
  /** Goes straight into the log, not through the inbox. */
  isDirect: boolean
  isDelayed: boolean
  /** The rules of the tree refuse it. */
  isForbidden: boolean
}

export interface Operation {
  verb: 'spawn' | 'send' | 'queue' | 'from' | 'terminate' | 'deliver' | 'recover' | 'resume' | 'wait'
  argv: string[]
  /** Whether to repeat it after a kill. It is idempotent. */
  isRepeated: boolean
  /** The share of the command's usual duration after which to kill it, if kills are still wanted; null for never. */
  killAt: number | null
  post?: Post
  /** The agent that it creates. */
  path?: string
}

export interface PlanOptions {
  shape: Shape
  /** The number of requests and notifications in total. */
  messages: number
  scenarioOf(path: string): string
  cli: string
}

export interface Plan {
  family: PlannedAgent[]
  /** Spawns of the roots and of the level below. */
  first: Operation[]
  /** Spawns of leaves, messages and terminations of leaves, mixed. */
  afterwards: Operation[]
}

/** The share of all messages that commands send. The agents send the rest. */
const POSTED_SHARE = 0.36

export function makePlan(random: Random, options: PlanOptions): Plan {
  const { shape, messages } = options
  const agents = shape.roots * (1 + shape.middles * (1 + shape.leaves))
  // About every second entry sends a message.
  const entries = Math.ceil((1.15 * messages) / agents)
  const family = planFamily(random, { ...options, shape, entries })
  const born = family.filter(({ bornBy }) => bornBy === 'operator')
  const spawns = born.map((agent) => spawnOf(random, agent, options))
  const upper = born.filter(({ level }) => level < 2).length
  const posts = Array.from({ length: Math.round(messages * POSTED_SHARE) }, (_, index) =>
    postOf(random, family, index),
  )
  return {
    family,
    first: spawns.slice(0, upper),
    afterwards: mix(random, spawns.slice(upper), posts, born),
  }
}

/** More messages, if the plan sent fewer than wanted. */
export function morePosts(random: Random, family: PlannedAgent[], from: number, count: number): Operation[] {
  const living = family.filter(({ isDoomed }) => !isDoomed)
  return Array.from({ length: count }, (_, index) =>
    queueOf(random, random.pick(living), `post ${from + index}`, true),
  )
}

export function spawnOf(
  random: Random,
  { path, name, parent }: PlannedAgent,
  { scenarioOf }: Pick<PlanOptions, 'scenarioOf'>,
): Operation {
  const below = parent === null ? [] : ['--parent', parent]
  const what = ['--name', name, '--option', `scenario=${scenarioOf(path)}`, '--allow', 'all']
  const argv = ['spawn', ...below, ...what, '--if-exists', 'use']
  return { verb: 'spawn', argv, isRepeated: true, killAt: killTime(random), path }
}

/** Leaves are spawned early and terminated late. Messages to leaves that do not exist are refused. */
function mix(random: Random, spawns: Operation[], posts: Operation[], born: PlannedAgent[]): Operation[] {
  const ends = born
    .filter(({ isDoomed }) => isDoomed)
    .map(({ path }): Operation => {
      const argv = ['terminate', path]
      return { verb: 'terminate', argv, isRepeated: true, killAt: killTime(random) }
    })
  const placed = [
    ...posts.map((operation, index) => ({ operation, at: index / posts.length })),
    ...spawns.map((operation, index) => ({ operation, at: (0.3 * index) / spawns.length })),
    ...ends.map((operation) => ({ operation, at: random.between(0.7, 1) })),
  ]
  return placed.sort((a, b) => a.at - b.at).map(({ operation }) => operation)
}

function postOf(random: Random, family: PlannedAgent[], index: number): Operation {
  const to = random.pick(family)
  const content = `post ${index}`
  switch (random.pickWeighted({ send: 14, queue: 50, from: 30, forbidden: 3, delayed: 3 })) {
    case 'send':
      return sendOf(random, to, content)
    case 'from': {
      const from = random.pick(family)
      return fromOf(random, from, random.pick(relativesOf(family, from)), content, false)
    }
    case 'forbidden': {
      const [from, out] = strangers(random, family)
      return fromOf(random, from, out, content, true)
    }
    case 'delayed': {
      const argv = ['send', to.path, content, '--not-before', `${1 + random.below(20)}s`]
      const post = { ...plain(to, content), isDelayed: true }
      return { verb: 'queue', argv, isRepeated: false, killAt: killTime(random), post }
    }
    default:
      return queueOf(random, to, content, random.chance(0.5))
  }
}

function sendOf(random: Random, to: PlannedAgent, content: string): Operation {
  const isRepeated = random.chance(0.4)
  const key = isRepeated ? ['--key', content] : []
  const argv = ['send', to.path, content, '--timeout', '20s', ...key]
  const post = { ...plain(to, content), isDirect: true }
  return { verb: 'send', argv, isRepeated, killAt: killTime(random), post }
}

function queueOf(random: Random, to: PlannedAgent, content: string, drains: boolean): Operation {
  const kind = random.chance(0.2) ? 'notification' : 'request'
  const isRepeated = random.chance(0.3)
  const flags = [
    ...(kind === 'notification' ? ['--kind', kind] : ['--queue']),
    ...(drains ? [] : ['--no-drain']),
    ...(isRepeated ? ['--key', content] : []),
  ]
  const argv = ['send', to.path, content, ...flags]
  return {
    verb: 'queue',
    argv,
    isRepeated,
    killAt: killTime(random),
    post: { ...plain(to, content), kind },
  }
}

function fromOf(
  random: Random,
  from: PlannedAgent,
  to: PlannedAgent,
  content: string,
  isForbidden: boolean,
): Operation {
  const kind = random.chance(0.3) ? 'notification' : 'request'
  const flags = [
    ...(kind === 'notification' ? ['--kind', kind] : []),
    ...(random.chance(0.5) ? ['--no-drain'] : []),
  ]
  const argv = ['send', to.path, content, '--from', from.path, ...flags]
  const post = { ...plain(to, content), from: from.path, kind, isForbidden } as const
  return { verb: 'from', argv, isRepeated: false, killAt: killTime(random), post }
}

/** Two agents that may not write to each other: a grandchild and its root, two roots, or an agent and itself. */
function strangers(random: Random, family: PlannedAgent[]): [PlannedAgent, PlannedAgent] {
  const from = random.pick(family)
  const near = [from, ...relativesOf(family, from)]
  const far = family.filter((agent) => !near.includes(agent))
  return [from, random.chance(0.2) ? from : random.pick(far)]
}

function killTime(random: Random): number | null {
  const share = random.between(0.3, 1.4)
  return random.chance(0.35) ? share : null
}

function plain(to: PlannedAgent, content: string): Post {
  return {
    content,
    to: to.path,
    from: 'operator',
    kind: 'request',
    isDirect: false,
    isDelayed: false,
    isForbidden: false,
  }
}

/** A repeated background command: cron, or a script that waits. */
export function meanwhile(random: Random, family: PlannedAgent[]): Operation {
  const verb = random.pickWeighted({ deliver: 60, recover: 25, wait: 15 })
  const argv = {
    deliver: ['deliver', '--all'],
    recover: ['recover', '--all', '--continue', random.pick(['roots', 'all', 'none'])],
    wait: ['wait', ...someFamily(random, family), '--timeout', '2s'],
  }
  return { verb, argv: argv[verb], isRepeated: false, killAt: random.between(0.1, 1.2) }
}

function someFamily(random: Random, family: PlannedAgent[]): string[] {
  const middle = random.pick(family.filter(({ level }) => level === 1))
  return [middle, ...childrenOf(family, middle).slice(2, 5)].map(({ path }) => path)
}
