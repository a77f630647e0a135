/**
 * Names of agents. The user names an agent by UUID, path, name, or a unique prefix of the UUID.
 *
 * Invariants: a name is unique among living siblings. It leads to the living agent, else to the latest terminated one that exists.
 */
import { suggestion } from '../closest.js'
import { SubstratError } from '../errors.js'
import { foldName, isUuid } from '../format.js'
import { limits } from '../limits.js'
import { openForRead } from '../session/load.js'
import { peekState } from '../session/peek-state.js'
import type { State } from '../session/state.js'
import type { Store } from '../storage/store.js'
import { oldestFirst } from './forest.js'

/** The name in its stored form (Unicode NFC). Throws USAGE for an invalid name. */
export function checkName(name: string): string {
  const normal = name.normalize('NFC')
  const why = whyNoName(normal)
  if (why === undefined) return normal
  throw new SubstratError('USAGE', `${shownWord(name)} cannot be the name of an agent: ${why}`, {
    hint: `choose another name, of 1 to ${limits.nameCharactersMax} characters, without a slash or control character`,
  })
}

/**
 * Throws AGENT_NOT_FOUND or AGENT_AMBIGUOUS. Reads one index entry for each name of a path. A name that the index does
 * not have is searched in all agents: a terminated agent loses its entry to a later one, which may be removed or never created.
 */
export function resolveAgent(store: Store | undefined, word: string): string {
  if (store === undefined) throw notFound(word)
  if (word.includes('/')) return findByPath(store, word)
  const lower = word.toLowerCase()
  if (isUuid(lower)) {
    if (store.hasAgent(lower)) return lower
    throw notFound(word)
  }
  const isName = whyNoName(word.normalize('NFC')) === undefined
  const found = (isName ? findRoot(store, word) : undefined) ?? findByPrefix(store, word, lower)
  if (found !== undefined) return found
  const { ids, others, terminatedRoot } = isName ? scanForName(store, word) : { ids: [], others: [] }
  if (terminatedRoot !== undefined) return terminatedRoot
  if (ids.length === 1) return ids[0] as string
  throw ids.length === 0 ? notFound(word, others) : ambiguous(`${shownWord(word)} is the name`, ids)
}

/** The living child that has the name. */
export function livingChild(store: Store, parentId: string, name: string): string | undefined {
  const id = findNamed(store, parentId, name)
  return id !== undefined && isAlive(store, id) ? id : undefined
}

/** The living root that has the name. A miss is trusted only if the index is complete. */
export function livingRoot(store: Store, name: string): string | undefined {
  const id = findRoot(store, name)
  return id !== undefined && isAlive(store, id) ? id : undefined
}

function findRoot(store: Store, name: string): string | undefined {
  return findNamed(store, null, name)
}

/**
 * A child without a name is in its parent's index by its id. An entry may lead to an agent that was never created. It may have replaced the entry of a
 * terminated agent.
 */
function findNamed(store: Store, parentId: string | null, name: string): string | undefined {
  const found = store.names(parentId).find(name)
  if (found === 'none') return undefined
  return found === 'unknown' ? lookThrough(store, name, ({ parent }) => parent === parentId) : found
}

function findByPath(store: Store, path: string): string {
  const [root = '', ...below] = path.split('/')
  const named = isUuid(root) ? [root].find((id) => store.hasAgent(id)) : findAnywhere(store, null, root)
  const found = below.reduce(
    (id: string | undefined, name) => (id === undefined ? undefined : findAnywhere(store, id, name)),
    named,
  )
  if (found === undefined) throw notFound(path)
  return found
}

/** Does not trust a miss in the index, not even if the index is complete: it has an entry only for each living agent. */
function findAnywhere(store: Store, parentId: string | null, name: string): string | undefined {
  const found = store.names(parentId).find(name)
  if (found !== 'none' && found !== 'unknown') return found
  return lookThrough(store, name, ({ parent }) => parent === parentId)
}

/** The living agent with the name, else the latest terminated one. */
function lookThrough(store: Store, name: string, isMeant: (agent: State) => boolean): string | undefined {
  const wanted = foldName(name)
  const scan = new Scan(store)
  const terminated: State[] = []
  for (const agent of scan.agents()) {
    if (foldName(agent.name ?? agent.id) !== wanted || !isMeant(agent)) continue
    if (agent.state !== 'terminated') return agent.id
    terminated.push(agent)
  }
  scan.assertWhole()
  return latest(terminated)
}

