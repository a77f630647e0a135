/**
 * Builds and parses every name on disk (docs/format.md). No other module does.
 *
 * Invariant: an id, key or name from outside becomes part of a path only through these functions. Each function refuses
 * a value of the wrong form, so no path can leave the home.
 */
import { assert } from '../errors.js'
import { foldName, HOME_ACCOUNT, isUuid } from '../format.js'
import { isTemporaryName } from '../host/disk/temporary.js'
import { isSelftestPlace } from '../host/selftest/place.js'
import { sha256Hex } from '../start/hash.js'

const LOG_FILE = 'events.jsonl'
const SNAPSHOT_FILE = 'session.json'
const SHA256 = /^[0-9a-f]{64}$/
const SPAWNING = /^\.spawn-/
const REMOVED = /^\.removed-/
const CLOSING = '.closing'
const RETURNED = '.returned'
const REQUEST = /^(.{36})\.(suspend|terminate|cancel)$/

let latestUuid: string | undefined

export type RequestVerb = 'suspend' | 'terminate' | 'cancel'

export class HomePaths {
  constructor(readonly root: string) {}

  get homeFile(): string {
    return `${this.root}/home.json`
  }
  get configFile(): string {
    return `${this.root}/config.json`
  }
  /** The secret with which faces sign who acts. */
  get actorKey(): string {
    return `${this.root}/actor.key`
  }
  get agents(): string {
    return `${this.root}/agents`
  }
  get roots(): string {
    return `${this.root}/roots`
  }
  get operator(): string {
    return `${this.root}/operator`
  }
  get operatorInbox(): string {
    return `${this.root}/operator/inbox`
  }
  /** Mail that the operator has taken. A message whose id is here is not delivered again. */
  get operatorTaken(): string {
    return `${this.root}/operator/taken`
  }
  get unclean(): string {
    return `${this.root}/unclean`
  }
  /** When a command last began the due turns of schedules. */
  get tick(): string {
    return `${this.root}/tick`
  }
  get boots(): string {
    return `${this.root}/boots`
  }
  /** One file per kernel boot whose processes a person has declared dead. */
  get gone(): string {
    return `${this.root}/gone`
  }
  /** One empty file for each move by which an agent came that was removed since. */
  get moves(): string {
    return `${this.root}/moves`
  }
  /** One file for each agent that was removed. */
  get removed(): string {
    return `${this.root}/removed`
  }
  /** One file for each agent with a cap, and one for the home. */
  get budgets(): string {
    return `${this.root}/budgets`
  }
  account(scope: string): string {
    return `${this.budgets}/${scope === HOME_ACCOUNT ? scope : uuid(scope)}`
  }
  accountLock(scope: string): string {
    return `${this.account(scope)}.lock`
  }
  get slots(): string {
    return `${this.root}/slots`
  }

  /** One file per agent that may have a kept server. Its modification time is the last use. */
  get servers(): string {
    return `${this.root}/servers`
  }
  get serversLock(): string {
    return `${this.servers}/lock`
  }

  /** All files of the format except home.json and config.json are in these directories. */
  get directories(): string[] {
    const { agents, roots, operator, unclean, boots, gone, moves, removed, budgets, slots, servers } = this
    return [agents, roots, operator, unclean, boots, gone, moves, removed, budgets, slots, servers]
  }

  server(agentId: string): string {
    return `${this.servers}/${uuid(agentId)}`
  }
  marker(agentId: string): string {
    return `${this.unclean}/${uuid(agentId)}`
  }
  closingMarker(agentId: string): string {
    return `${this.marker(agentId)}${CLOSING}`
  }
  boot(kernelBootId: string): string {
    return `${this.boots}/${kernelBoot(kernelBootId)}`
  }
  goneBoot(kernelBootId: string): string {
    return `${this.gone}/${kernelBoot(kernelBootId)}`
  }
  endedMove(agentId: string, moveId: string): string {
    return `${this.moves}/${uuid(agentId)}.${uuid(moveId)}`
  }
  removedAgent(agentId: string): string {
    return `${this.removed}/${uuid(agentId)}`
  }
  slotPool(pool: string): string {
    assert(/^[a-z][a-z0-9-]{0,63}$/.test(pool), 'a slot pool has a plain name')
    return `${this.slots}/${pool}`
  }
  slot(pool: string, index: number): string {
    return `${this.slotPool(pool)}/${index}`
  }
  agent(agentId: string): AgentPaths {
    return new AgentPaths(`${this.agents}/${uuid(agentId)}`)
  }
  /** The staging directory, in which an agent is built before the rename. */
  spawning(agentId: string): AgentPaths {
    return new AgentPaths(`${this.agents}/.spawn-${uuid(agentId)}`)
  }
  /** An agent's directory is renamed to this path before its files are deleted. */
  removedPath(agentId: string): string {
    return `${this.agents}/.removed-${uuid(agentId)}`
  }
  rootNames(): NameIndexPaths {
    return new NameIndexPaths(this.roots)
  }
  operatorMail(messageId: string): string {
    return `${this.operatorInbox}/${mailFile(messageId)}`
  }
  takenMail(messageId: string): string {
    return `${this.operatorTaken}/${mailFile(messageId)}`
  }
}

