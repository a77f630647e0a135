/** `search`: a text in the logs and blobs of agents. Takes no lock, writes nothing, and reads in parts. */
import { damagedConversation, type SubstratError } from '../errors.js'
import { isBlob } from '../format.js'
import type { SearchMatch } from '../schema/output-overview.js'
import { type Entry, entryOf } from '../session/entries.js'
import { type SessionRecord, wrongKnownShape } from '../session/records.js'
import type { BlobReference, Store } from '../storage/store.js'
import { listAgents } from './list-and-show.js'
import { ignoresCase, literalPattern, type Match, type TextPattern } from './text-pattern.js'

export interface SearchRequest {
  text: string
  /** Only records since this time. */
  since?: string | undefined
  /** Whether an agent with this path and id is searched. */
  isMeant(path: string | null, agentId: string): boolean
  /** Whether stdout still has a reader. */
  isRead(): boolean
}

/** Agents: the one that changed last first. Records of an agent: in the order of its log. Returns the error of the last damaged agent. */
export async function searchHome(
  store: Store,
  { text, since = '', isMeant, isRead }: SearchRequest,
  onMatch: (match: SearchMatch) => void,
): Promise<SubstratError | undefined> {
  const sought = { text, pattern: literalPattern(text) }
  const agents = new Map(agentsOf(store, since, isMeant).map((agent) => [agent.id, agent]))
  const needle = { text, ignoresCase: ignoresCase(text) }
  // Undamaged records of a damaged log can be found, too.
  for await (const { agentId, record: found, error } of store.contents.recordsWith(
    [...agents.keys()],
    needle,
  )) {
    const agent = agents.get(agentId) as Searched
    if (error !== undefined) agent.error ??= error.message
    const record = found as unknown as SessionRecord | undefined
    // Only its checksum is checked so far.
    const wrong = record === undefined ? undefined : wrongKnownShape(record)
    if (wrong !== undefined) agent.error ??= `a record of its log is not valid: ${wrong}`
    else if (record !== undefined && record.ts >= since) {
      const { seq, ts, kind } = record
      const match = matchIn(store, agentId, record, sought)
      if (match !== undefined) onMatch({ agent_id: agentId, path: agent.path, seq, ts, kind, ...match })
    }
    if (!isRead()) break
  }
  const damaged = [...agents.values()].findLast(({ error }) => error !== undefined)
  return damaged === undefined
    ? undefined
    : damagedConversation(`agent ${damaged.path ?? damaged.id}: ${damaged.error}`, REMEDY)
}

const REMEDY = { hint: 'see what is damaged: substrat doctor' }

interface Searched {
  id: string
  path: string | null
  /** Why its state cannot be read. */
  error?: string
}

function agentsOf(store: Store, since: string, isMeant: SearchRequest['isMeant']): Searched[] {
  return listAgents(store, { roots: false, all: true })
    .filter((agent) => isMeant(agent.path, agent.id))
    .map((agent) =>
      'error' in agent
        ? { id: agent.id, path: agent.path, at: '', error: agent.error.message }
        : { id: agent.id, path: agent.path, at: agent.updated_at },
    )
    .filter(({ at }) => at === '' || at >= since)
    .sort((a, b) => (a.at > b.at ? -1 : a.at < b.at ? 1 : 0))
}

interface Sought {
  text: string
  pattern: TextPattern
}

type Found = Pick<SearchMatch, 'role' | 'tool' | 'snippet' | 'match'>

/** The first match of the record in the texts that a person, a model or a tool wrote. */
function matchIn(store: Store, agentId: string, record: SessionRecord, sought: Sought): Found | undefined {
  for (const { role, tool = null, content, isJson = false } of textsOf(entryOf(record))) {
    const found = isBlob(content)
      ? inBlob(store, agentId, content, sought, isJson)
      : inStrings(content, sought.pattern)
    if (found !== undefined) return { role, tool, ...found }
  }
  return undefined
}

interface Part {
  role: SearchMatch['role']
  tool?: string
  /** An object: its strings at any depth, without the names of its fields. */
  content: string | BlobReference | object
  isJson?: boolean
}

function* textsOf(entry: Entry): Generator<Part> {
  switch (entry.type) {
    case 'prompt':
      yield { role: entry.origin === 'operator' ? 'operator' : 'substrat', content: entry.content }
      return
    case 'mail':
      if (entry.call_id === undefined)
        yield { role: entry.from === 'operator' ? 'operator' : 'mail', content: entry.content }
      return
    case 'reply':
      yield { role: 'agent', content: entry.content }
      return
    case 'response':
      for (const { name, input, input_blob } of entry.calls ?? [])
        yield { role: 'tool', tool: name, content: input ?? input_blob ?? '', isJson: true }
      return
    case 'call':
    case 'edit':
      yield { role: 'tool', tool: entry.tool, content: entry.input ?? entry.input_blob ?? '', isJson: true }
      return
    case 'result':
    case 'deferral':
      yield { role: 'tool', tool: entry.tool, content: entry.content }
      return
    case 'failure':
      if (entry.said !== undefined) yield { role: 'agent', content: entry.said }
      yield { role: 'error', content: entry.error.message }
      return
    case 'failed_request':
      yield { role: 'error', content: entry.error.message }
      return
    case 'creation':
    case 'settings':
      if ('title' in entry) yield { role: 'settings', content: entry.title ?? '' }
      yield { role: 'settings', content: entry.instructions ?? '' }
      return
    default:
      if ('content' in entry && entry.content !== undefined)
        yield { role: 'substrat', content: entry.content }
  }
}

function inStrings(value: unknown, pattern: TextPattern): Pick<Found, 'snippet' | 'match'> | undefined {
  if (typeof value === 'string') {
    const match = pattern.find(value)
    return match === undefined ? undefined : snippetOf(value, match)
  }
  if (typeof value !== 'object' || value === null) return undefined
  for (const each of Object.values(value)) {
    const found = inStrings(each, pattern)
    if (found !== undefined) return found
  }
  return undefined
}

const [BEFORE, AFTER] = [60, 140]
/** JSON up to this size is parsed. Larger JSON is searched as text, so that it takes little memory. */
const PARSED_BYTES_MAX = 8 * 1024 * 1024

function inBlob(
  store: Store,
  agentId: string,
  reference: BlobReference,
  { text, pattern: asItIs }: Sought,
  isJson: boolean,
): Pick<Found, 'snippet' | 'match'> | undefined {
  if (isJson && reference.bytes <= PARSED_BYTES_MAX)
    return inStrings(JSON.parse(store.readBlob(agentId, reference).toString('utf8')), literalPattern(text))
  const pattern = isJson ? literalPattern(JSON.stringify(text).slice(1, -1)) : asItIs
  const decoder = new TextDecoder()
  let before = ''
  for (const part of store.contents.blobParts(agentId, reference)) {
    const window = before + decoder.decode(part, { stream: true })
    const match = pattern.find(window)
    if (match !== undefined) return snippetOf(window, match)
    before = window.slice(-(text.length * 6 + BEFORE))
  }
  return undefined
}

/** The line of the match, with some characters around it. */
function snippetOf(text: string, { start, end }: Match): Pick<Found, 'snippet' | 'match'> {
  const from = Math.max(text.lastIndexOf('\n', Math.max(start - 1, 0)) + 1, start - BEFORE, 0)
  const lineEnd = text.indexOf('\n', end)
  const to = Math.min(lineEnd === -1 ? text.length : lineEnd, end + AFTER)
  const begin = Math.min(from, start)
  return { snippet: text.slice(begin, to).trimEnd(), match: [start - begin, end - begin] }
}
