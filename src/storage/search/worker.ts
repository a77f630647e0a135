/** A thread of `SearchThreads`. Built into its own file, dist/search.cjs. */
import { parentPort, workerData } from 'node:worker_threads'
import { readPart } from '../../host/disk/io.js'
import { finderOf } from '../log/needle.js'
import type { Needle } from '../parts.js'
import { Searcher, type Section } from './sections.js'

const searcher = new Searcher(finderOf(workerData as Needle))

parentPort?.on('message', ({ fd, section }: { fd: number; section: Section }) => {
  parentPort?.postMessage(answerOf(fd, section))
})

/** Undefined if it could not be read: the first thread then reads it, and names the error. */
function answerOf(fd: number, section: Section): ReturnType<Searcher['search']> | undefined {
  try {
    return searcher.search(section, (buffer, offset, position) =>
      readPart('search.read', { fd, path: '' }, buffer.subarray(offset), position),
    )
  } catch {
    return undefined
  }
}
