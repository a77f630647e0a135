/**
 * Stop requests: another process asks the holder of an agent's lock to stop its turn. Each file names a run, so a late
 * request cannot stop a later run. Advisory, so nothing here is fsynced.
 */
import * as io from '../host/disk/io.js'
import { watchDirectory } from '../host/disk/watch.js'
import type { Requests, StopRequest } from './parts.js'
import { type HomePaths, parseRequestFile, type RequestVerb } from './paths.js'

/** How often the directory is read, in case the file watch reports nothing. */
const LOOK_MS = 500
/** A turn that ends earlier needs no file watch, which takes longer to open and close than the rest of a short turn. */
const WATCH_AFTER_MS = 20

export class RequestFiles implements Requests {
  constructor(private readonly paths: HomePaths) {}

  put(agentId: string, runId: string, verb: RequestVerb): void {
    const agent = this.paths.agent(agentId)
    io.mkdir('request.mkdir', agent.requests)
    io.close(io.open('request.put', agent.request(runId, verb), 'create'))
  }

  requestsTo(agentId: string): StopRequest[] {
    return io
      .listDirectory('request.list', this.paths.agent(agentId).requests)
      .map(parseRequestFile)
      .filter((request) => request !== undefined)
  }

  remove(agentId: string, runId: string, verb: RequestVerb): void {
    io.unlink('request.remove', this.paths.agent(agentId).request(runId, verb))
  }

  watch(agentId: string, onRequests: (requests: StopRequest[]) => void): { close(): void } {
    const look = (): void => {
      try {
        onRequests(this.requestsTo(agentId))
      } catch {
        // Requests are advisory: a directory that cannot be read is read again, and does not fail the turn.
      }
    }
    let watcher: { close(): void } | undefined
    const begin = setTimeout(() => {
      watcher = watchDirectory(this.paths.agent(agentId).requests, look)
      // A request may have come before the watch.
      look()
    }, WATCH_AFTER_MS)
    const timer = setInterval(look, LOOK_MS)
    look()
    return {
      close(): void {
        watcher?.close()
        clearTimeout(begin)
        clearInterval(timer)
      },
    }
  }
}
