import type { Worker } from 'node:worker_threads'

/** Things that run.ts passes on, so that the bundle need not contain or make them again. */
export interface Starter {
  /** The reasons why another user could have written these files, as one sentence. Undefined if there are none. */
  whyUntrusted(paths: string[]): string | undefined
  /** Booted for a home on another machine. */
  thread: Worker | undefined
}
