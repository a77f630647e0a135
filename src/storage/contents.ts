/** The texts of agents in files, for a search. */
import { SubstratError } from '../errors.js'
import * as io from '../host/disk/io.js'
import { recordsAt } from './log/found.js'
import { finderOf } from './log/needle.js'
import type { Logs } from './logs.js'
import type { BlobReference, Contents, Needle, RecordFound } from './parts.js'
import type { HomePaths } from './paths.js'
import { type ReadAt, Searcher, type Section } from './search/sections.js'

const PART_BYTES = 1024 * 1024
const SECTION_BYTES = 4 * 1024 * 1024

export class ContentFiles implements Contents {
  constructor(
    private readonly paths: HomePaths,
    private readonly logs: Logs,
  ) {}

  async *recordsWith(agentIds: string[], needle: Needle): AsyncGenerator<RecordFound> {
    const searcher = new Searcher(finderOf(needle))
    for (const agentId of agentIds) {
      try {
        yield* this.recordsOf(agentId, searcher)
      } catch (error) {
        if (!(error instanceof SubstratError) || error.code !== 'CORRUPT') throw error
        yield { agentId, error }
      }
    }
  }

  blobParts(agentId: string, { blob }: BlobReference): Generator<Buffer> {
    return partsOf(this.paths.agent(agentId).blob(blob))
  }

  private *recordsOf(agentId: string, searcher: Searcher): Generator<RecordFound> {
    const log = this.logs.openForRead(agentId)
    if (log === undefined) return
    try {
      // Listed after the log was opened: a blob is there before the record that names it.
      const blobs = this.blobsOf(agentId, searcher)
      for (const section of sectionsOf(log.size(), true)) {
        const { places } = searcher.search(section, readIn(log.file))
        const wanted = places.filter(({ blob }) => blob === undefined || blobs.has(blob))
        for (const record of recordsAt(log, wanted)) yield { agentId, record }
      }
    } finally {
      log.close()
    }
  }

  /** The blobs that have the words. */
  private blobsOf(agentId: string, searcher: Searcher): Set<string> {
    const agent = this.paths.agent(agentId)
    const hasWords = (blob: string): boolean => {
      const file = io.openIfThere('blob.open', agent.blob(blob), 'read')
      if (file === undefined) return false
      try {
        for (const section of sectionsOf(io.sizeOf(file), false))
          if (searcher.search(section, readIn(file)).isInBlob) return true
        return false
      } finally {
        io.close(file)
      }
    }
    return new Set(io.listDirectory('blob.list', agent.blobs).filter(hasWords))
  }
}

function readIn(file: io.OpenFile): ReadAt {
  return (buffer, offset, position) => io.readPart('search.read', file, buffer.subarray(offset), position)
}

function* sectionsOf(size: number, isLog: boolean): Generator<Section> {
  for (let from = 0; from === 0 || from < size; from += SECTION_BYTES)
    yield { isLog, from, to: Math.min(size, from + SECTION_BYTES) }
}

function* partsOf(path: string): Generator<Buffer> {
  const file = io.openIfThere('blob.open', path, 'read')
  if (file === undefined) return
  try {
    for (let at = 0; ; at += PART_BYTES) {
      const part = io.readRange('blob.read', file, at, at + PART_BYTES)
      if (part.length > 0) yield part
      if (part.length < PART_BYTES) return
    }
  } finally {
    io.close(file)
  }
}
