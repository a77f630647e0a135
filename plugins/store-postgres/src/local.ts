/** The files of agents on this host: sockets, secret files of programs, kept servers. They are not part of the home. */
import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { LocalFiles, StoreKit } from 'substrat/store'

export function localFilesOf(
  kit: StoreKit,
  homeId: string,
  logPath: (agentId: string) => string,
): LocalFiles {
  const state = process.env.XDG_STATE_HOME || join(homedir(), '.local', 'state')
  const paths = new kit.HomePaths(join(state, 'substrat', 'homes', homeId))
  const files = new kit.AgentFiles(paths, { kind: 'ofd', isLocal: true })
  const make = (path: string): void => void mkdirSync(path, { recursive: true, mode: 0o700 })
  return {
    get keptServers() {
      make(paths.root)
      return files.keptServers
    },
    programFiles: (agentId) => {
      make(paths.agent(agentId).root)
      return files.programFiles(agentId)
    },
    logPath,
    socketPath: (agentId, runId) => files.socketPath(agentId, runId),
    serveSocket: (agentId, runId, onConnection) => {
      make(paths.agent(agentId).root)
      return files.serveSocket(agentId, runId, onConnection)
    },
  }
}
