/**
 * The conversation as one text (the seed), for a program whose own store does not have it: after a loss, or after a
 * change of provider.
 *
 * Invariant: a native session receives a seed once. If nothing proves that a session received its seed, it is replaced
 * by a new session with a new seed.
 */
import { limits } from '../limits.js'
import type { Content } from '../schema/types.js'
import { type Entry, type EntryOf, entryOf } from '../session/entries.js'
import { recordsFrom } from '../session/load.js'
import { readText } from '../session/read.js'
import type { Session } from '../session/session.js'
import type { Location } from '../session/state.js'
import type { Host } from '../session/workspace-host.js'
import type { LogReader, Store } from '../storage/store.js'
import { refusedNotice } from '../turn/prompt/history.js'
import { cappedResult } from '../turn/tools/toolbox.js'

/** `continuesTurn`: the next turn continues the latest one, so the seed excludes that turn. */
export interface SeedOptions {
  continuesTurn: boolean
  /** The sentence before the conversation. */
  head?: string
}

/** From the next turn on, the program has a new session that begins with the conversation of the log. `place`: on this host. */
export function seed(session: Session, options: SeedOptions, place: Host = {}): void {
  const { provider_state, id } = session.state
  const content = conversationText(session.store, id, options)
  const isNeeded = content !== undefined || provider_state !== null
  // One batch: on its old host, the agent still has its old session.
  session.append([
    ...(isNeeded ? [{ kind: 'session.seeded' as const, from: id, content: content ?? '' }] : []),
    ...(place.host_name === undefined ? [] : [{ kind: 'session.configured' as const, ...place }]),
  ])
}

/**
 * Replaces a seed that may not have arrived, because its turn was cut short, or that was made for another kind of turn.
 */
export function seedAgain(session: Session, options: SeedOptions): void {
  const { isSeedDue, seed: at, provider_state, run } = session.state
  if (!isSeedDue || at === null) return
  const wasTried = provider_state !== null || (run !== null && run.start.seq > at.seq)
  if (wasTried || (run !== null && isOutOfDate(session, at, options))) seed(session, options)
}

/** The seed was made to continue the latest turn but that turn was given up, or the reverse. */
function isOutOfDate(session: Session, at: Location, options: SeedOptions): boolean {
  const record = session.recordAt(at)
  const told = record.kind === 'session.seeded' ? session.text(record.content) : ''
  return told !== (conversationText(session.store, session.id, options) ?? '')
}

/**
 * The newest part of the conversation, up to `seedBytesMax`. Undefined if it is empty. Omits a turn that the model
 * refused, as `conversation` does.
 */
export function conversationText(store: Store, agentId: string, options: SeedOptions): string | undefined {
  const log = store.openLog(agentId)
  if (log === undefined) return undefined
  try {
    const text = (content: Content): string => readText(store, agentId, content)
    return conversationIn({ log, text, ids: [agentId] }, options)
  } finally {
    log.close()
  }
}

export interface ConversationSource {
  log: LogReader
  text(content: Content): string
  /** The ids of the agent in its own records. */
  ids: string[]
}

/** The same, of a log that need not be in the home. */
export function conversationIn(
  source: ConversationSource,
  { continuesTurn, head = SEED_HEAD }: SeedOptions,
): string | undefined {
  const newest = new Newest()
  const latest = new LatestTurn(newest)
  readWords(source, latest)
  if (!continuesTurn) latest.flush()
  const told = newest.words()
  return told.length === 0 ? undefined : [`${head}\n\n<conversation>`, ...told, FOOT].join('\n\n')
}

interface Said {
  words: string
  seq: number
  runId: string | undefined
  /** An earlier seed: a whole conversation in one entry. */
  isEarlier: boolean
}

/** The newest entries that fit. Filled while the log is read, because a conversation may be larger than memory. */
class Newest {
  private readonly kept: Said[] = []
  private bytes = 0
  private left = 0

  add(said: Said): void {
    this.kept.push(said)
    this.bytes += sizeOf(said)
    while (this.bytes > limits.seedBytesMax) this.shorten(this.bytes - limits.seedBytesMax)
  }

  /** Drops what was said before that record. */
  cut(seq: number): void {
    const at = this.kept.findIndex((said) => said.seq >= seq)
    const dropped = this.kept.splice(0, at < 0 ? this.kept.length : at)
    this.bytes -= dropped.reduce((bytes, said) => bytes + sizeOf(said), 0)
    if (dropped.length > 0) this.left = 0
  }

  words(): string[] {
    const begin = this.left === 0 ? [] : [`[… messages left out: ${this.left} …]`]
    return [...begin, ...this.kept.map(({ words }) => words)]
  }

