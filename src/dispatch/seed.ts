/**
 * A conversation in words, for a provider whose own store has none of it: after it was lost, or for another provider.
 *
 * Invariant: a native session is told it once. One that was begun with it, and of which nothing shows that it was told, is
 * given up for another, which is told all that was said by then.
 */
import { limits } from '../limits.js'
import { recordsFrom } from '../session/load.js'
import { readText } from '../session/read.js'
import type { SessionRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { FileStore } from '../storage/store.js'
import { capped } from '../turn/tools/toolbox.js'

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

/** Where a turn that was to tell it has come to no end, and nobody knows whether its session has it. */
export function seedAgain(session: Session, options: SeedOptions): void {
  const { isSeedDue, seed: at, provider_state, run } = session.state
  if (!isSeedDue || at === null) return
  const wasTried = provider_state !== null || (run !== null && run.start.seq > at.seq)
  if (wasTried) seed(session, options)
}

/** The newest of it, where it is longer than a prompt should be. Undefined where nothing was said yet. */
export function conversationText(
  store: FileStore,
  agentId: string,
  { goesOn }: SeedOptions,
): string | undefined {
  const kept: Said[] = []
  let bytes = 0
  let left = 0
  const latest = new LatestTurn()
  for (const said of wordsOf(store, agentId, latest)) {
    kept.push(said)
    bytes += Buffer.byteLength(said.words)
    // As it is read: a conversation may be larger than memory.
    for (; bytes > limits.seedBytesMax; left += 1) bytes -= Buffer.byteLength(kept.shift()?.words ?? '')
  }
  const told = kept.filter(({ runId }) => !(goesOn && latest.has(runId))).map(({ words }) => words)
  if (told.length === 0) return undefined
  const begin = left === 0 ? [] : [`[… messages left out: ${left} …]`]
  return [HEAD, ...begin, ...told, FOOT].join('\n\n')
}

interface Said {
  words: string
  runId: string | undefined
}

/** The latest run, and those that it continues. */
class LatestTurn {
  private readonly runs = new Set<string>()

  begun({ run_id, continues }: SessionRecord<'run.started'>): void {
    if (continues === undefined || !this.runs.has(continues)) this.runs.clear()
    this.runs.add(run_id)
  }

  has(runId: string | undefined): boolean {
    return runId !== undefined && this.runs.has(runId)
  }
}

const HEAD =
  'This conversation was begun elsewhere. What was said so far, word for word, between <conversation> and </conversation>; go on from there, and do not do again what was done.\n\n<conversation>'
const FOOT = '</conversation>'

function* wordsOf(store: FileStore, agentId: string, latest: LatestTurn): Generator<Said> {
  const log = store.openLogForRead(agentId)
  if (log === undefined) return
  try {
    for (const { record } of recordsFrom(log, { seq: 1, offset: 0 })) {
      if (record.kind === 'run.started') latest.begun(record)
      const who = speakerOf(record, agentId)
      if (who === undefined || !('content' in record)) continue
      const words = fitting(`${who}: ${readText(store, agentId, record.content)}`)
      yield { words, runId: 'run_id' in record ? record.run_id : undefined }
    }
  } finally {
    log.close()
  }
}

/** One that alone is too long is there with its beginning and its end. */
function fitting(words: string): string {
  return Buffer.byteLength(words) <= limits.seedBytesMax ? words : capped(Buffer.from(words), false).content
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
