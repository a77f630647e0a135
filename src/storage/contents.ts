/** The texts of agents in files, for a search. */
import { SubstratError } from '../errors.js'
import * as io from '../host/disk/io.js'
import { recordsAt } from './log/found.js'
import type { FileLog } from './log/log.js'
import type { Logs } from './logs.js'
import type { BlobReference, Contents, Needle, RecordFound } from './parts.js'
import type { HomePaths } from './paths.js'
import type { Found, Section } from './search/sections.js'
import { SearchThreads } from './search/threads.js'

const PART_BYTES = 1024 * 1024
const SECTION_BYTES = 4 * 1024 * 1024
/** So many sections are searched, or have been, before their records are taken. Each may hold a file open. */
const SECTIONS_AHEAD = 32

/** A section, and how its records are read once it has been searched. Parts are taken in order. */
interface Part {
  found: Found | Promise<Found> | undefined
  take(found: Found | undefined): Iterable<RecordFound>
}

export class ContentFiles implements Contents {
  constructor(
    private readonly paths: HomePaths,
    private readonly logs: Logs,
    private readonly threadsFor = (needle: Needle): SearchThreads => new SearchThreads(needle),
  ) {}

  async *recordsWith(agentIds: string[], needle: Needle): AsyncGenerator<RecordFound> {
    const threads = this.threadsFor(needle)
    const open = new Set<() => void>()
    try {
      for await (const { found, take } of inAdvance(this.partsOf(agentIds, threads, open)))
        yield* take(await found)
    } finally {
      await threads.close()
      for (const close of open) close()
    }
  }

  blobParts(agentId: string, { blob }: BlobReference): Generator<Buffer> {
    return partsOf(this.paths.agent(agentId).blob(blob))
  }

  private *partsOf(agentIds: string[], threads: SearchThreads, open: Set<() => void>): Generator<Part> {
    for (const agentId of agentIds) {
      try {
        yield* this.partsOfOne(agentId, threads, open)
      } catch (error) {
        if (!(error instanceof SubstratError) || error.code !== 'CORRUPT') throw error
        yield { found: undefined, take: () => [{ agentId, error }] }
      }
    }
  }

  private *partsOfOne(agentId: string, threads: SearchThreads, open: Set<() => void>): Generator<Part> {
    const log = this.logs.openForRead(agentId)
    if (log === undefined) return
    const closeLog = closing(log, open)
    const agent = this.paths.agent(agentId)
    const blobs = new Set<string>()
    // Listed after the log was opened: a blob is there before the record that names it.
    for (const blob of io.listDirectory('blob.list', agent.blobs)) {
      const file = io.openIfThere('blob.open', agent.blob(blob), 'read')
      if (file === undefined) continue
      const close = closing({ close: () => io.close(file) }, open)
      for (const section of sectionsOf(io.sizeOf(file), false)) {
        const take = (found: Found | undefined): RecordFound[] => {
          if (found?.isInBlob === true) blobs.add(blob)
          if (section.isLast) close()
          return []
        }
        yield { found: threads.search(file, section), take }
      }
    }
    for (const section of sectionsOf(log.size(), true)) {
      const found = threads.search(log.file, section)
      yield { found, take: (found) => this.recordsOf(agentId, log, found, blobs) }
    }
    const end = (): RecordFound[] => {
      closeLog()
      return []
    }
    yield { found: undefined, take: end }
  }

  private *recordsOf(
    agentId: string,
    log: FileLog,
    found: Found | undefined,
    blobs: Set<string>,
  ): Generator<RecordFound> {
    const places = found?.places.filter(({ blob }) => blob === undefined || blobs.has(blob)) ?? []
    for (const record of recordsAt(log, places)) yield { agentId, record }
  }
}

/** Removes itself from the open files when it closes one. */
function closing(file: { close(): void }, open: Set<() => void>): () => void {
  const close = (): void => {
    open.delete(close)
    file.close()
  }
  open.add(close)
  return close
}

function* sectionsOf(size: number, isLog: boolean): Generator<Section & { isLast: boolean }> {
  for (let from = 0; from === 0 || from < size; from += SECTION_BYTES) {
    const to = Math.min(size, from + SECTION_BYTES)
    yield { isLog, from, to, isLast: to === size }
  }
}

/** Begins the search of some parts before the first of them is taken. */
async function* inAdvance(parts: Iterator<Part>): AsyncGenerator<Part> {
  const begun: Part[] = []
  for (let isDone = false; ; ) {
    while (!isDone && begun.length < SECTIONS_AHEAD) {
      const { done, value } = parts.next()
      if (done === true) isDone = true
      else begun.push(value)
      // A failure is thrown when the part is taken.
      if (done !== true && value.found instanceof Promise) value.found.catch(() => {})
      // Without other threads, a part is taken at once.
      if (done !== true && !(value.found instanceof Promise)) break
    }
    const part = begun.shift()
    if (part === undefined) return
    yield part
  }
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
