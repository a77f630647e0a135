/**
 * Reads two files of each of very many directories on two threads, for a caller that needs them in order: the first file whole, and
 * the second from the offset that the first one names to its end. The caller itself reads the files that were not read.
 */
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { confinement, hasFaultHook } from './operation.js'
import { CHUNK_ENTRIES, type Entry, FirstThread, type Slot, sharedMemory } from './read-ahead-chunks.js'
import { type ReadAheadJob, readChunk } from './read-chunk.js'

/** With fewer directories, the start of the thread takes longer than it saves. */
const DIRECTORIES_MIN = 5000
/** A second thread that takes longer for one chunk has died, or waits for a slow disk. */
const CHUNK_MS_MAX = 5000

export class ReadAhead {
  private next = 0
  private slot: Slot | undefined

  private constructor(
    private readonly names: string[],
    private readonly chunks: FirstThread,
  ) {}

  /**
   * `names`: directories in that directory, of equal length, in the order in which `take` is called. Undefined if a second thread
   * would not help.
   */
  static start(
    directory: string,
    names: string[],
    { files, mark }: Pick<ReadAheadJob, 'files' | 'mark'>,
    directoriesMin = DIRECTORIES_MIN,
  ): ReadAhead | undefined {
    const isUseful = names.length >= directoriesMin && availableParallelism() > 1
    // A fault hook sees only the steps of `step`. A name that is not a real directory is for the caller to refuse.
    if (!isUseful || hasFaultHook() || !confinement.areListed(directory, names)) return undefined
    const nameLength = (names[0] as string).length
    const memory = sharedMemory(names.length)
    const job = { directory, names: names.join(''), nameLength, files, mark, memory }
    try {
      const worker = new Worker(programPath(), { workerData: job, execArgv: [], env: {} })
      worker.unref()
      // This thread reads what the other one does not.
      worker.on('error', () => {})
    } catch {
      return undefined
    }
    return new ReadAhead(names, new FirstThread(memory, (chunk, slot) => readChunk(job, chunk, slot)))
  }

  /** Undefined if its files were not read. The result is valid until the next call. */
  take(name: string): FilesRead | undefined {
    if (name !== this.names[this.next]) return undefined
    const index = this.next % CHUNK_ENTRIES
    if (index === 0) this.slot = this.chunks.take(this.next / CHUNK_ENTRIES, CHUNK_MS_MAX)
    // Without a slot, none follows.
    if (this.slot === undefined) return undefined
    this.next += 1
    return new FilesRead(this.slot.bytes, this.slot.get(index))
  }
}

class FilesRead {
  constructor(
    private readonly bytes: Buffer,
    private readonly entry: Entry,
  ) {}

  /** The first file. Undefined if it was not read. */
  get whole(): Buffer | undefined {
    const { start, end } = this.entry
    return start === end ? undefined : this.bytes.subarray(start, end)
  }

  /** The second file from that offset. Undefined if it was not read from there. */
  tailFrom(offset: number): Buffer | undefined {
    const { from, tailStart, tailEnd } = this.entry
    return offset !== from || tailStart === tailEnd ? undefined : this.bytes.subarray(tailStart, tailEnd)
  }
}

function programPath(): string {
  return join(dirname(createRequire(import.meta.url).resolve('substrat/package.json')), 'dist/read-ahead.cjs')
}
