/**
 * A conversation in words, for a provider whose own store has none of it: after it was lost, or for another provider.
 *
 * Invariant: a native session is told it once. One that was begun with it, and of which nothing shows that it was told,
 * is given up for another, which is told all that was said by then.
 */
import { limits } from '../limits.js'
import { recordsFrom } from '../session/load.js'
import { readText } from '../session/read.js'
import type { SessionRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { Location } from '../session/state.js'
import type { FileStore } from '../storage/store.js'
import { refusedNotice } from '../turn/prompt/history.js'
import { cappedResult } from '../turn/tools/toolbox.js'

/** `goesOn`: with the latest turn, whose prompt is told after it. */
export interface SeedOptions {
  goesOn: boolean
}

/** From the next turn on the program has a session of its own that begins with what our log has of the conversation. */
export function seed(session: Session, options: SeedOptions): void {
  const { provider_state, id } = session.state
  const content = conversationText(session.store, id, options)
  if (content === undefined && provider_state === null) return
  session.append([{ kind: 'session.seeded', from: id, content: content ?? '' }])
}

/**
 * Where a turn that was to tell it has come to no end, and nobody knows whether its session has it; and where a turn
 * begins that is not the one it was made for.
 */
export function seedAgain(session: Session, options: SeedOptions): void {
  const { isSeedDue, seed: at, provider_state, run } = session.state
  if (!isSeedDue || at === null) return
  const wasTried = provider_state !== null || (run !== null && run.start.seq > at.seq)
  if (wasTried || (run !== null && isOutOfDate(session, at, options))) seed(session, options)
}

/** It was made to go on with the latest turn, which was given up instead; or the other way round. */
function isOutOfDate(session: Session, at: Location, options: SeedOptions): boolean {
  const record = session.recordAt(at)
  const told = record.kind === 'session.seeded' ? session.text(record.content) : ''
  return told !== (conversationText(session.store, session.id, options) ?? '')
}

/**
 * The newest of it, where it is longer than a prompt should be. Undefined where nothing was said yet. A turn that the
 * model refused is left out, as in `conversation`.
 */
export function conversationText(
  store: FileStore,
  agentId: string,
  { goesOn }: SeedOptions,
): string | undefined {
  const newest = new Newest()
  const latest = new LatestTurn(newest)
  readWords(store, agentId, latest)
  if (!goesOn) latest.flush()
  const told = newest.words()
  return told.length === 0 ? undefined : [HEAD, ...told, FOOT].join('\n\n')
}

interface Said {
  words: string
  runId: string | undefined
  /** What was said before a fork: a conversation in itself. */
  isEarlier: boolean
}

/** What fits. As it is read: a conversation may be larger than memory. */
class Newest {
  private readonly kept: Said[] = []
  private bytes = 0
  private left = 0

  add(said: Said): void {
    this.kept.push(said)
    this.bytes += sizeOf(said)
    while (this.bytes > limits.seedBytesMax) this.shorten(this.bytes - limits.seedBytesMax)
  }

  words(): string[] {
    const begin = this.left === 0 ? [] : [`[… messages left out: ${this.left} …]`]
    return [...begin, ...this.kept.map(({ words }) => words)]
  }

  /** By the oldest message; of an earlier conversation, which stands for many, by no more than is needed. */
  private shorten(bytes: number): void {
    const oldest = this.kept.shift() as Said
    this.bytes -= sizeOf(oldest)
    const rest = sizeOf(oldest) - bytes - Buffer.byteLength(EARLIER_CUT)
    if (oldest.isEarlier && rest > 0) {
      // No half character at its beginning.
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

/** The latest run, and those that it continues. What was said in them is in `newest` once another turn has begun. */
class LatestTurn {
  private readonly runs = new Set<string>()
  private readonly tools = new Set<string>()
  private said: Said[] = []
  private isRefused = false

  constructor(private readonly newest: Newest) {}

  begin({ run_id, continues }: SessionRecord<'run.started'>): void {
    if (continues === undefined || !this.runs.has(continues)) {
      this.flush()
      this.runs.clear()
      this.tools.clear()
    }
    this.runs.add(run_id)
    // Where somebody tries a refused turn again, it is in.
    this.isRefused = false
  }

  fail({ run_id, error }: SessionRecord<'run.failed'>): void {
    this.isRefused = error.type === 'refused' && this.runs.has(run_id)
  }

  use({ run_id, tool }: SessionRecord<'tool.finished'>): void {
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
    return [{ words: refusedNotice([...this.tools]), runId: undefined, isEarlier: false }]
  }
}

const HEAD =
  'This conversation was begun elsewhere. What was said so far, word for word, between <conversation> and </conversation>; go on from there, and do not do again what was done.\n\n<conversation>'
const FOOT = '</conversation>'

function readWords(store: FileStore, agentId: string, latest: LatestTurn): void {
  const log = store.logs.openForRead(agentId)
  if (log === undefined) return
  try {
    for (const { record } of recordsFrom(log, { seq: 1, offset: 0 })) {
      if (record.kind === 'run.started') latest.begin(record)
      else if (record.kind === 'run.failed') latest.fail(record)
      else if (record.kind === 'tool.finished') latest.use(record)
      const who = speakerOf(record, agentId)
      if (who === undefined || !('content' in record)) continue
      const words = `${who}: ${readText(store, agentId, record.content)}`
      const isEarlier = record.kind === 'session.seeded'
      const runId = 'run_id' in record ? record.run_id : undefined
      latest.add({ words: isEarlier ? words : fittingText(words), runId, isEarlier })
    }
  } finally {
    log.close()
  }
}

/** One that alone is too long is there with its beginning and its end. */
function fittingText(words: string): string {
  return Buffer.byteLength(words) <= limits.seedBytesMax
    ? words
    : cappedResult(Buffer.from(words), false).content
}

function speakerOf(record: SessionRecord, agentId: string): string | undefined {
  switch (record.kind) {
    case 'session.seeded':
      // What it was told of itself is all here already.
      return record.from === agentId ? undefined : 'Earlier'
    case 'message.user':
      // What substrat says to a program that was interrupted is no part of the conversation.
      return record.origin === 'continuation' ? undefined : 'User'
    case 'mail.delivered':
      return record.call_id === undefined ? `Message from ${record.from_path ?? record.from}` : undefined
    case 'message.agent':
      return 'You'
    default:
      return undefined
  }
}
