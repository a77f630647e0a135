import type { Worker } from 'node:worker_threads'

/** Things that run.ts passes on, so that the bundle need not contain or make them again. */
export interface Starter {
  /** The reasons why another user could have written these files, as one sentence. Undefined if there are none. */
  whyUntrusted(paths: string[]): string | undefined
  /** As in saved-module.ts, whose instance in start.cjs keeps the list of all modules that it saves. */
  requireSaved: ((file: string) => unknown) | undefined
  /** Booted for a home on another machine. */
  thread: Worker | undefined
}
