/** A conversation in words, for a provider whose own store has none of it: after it was lost, or for another provider. */
import { limits } from '../limits.js'
import { recordsFrom } from '../session/load.js'
import { readText } from '../session/read.js'
import type { SessionRecord } from '../session/records.js'
import type { FileStore } from '../storage/store.js'
import { capped } from '../turn/tools/toolbox.js'

/** The newest of it, where it is longer than a prompt should be. Undefined where nothing was said yet. */
export function conversationText(store: FileStore, agentId: string): string | undefined {
  const kept: string[] = []
  let bytes = 0
  let left = 0
  for (const words of wordsOf(store, agentId)) {
    kept.push(words)
    bytes += Buffer.byteLength(words)
    // As it is read: a conversation may be larger than memory.
    for (; bytes > limits.seedBytesMax; left += 1) bytes -= Buffer.byteLength(kept.shift() ?? '')
  }
  if (kept.length === 0) return undefined
  const begin = left === 0 ? [] : [`[… messages left out: ${left} …]`]
  return [HEAD, ...begin, ...kept, FOOT].join('\n\n')
}

const HEAD =
  'This conversation was begun elsewhere. What was said so far, word for word, between <conversation> and </conversation>; go on from there, and do not do again what was done.\n\n<conversation>'
const FOOT = '</conversation>'

function* wordsOf(store: FileStore, agentId: string): Generator<string> {
  const log = store.openLogForRead(agentId)
  if (log === undefined) return
  try {
    for (const { record } of recordsFrom(log, { seq: 1, offset: 0 })) {
      const who = speakerOf(record, agentId)
      if (who !== undefined && 'content' in record)
        yield fitting(`${who}: ${readText(store, agentId, record.content)}`)
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