interface SameName {
  /** The living agents with the name, anywhere in the tree. */
  ids: string[]
  /** The names of the other living agents. */
  others: string[]
  terminatedRoot: string | undefined
}

function scanForName(store: Store, name: string): SameName {
  const wanted = foldName(name)
  const scan = new Scan(store)
  const ids: string[] = []
  const others: string[] = []
  const terminatedRoots: State[] = []
  for (const agent of scan.agents()) {
    if (agent.name === null) continue
    const isWanted = foldName(agent.name) === wanted
    if (agent.state !== 'terminated') (isWanted ? ids : others).push(isWanted ? agent.id : agent.name)
    else if (isWanted && agent.parent === null) terminatedRoots.push(agent)
  }
  if (ids.length === 0) scan.assertWhole()
  return { ids, others, terminatedRoot: latest(terminatedRoots) }
}

function latest(agents: State[]): string | undefined {
  return agents.sort(oldestFirst).at(-1)?.id
}

/** Reads all agents. An agent that is damaged or cannot be read does not hide the others. */
class Scan {
  private failure: SubstratError | undefined

  constructor(private readonly store: Store) {}

  *agents(): Iterable<State> {
    const ids = this.store.agentIds()
    this.store.readAhead(ids)
    try {
      for (const id of ids) {
        const agent = this.read(id)
        if (agent !== undefined) yield agent
      }
    } finally {
      this.store.readAhead([])
    }
  }

  /** Throws if a read failed: the agent that could not be read may be the one that was searched. */
  assertWhole(): void {
    if (this.failure !== undefined) throw this.failure
  }

  private read(id: string): State | undefined {
    try {
      return peekState(this.store, id)
    } catch (error) {
      if (!(error instanceof SubstratError)) throw error
      if (error.code === 'STORAGE_FAILED') this.failure ??= error
      return undefined
    }
  }
}

const PREFIX = /^[0-9a-f][0-9a-f-]{2,35}$/
const CANDIDATES_SHOWN = 5

function findByPrefix(store: Store, word: string, prefix: string): string | undefined {
  const found = PREFIX.test(prefix) ? store.agentIds().filter((id) => id.startsWith(prefix)) : []
  if (found.length < 2) return found[0]
  throw ambiguous(`${shownWord(word)} is the beginning of the id`, found)
}

function ambiguous(what: string, found: string[]): SubstratError {
  const shownIds = found.sort().slice(0, CANDIDATES_SHOWN).join(', ')
  return new SubstratError('AGENT_AMBIGUOUS', `${what} of ${found.length} agents: ${shownIds}`, {
    hint: 'give more of the id, or the path: substrat tree',
    facts: { candidates: found },
  })
}

function isAlive(store: Store, id: string): boolean {
  const state = openForRead(store, id)?.state.state
  return state !== undefined && state !== 'terminated'
}

function whyNoName(name: string): string | undefined {
  if (name.trim() === '') return 'it is empty'
  if (name !== name.trim()) return 'it begins or ends with a space'
  if ([...name].length > limits.nameCharactersMax)
    return `it is longer than ${limits.nameCharactersMax} characters`
  if (name.includes('/')) return 'it has a slash'
  if (/\p{C}|[\u2028\u2029]/u.test(name)) return 'it has a control character'
  if (name.startsWith('-')) return 'it begins with a dash'
  if (isUuid(name.toLowerCase())) return 'it is a UUID'
  if (foldName(name) === 'operator') return 'it is reserved for the user'
  return undefined
}

function notFound(word: string, names: string[] = []): SubstratError {
  const message = `there is no agent ${shownWord(word)}${suggestion(word, names)}`
  return new SubstratError('AGENT_NOT_FOUND', message, {
    hint: 'list all agents: substrat list --all',
    facts: { agent: word.slice(0, 200) },
  })
}

/** As a JSON string, shortened, with all control characters escaped: JSON itself does not escape C1 controls. */
function shownWord(word: string): string {
  const json = JSON.stringify(word.length > 80 ? `${word.slice(0, 80)}…` : word)
  return json.replace(/[\p{C}\u2028\u2029]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`)
}
