/** Searches logs and blobs, and parses only the lines that have the text. */
import { SubstratError } from '../../errors.js'
import type { JsonObject } from '../../format.js'
import type { RecordFound } from '../parts.js'
import { type Place, Searcher } from '../search/sections.js'
import { unframe } from './frame.js'
import type { Finder } from './needle.js'
import type { LogReader } from './reader.js'

const SECTION_BYTES = 4 * 1024 * 1024
const TOGETHER_BYTES = 64 * 1024

/** Whether the parts of a file contain it, also across the end of a part. */
export function contains(parts: Iterable<Buffer>, { find, bytesMax }: Finder): boolean {
  let carried: Buffer = Buffer.alloc(0)
  for (const part of parts) {
    const bytes = carried.length === 0 ? part : Buffer.concat([carried, part])
    if (find(bytes, 0) !== -1) return true
    carried = bytes.subarray(Math.max(0, bytes.length - bytesMax))
  }
  return false
}

/** For a store that searches one agent after the other. */
export async function* oneByOne(
  agentIds: string[],
  recordsOf: (agentId: string) => Iterable<JsonObject>,
): AsyncGenerator<RecordFound> {
  for (const agentId of agentIds) {
    try {
      for (const record of recordsOf(agentId)) yield { agentId, record }
    } catch (error) {
      if (!(error instanceof SubstratError) || error.code !== 'CORRUPT') throw error
      yield { agentId, error }
    }
  }
}

/** Undamaged records of whole batches whose lines have the text, or name one of the blobs. */
export function* recordsFound(log: LogReader, finder: Finder, blobs: Set<string>): Generator<JsonObject> {
  const searcher = new Searcher(finder)
  const read = (buffer: Buffer, offset: number, position: number): number =>
    log.read(position, position + buffer.length - offset).copy(buffer, offset)
  for (let from = 0; from < log.size(); from += SECTION_BYTES) {
    const section = { isLog: true, from, to: Math.min(log.size(), from + SECTION_BYTES) }
    const { places } = searcher.search(section, read)
    yield* recordsAt(
      log,
      places.filter(({ blob }) => blob === undefined || blobs.has(blob)),
    )
  }
}

/** Undamaged records of whole batches in these places, which are in order. */
export function* recordsAt(log: LogReader, places: Place[]): Generator<JsonObject> {
  let lastSeq: number | undefined
  for (const bytes of linesAt(log, places)) {
    const line = unframe(bytes.subarray(0, -1))
    if ('damage' in line) continue
    const { batch } = line.object
    const last = Array.isArray(batch) ? (batch[1] as number) : 0
    // Only the last batch of a log may be incomplete, and then it counts as not written.
    if (last > (line.object.seq as number)) lastSeq ??= lastSeqOf(log)
    if (lastSeq === undefined || last <= lastSeq) yield line.object
  }
}

/** Each line once. Lines that are near to each other are read together. */
function* linesAt(log: LogReader, places: Place[]): Generator<Buffer> {
  const end = places.at(-1)?.end ?? 0
  let part: { start: number; bytes: Buffer } = { start: 0, bytes: Buffer.alloc(0) }
  let done = 0
  for (const place of places) {
    if (place.start < done) continue
    if (place.end > part.start + part.bytes.length) {
      const to = Math.max(place.end, Math.min(end, place.start + TOGETHER_BYTES))
      part = { start: place.start, bytes: log.read(place.start, to) }
    }
    yield part.bytes.subarray(place.start - part.start, place.end - part.start)
    done = place.end
  }
}

function lastSeqOf(log: LogReader): number {
  for (const { record } of log.recordsFromEnd()) return record.seq as number
  return 0
}
