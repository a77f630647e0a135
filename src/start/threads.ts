/** Gives a module the thread that was booted for it. */
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import type { Transferable, Worker } from 'node:worker_threads'
import { newThread, type ThreadJob } from './thread.js'

let booted: Worker | undefined

export function keepThread(thread: Worker | undefined): void {
  booted = thread
}

/** Runs `start` of the module in a thread, with V8's compiled code of an earlier process. */
export function startThread(file: string, data: unknown, transfer: Transferable[]): void {
  const thread = booted ?? newThread(dirname(createRequire(import.meta.url).resolve('substrat/package.json')))
  booted = undefined
  const job: ThreadJob = { file, data }
  thread.postMessage(job, transfer)
}
