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
  const paths = pathsOf(kit, homeId)
  const files = new kit.AgentFiles(paths, { kind: 'ofd', isLocal: true })
  return {
    get keptServers() {
      make(paths.root)
      return files.keptServers
    },
    programFiles: (agentId) => {
      make(paths.agent(agentId).root)
      return files.programFiles(agentId)
    },
    actorKey(makes) {
      if (makes) make(paths.root)
      return files.actorKey(makes)
    },
    logPath,
    // The log is in the database, on a disk that this host may not have.
    freeBytes: () => undefined,
    socketPath: (agentId, runId) => files.socketPath(agentId, runId),
    serveSocket: (agentId, runId, onConnection) => {
      make(paths.agent(agentId).root)
      return files.serveSocket(agentId, runId, onConnection)
    },
  }
}

/** The file for the latest lease of the agent on this host. Creates its directory. */
export function newDeadlineFile(kit: StoreKit, homeId: string, agentId: string): string {
  const { root } = pathsOf(kit, homeId).agent(agentId)
  make(root)
  return join(root, 'lease')
}

/** The directory for a home on this host. */
export function homeDirectory(homeId: string): string {
  const state = process.env.XDG_STATE_HOME || join(homedir(), '.local', 'state')
  return join(state, 'substrat', 'homes', homeId)
}

function pathsOf(kit: StoreKit, homeId: string): InstanceType<StoreKit['HomePaths']> {
  return new kit.HomePaths(homeDirectory(homeId))
}

function make(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
}
