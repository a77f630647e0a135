/**
 * Searches sections of open files on several threads. The first thread opens and closes the files.
 *
 * The threads start when the first bytes have been searched without them: for a small home they would take longer than they save.
 */
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import * as io from '../../host/disk/io.js'
import { hasFaultHook } from '../../host/disk/operation.js'
import { finderOf } from '../log/needle.js'
import type { Needle } from '../parts.js'
import { type Found, Searcher, type Section } from './sections.js'

/** Each takes some 15 MB of memory. */
const THREADS_MAX = 4
const ALONE_BYTES = 8 * 1024 * 1024
/** A smaller section is searched before another thread has the message. */
const SENT_BYTES_MIN = 16 * 1024

const NOTHING: Found = { places: [], isInBlob: false }

interface Thread {
  worker: Worker
  /** The calls that wait for its answers, in order. */
  waiting: ((found: Found | undefined) => void)[]
}

export class SearchThreads {
  private readonly searcher: Searcher
  private threads: Thread[] | undefined
  private aloneBytes = 0
  private isClosed = false

  constructor(
    private readonly needle: Needle,
    private readonly aloneBytesMax = ALONE_BYTES,
  ) {
    this.searcher = new Searcher(finderOf(needle))
  }

  search(file: io.OpenFile, section: Section): Found | Promise<Found> {
    const size = section.to - section.from
    const thread = size < SENT_BYTES_MIN ? undefined : this.thread()
    this.aloneBytes += size
    return thread === undefined ? this.alone(file, section) : this.sent(thread, file, section)
  }

  /** Resolves once no thread reads the files. */
  async close(): Promise<void> {
    this.isClosed = true
    await Promise.all((this.threads ?? []).map(({ worker }) => worker.terminate()))
  }

  private alone(file: io.OpenFile, section: Section): Found {
    return this.searcher.search(section, (buffer, offset, position) =>
      io.readPart('search.read', file, buffer.subarray(offset), position),
    )
  }

  private async sent(thread: Thread, file: io.OpenFile, section: Section): Promise<Found> {
    const found = new Promise<Found | undefined>((resolve) => thread.waiting.push(resolve))
    thread.worker.postMessage({ fd: file.fd, section })
    return (await found) ?? (this.isClosed ? NOTHING : this.alone(file, section))
  }

  /** The one with the fewest calls. Undefined if this thread is to search. */
  private thread(): Thread | undefined {
    if (this.aloneBytes < this.aloneBytesMax) return undefined
    this.threads ??= startThreads(this.needle, (ended) => {
      this.threads = this.threads?.filter((thread) => thread !== ended)
      for (const resolve of ended.waiting.splice(0)) resolve(undefined)
    })
    return this.threads.reduce<Thread | undefined>(
      (least, each) => (least !== undefined && least.waiting.length <= each.waiting.length ? least : each),
      undefined,
    )
  }
}

function startThreads(needle: Needle, onEnd: (thread: Thread) => void): Thread[] {
  const count = Math.min(THREADS_MAX, availableParallelism())
  // A fault hook sees only the steps of this thread.
  if (count === 1 || hasFaultHook()) return []
  try {
    return Array.from({ length: count }, () => startThread(needle, onEnd))
  } catch {
    return []
  }
}

function startThread(needle: Needle, onEnd: (thread: Thread) => void): Thread {
  const worker = new Worker(programPath(), {
    workerData: needle,
    execArgv: [],
    env: {},
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  })
  const thread: Thread = { worker, waiting: [] }
  worker.on('message', (found: Found | undefined) => thread.waiting.shift()?.(found))
  worker.on('error', () => onEnd(thread))
  worker.on('exit', () => onEnd(thread))
  return thread
}

function programPath(): string {
  return join(dirname(createRequire(import.meta.url).resolve('substrat/package.json')), 'dist/search.cjs')
}
