/**
 * The second thread of a home on another machine. A thread takes as long to boot as a third of a command, so it boots while the
 * first one loads the bundle.
 */
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'

/** The first message of a thread: a module of ours or of a trusted plugin, and the argument of its `start`. */
export interface ThreadJob {
  file: string
  data: unknown
}

export interface ThreadModule {
  /** `saveCode`: to be called once most functions of the module have run. */
  start(data: unknown, saveCode: () => void): void
}

const URL = /^[a-z][a-z0-9+.-]*:\/\//
/** The host is the directory of a Unix socket. If only PGHOST says so, a thread boots that no statement uses. */
const ON_SOCKET = /^[a-z0-9+.-]+:\/\/([^@/?]*@)?%2f|[?&]host=(\/|%2f)/i

/** Boots a thread if the command may open such a home over a network. `root` is the directory of the package. */
export function bootThread(root: string): Worker | undefined {
  const [, , command = '-'] = process.argv
  const home = process.env.SUBSTRAT_HOME ?? ''
  const isRemote = URL.test(home) && !ON_SOCKET.test(home)
  return isRemote && !command.startsWith('-') ? newThread(root) : undefined
}

/** A thread that does not keep the process alive. */
export function newThread(root: string): Worker {
  // Not imported: only such a home needs the module.
  const { Worker: Thread } = process.getBuiltinModule('node:worker_threads')
  // Otherwise Node would load the streams of this process. Nothing writes to the stdout of a thread, and its stderr has warnings at
  // most. A failed write ends no turn: src/console/stdio.ts.
  const thread = new Thread(join(root, 'dist', 'thread.cjs'), { execArgv: [], stdout: true, stderr: true })
  thread.stderr.on('data', (bytes: Buffer) => process.stderr.write(bytes))
  thread.unref()
  return thread
}
