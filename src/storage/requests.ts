/**
 * Stop requests: another process asks the holder of an agent's lock to stop its turn. Each file names a run, so a late
 * request cannot stop a later run. Advisory, so nothing here is fsynced.
 */
import * as io from '../host/disk/io.js'
import type { Requests } from './parts.js'
import { type HomePaths, parseRequestFile, type RequestVerb } from './paths.js'

export class RequestFiles implements Requests {
  constructor(private readonly paths: HomePaths) {}

  put(agentId: string, runId: string, verb: RequestVerb): void {
    const agent = this.paths.agent(agentId)
    io.mkdir('request.mkdir', agent.requests)
    io.close(io.open('request.put', agent.request(runId, verb), 'create'))
  }

  requestsTo(agentId: string): { runId: string; verb: RequestVerb }[] {
    return io
      .listDirectory('request.list', this.paths.agent(agentId).requests)
      .map(parseRequestFile)
      .filter((request) => request !== undefined)
  }

  remove(agentId: string, runId: string, verb: RequestVerb): void {
    io.unlink('request.remove', this.paths.agent(agentId).request(runId, verb))
  }

  /** Calls `onChange` on each change. The caller must also poll, because a watch can miss a change. */
  watch(agentId: string, onChange: () => void): { close(): void } {
    return io.watchDirectory(this.paths.agent(agentId).requests, onChange)
  }
}
