/**
 * Stop requests: another process asks the holder of an agent's lock to stop its turn. Each file names a run, so a late
 * request cannot stop a later run. Advisory, so nothing here is fsynced.
 */

import { isPlainObject } from '../format.js'
import * as io from '../host/disk/io.js'
import { writeTemporary } from '../host/disk/replace.js'
import { watchDirectory } from '../host/disk/watch.js'
import type { Requests, StopRequest } from './parts.js'
import { type HomePaths, parseRequestFile, type RequestVerb } from './paths.js'

/** How often the directory is read, in case the file watch reports nothing. */
const LOOK_MS = 500
/** A turn that ends earlier needs no file watch, which takes longer to open and close than the rest of a short turn. */
const WATCH_AFTER_MS = 20

export class RequestFiles implements Requests {
  constructor(private readonly paths: HomePaths) {}

  put(agentId: string, runId: string, verb: RequestVerb, by?: object): void {
    const agent = this.paths.agent(agentId)
    io.mkdir('request.mkdir', agent.requests)
    const bytes = Buffer.from(by === undefined ? '' : JSON.stringify(by))
    // Whole at once, because the holder reads it as soon as it is there. Not in its directory, which is swept with the agent's.
    const temp = writeTemporary('request.put', `${agent.root}/request`, bytes, { isSynced: false })
    try {
      io.link('request.link', temp, agent.request(runId, verb))
    } finally {
      io.unlink('request.unlink', temp)
    }
  }

  requestsTo(agentId: string): StopRequest[] {
    const agent = this.paths.agent(agentId)
    return io
      .listDirectory('request.list', agent.requests)
      .map(parseRequestFile)
      .filter((request) => request !== undefined)
      .map(({ runId, verb }) => ({ runId, verb, ...askedBy(agent.request(runId, verb)) }))
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

/** The request counts also without it: an earlier version leaves the file empty. */
function askedBy(path: string): Pick<StopRequest, 'by'> {
  const bytes = io.readIfThere('request.read', path)
  try {
    const by: unknown = JSON.parse(bytes?.toString('utf8') || 'null')
    return isPlainObject(by) ? { by } : {}
  } catch {
    return {}
  }
}