export class AgentPaths {
  constructor(readonly root: string) {}

  get log(): string {
    return `${this.root}/${LOG_FILE}`
  }
  get snapshot(): string {
    return `${this.root}/${SNAPSHOT_FILE}`
  }
  /** The key index: the place of each key in the log. */
  get keys(): string {
    return `${this.root}/keys`
  }
  get lock(): string {
    return `${this.root}/lock`
  }
  /**
   * The lock file of a staging directory before it is locked. So a free file named `lock` means that its holder is
   * dead.
   */
  get unlocked(): string {
    return `${this.root}/lock.new`
  }
  /** Locked while a process sends the agent's outbound messages. */
  get sender(): string {
    return `${this.root}/sender`
  }
  get inbox(): string {
    return `${this.root}/inbox`
  }
  get blobs(): string {
    return `${this.root}/blobs`
  }
  get requests(): string {
    return `${this.root}/requests`
  }
  /** Recipients for which programs of this agent wait; see `WaitEdges`. */
  get waits(): string {
    return `${this.root}/waits`
  }
  /** The address of the kept server. Secret. */
  get serverHandle(): string {
    return `${this.root}/server.json`
  }
  /** Output of the kept server. */
  get serverOutput(): string {
    return `${this.root}/server.out`
  }
  /** Bytes of truncated tails that recovery cut from the log. */
  get cut(): string {
    return `${this.root}/cut`
  }

  mail(messageId: string): string {
    return `${this.inbox}/${mailFile(messageId)}`
  }
  returnedMail(messageId: string): string {
    return `${this.inbox}/${uuid(messageId)}${RETURNED}`
  }
  childNames(): NameIndexPaths {
    return new NameIndexPaths(`${this.root}/children`)
  }
  waitEdge(recipientId: string, waiterId: string): string {
    return `${this.waits}/${uuid(recipientId)}.${uuid(waiterId)}`
  }
  /** The socket on which the holder serves substrat's tools during a run. */
  socket(runId: string): string {
    return `${this.root}/${uuid(runId)}.sock`
  }
  blob(sha256: string): string {
    assert(SHA256.test(sha256), 'a blob is named by its sha256')
    return `${this.blobs}/${sha256}`
  }
  request(runId: string, verb: RequestVerb): string {
    return `${this.requests}/${uuid(runId)}.${verb}`
  }
  cutBytes(offset: number, sha256: string): string {
    return `${this.cut}/${offset}-${sha256.slice(0, 16)}`
  }
}

/** The index of the names below one parent, or of the roots. */
export class NameIndexPaths {
  constructor(readonly directory: string) {}

  get lock(): string {
    return `${this.directory}/lock`
  }
  /** Exists once the index has every living name. Without it, a miss proves nothing. */
  get complete(): string {
    return `${this.directory}/complete`
  }
  entry(name: string): string {
    return `${this.directory}/${sha256Hex(foldName(name))}`
  }
}

export function parseAgentDirectory(name: string): string | undefined {
  return isUuid(name) ? name : undefined
}

export function parseMarker(name: string): string | undefined {
  return parseAgentDirectory(name.endsWith(CLOSING) ? name.slice(0, -CLOSING.length) : name)
}

export function isSpawnLeftover(name: string): boolean {
  return SPAWNING.test(name)
}

export function isRemovedLeftover(name: string): boolean {
  return REMOVED.test(name)
}

export function isNameEntry(name: string): boolean {
  return SHA256.test(name)
}

export function isSocket(name: string): boolean {
  return name.endsWith('.sock') && isUuid(name.slice(0, -'.sock'.length))
}

/** The recipient of the wait edge. */
export function parseWaitEdge(name: string): string | undefined {
  const [recipient = '', waiter = ''] = name.split('.')
  return isUuid(recipient) && isUuid(waiter) ? recipient : undefined
}

function mailFile(messageId: string): string {
  return `${uuid(messageId)}.json`
}

export function parseMailFile(name: string): string | undefined {
  const id = name.endsWith('.json') ? name.slice(0, -'.json'.length) : ''
  return isUuid(id) ? id : undefined
}

export function parseReturnedFile(name: string): string | undefined {
  const id = name.endsWith(RETURNED) ? name.slice(0, -RETURNED.length) : ''
  return isUuid(id) ? id : undefined
}

export function parseRequestFile(name: string): { runId: string; verb: RequestVerb } | undefined {
  const [, runId, verb] = REQUEST.exec(name) ?? []
  return runId !== undefined && isUuid(runId) ? { runId, verb: verb as RequestVerb } : undefined
}

/** A temporary file. A selftest removes its own directories. */
export function isLeftover(name: string): boolean {
  return isTemporaryName(name) && !isSelftestPlace(name)
}

function kernelBoot(id: string): string {
  assert(/^[0-9a-zA-Z-]{1,64}$/.test(id), 'a kernel boot id is letters, digits and dashes')
  return id
}

function uuid(id: string): string {
  // A cache: one agent has several files.
  if (id === latestUuid) return id
  if (!isUuid(id)) assert(false, `an id in a path is a uuid, not ${JSON.stringify(id)}`)
  latestUuid = id
  return id
}
