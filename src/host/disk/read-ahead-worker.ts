/** The second thread of a `ReadAhead`. Built into its own file, dist/read-ahead.cjs. */
import { workerData } from 'node:worker_threads'
import { SecondThread } from './read-ahead-chunks.js'
import { type ReadAheadJob, readChunk } from './read-chunk.js'

const job = workerData as ReadAheadJob
new SecondThread(job.memory, (chunk, slot) => readChunk(job, chunk, slot)).run()
