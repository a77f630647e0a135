/**
 * Refuses files that another user could have written: a home names the programs that run as this user. A new home is made for
 * its owner alone.
 *
 * The rule is that of plugins (src/start/trust.ts): the home, and each directory above it, belongs to this user or to root, and no
 * other user may write to it. A home that was once open to others may have an agent of another user, so a writer checks each agent
 * too. A command that only reads runs no program, so it may read any home, except config.json.
 */
import { join } from 'node:path'
import { SubstratError } from '../errors.js'
import { changeMode, statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { step } from '../host/disk/operation.js'
import { reasonsOf, type Untrusted, untrustedAmong, untrustedEntries } from '../start/trust.js'
import { exposureHint } from './exposure-hint.js'
import { AgentPaths, type HomePaths, parseAgentDirectory } from './paths.js'

/** Call before the first file of a home is made. On return, no other user can write there, and none has. */
export function closeNewHome({ root }: HomePaths): void {
  const self = process.geteuid?.()
  const facts = statIfThere('home.stat', root)
  // An empty volume of a container is often open to all.
  if (facts !== undefined && facts.owner === self && (facts.mode & 0o077) !== 0)
    changeMode('home.close', root, 0o700)
  const names = facts === undefined ? [] : io.listDirectory('home.list', root)
  const found = look(root, () => untrustedAmong([root, ...names.map((name) => join(root, name))]))
  refuse(found, root, `the home ${root} is not used`)
}

/** For a home that exists: its mode is not changed, because others may have written to it before. */
export function refuseExposedHome(paths: HomePaths): void {
  const { root, homeFile, configFile, agents } = paths
  const found = look(root, () => untrustedAmong([root, homeFile, agents]))
  if (found.length === 0) return
  // One error names everything, so that the user need not repair one file after the other.
  const inside = [configFile, ...agentsIn(paths).flatMap(filesOf)]
  const all = [...found, ...look(root, () => untrustedEntries(inside))]
  refuse(all, root, `the home ${root} is not used`)
}

/** The settings name MCP servers, targets, channels and options of providers. */
export function refuseExposedConfig({ root, configFile }: HomePaths): void {
  const found = look(root, () => untrustedAmong([configFile]))
  refuse(found, root, `the settings ${configFile} are not used`)
}

/**
 * The log names the program of the agent, and a message becomes its prompt. Call before the agent is locked. The home must
 * have been checked. An agent that does not exist is not refused.
 */
export function refuseExposedAgent({ root }: HomePaths, agent: AgentPaths): void {
  const found = look(agent.log, () => untrustedEntries(filesOf(agent)))
  refuse(found, root, `the agent in ${agent.root} is not used`)
}

/** The files that decide what a turn does. A blob is checked by its hash, which is in the log. */
function filesOf({ root, log, snapshot, keys, inbox, requests, serverHandle }: AgentPaths): string[] {
  return [root, log, snapshot, keys, inbox, requests, serverHandle]
}

function agentsIn({ agents }: HomePaths): AgentPaths[] {
  const names = io.listDirectory('agents.list', agents)
  return names
    .filter((name) => parseAgentDirectory(name) !== undefined)
    .map((name) => new AgentPaths(`${agents}/${name}`))
}

function look(path: string, find: () => Untrusted[]): Untrusted[] {
  return step({ point: 'home.trust', name: 'read', path }, find)
}

const NAMED_MAX = 5

function refuse(all: Untrusted[], root: string, what: string): void {
  const found = withoutParts(all)
  const [first] = found
  if (first === undefined) return
  const more = found.length > NAMED_MAX ? `; and ${found.length - NAMED_MAX} more` : ''
  throw new SubstratError('HOME_EXPOSED', `${what}: ${reasonsOf(found.slice(0, NAMED_MAX))}${more}`, {
    hint: exposureHint(found, root, NAMED_MAX),
    facts: { path: first.path },
  })
}

/** Without the files below a directory of the same cause, which its remedy mends too. */
function withoutParts(all: Untrusted[]): Untrusted[] {
  const paths = { owner: new Set<string>(), link: new Set<string>(), writable: new Set<string>() }
  for (const { path, cause } of all) paths[cause].add(path)
  return all.filter(({ path, cause }) => ![...parentsOf(path)].some((parent) => paths[cause].has(parent)))
}

function* parentsOf(path: string): Generator<string> {
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) yield path.slice(0, at)
}