  /** Drops the oldest entry. An earlier seed stands for many messages, so it loses no more bytes than needed. */
  private shorten(bytes: number): void {
    const oldest = this.kept.shift() as Said
    this.bytes -= sizeOf(oldest)
    const rest = sizeOf(oldest) - bytes - Buffer.byteLength(EARLIER_CUT)
    if (oldest.isEarlier && rest > 0) {
      // Drop a partial UTF-8 character at the beginning.
      const end = Buffer.from(oldest.words)
        .subarray(-rest)
        .toString('utf8')
        .replace(/^\uFFFD+/, '')
      const cut = { ...oldest, words: `${EARLIER_CUT}${end}` }
      this.kept.unshift(cut)
      this.bytes += sizeOf(cut)
    } else this.left += 1
  }
}

const EARLIER_CUT = 'Earlier: [… its beginning is left out …]\n'

function sizeOf({ words }: Said): number {
  return Buffer.byteLength(words)
}

/** The entries of the latest run and the runs that it continues. They move to `newest` when another turn starts. */
class LatestTurn {
  private readonly runs = new Set<string>()
  private readonly tools = new Set<string>()
  private said: Said[] = []
  private isRefused = false
  private refusedAt = 0

  constructor(private readonly newest: Newest) {}

  begin({ run_id, continues, fresh, keeps_seq, seq }: EntryOf<'turn'>): void {
    if (continues === undefined || !this.runs.has(continues)) {
      this.flush()
      this.runs.clear()
      this.tools.clear()
      // The conversation begins with this turn, or with one of the last turns before it.
      if (fresh === true) this.newest.cut(seq)
      else if (keeps_seq !== undefined) this.newest.cut(keeps_seq)
    }
    this.runs.add(run_id)
    // A retry of a refused turn includes it.
    this.isRefused = false
  }

  fail({ run_id, error, seq }: EntryOf<'failure'>): void {
    this.isRefused = error.type === 'refused' && this.runs.has(run_id)
    this.refusedAt = seq
  }

  use({ run_id, tool }: EntryOf<'result'>): void {
    if (this.runs.has(run_id)) this.tools.add(tool)
  }

  add(said: Said): void {
    if (said.runId !== undefined && this.runs.has(said.runId)) this.said.push(said)
    else this.newest.add(said)
  }

  flush(): void {
    const told = this.isRefused ? this.notice() : this.said
    for (const said of told) this.newest.add(said)
    this.said = []
  }

  private notice(): Said[] {
    if (this.tools.size === 0) return []
    return [
      { words: refusedNotice([...this.tools]), seq: this.refusedAt, runId: undefined, isEarlier: false },
    ]
  }
}

const SEED_HEAD =
  'This conversation began elsewhere. Its exact text so far is between <conversation> and </conversation>. Continue from there, and do not repeat work that is already done.'
/** For a program without a memory, in each turn. */
export const HISTORY_HEAD =
  'The conversation so far is between <conversation> and </conversation>. Your own replies in it begin with "You:". The message to reply to follows it.'
const FOOT = '</conversation>'

function readWords({ log, text, ids }: ConversationSource, latest: LatestTurn): void {
  for (const { record } of recordsFrom(log, { seq: 1, offset: 0 })) {
    const entry = entryOf(record)
    if (entry.type === 'turn') latest.begin(entry)
    else if (entry.type === 'failure') latest.fail(entry)
    else if (entry.type === 'result' && !entry.isOwn) latest.use(entry)
    const who = speakerOf(entry, ids)
    const content = 'content' in entry ? entry.content : undefined
    if (who === undefined || content === undefined) continue
    const words = `${who}: ${text(content)}`
    const isEarlier = entry.type === 'seed'
    const runId = 'run_id' in entry ? entry.run_id : undefined
    latest.add({ words: isEarlier ? words : fittingText(words), seq: entry.seq, runId, isEarlier })
  }
}

/** Shortens a single entry that is too long to its beginning and its end. */
function fittingText(words: string): string {
  return Buffer.byteLength(words) <= limits.seedBytesMax
    ? words
    : cappedResult(Buffer.from(words), false).content
}

function speakerOf(entry: Entry, ids: string[]): string | undefined {
  switch (entry.type) {
    case 'seed':
      // A seed from the agent's own log repeats records that are read here anyway.
      return ids.includes(entry.from) ? undefined : 'Earlier'
    case 'prompt':
      // The notice of substrat to an interrupted program is not part of the conversation.
      return entry.origin === 'continuation' ? undefined : 'User'
    case 'mail':
      return entry.call_id === undefined ? `Message from ${entry.from_path ?? entry.from}` : undefined
    case 'reply':
      return 'You'
    default:
      return undefined
  }
}
