/**
 * What another process asks of the holder of an agent's lock: to stop its turn. A file names the run, so that a request
 * that comes too late stops no later one. Advisory, and nobody's truth: nothing of it is synced.
 */
import * as io from '../host/disk/io.js'
import { type HomePaths, parseRequestFile, type RequestVerb } from './paths.js'

export class Requests {
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

  /** Calls back on each change; the caller looks for itself too, because a watch can miss. */
  watch(agentId: string, onChange: () => void): { close(): void } {
    return io.watchDirectory(this.paths.agent(agentId).requests, onChange)
  }
}
