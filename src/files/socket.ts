/**
 * A Unix socket in the home. A socket's address has some 100 bytes, a home's path may have more: so it is reached through
 * the descriptor of its directory.
 */
import { connect, createServer, type Socket } from 'node:net'
import { basename, dirname } from 'node:path'
import * as io from '../host/disk/io.js'

export interface ServedSocket {
  close(): void
}

/** Listens when it settles, for this user alone: the directory is 0700 from the start, and so is the socket 0600. */
export async function serveSocket(
  path: string,
  onConnection: (connection: Socket) => Promise<void>,
): Promise<ServedSocket> {
  const directory = io.open('socket.directory', dirname(path), 'read')
  const connections = new Set<Socket>()
  const server = createServer((connection) => {
    connections.add(connection)
    connection.on('error', () => connection.destroy())
    connection.once('close', () => connections.delete(connection))
    onConnection(connection).catch(() => connection.destroy())
  })
  // What is called keeps nothing alive: the turn does.
  server.unref()
  try {
    // What a killed holder left.
    io.unlink('socket.unlink', path)
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      forOwnerAlone(() => server.listen(addressOf(directory, path), resolve))
    })
  } catch (error) {
    server.close()
    io.close(directory)
    throw error
  }
  let isClosed = false
  return {
    close() {
      // A descriptor that is closed twice is another file's the second time.
      if (isClosed) return
      isClosed = true
      server.close(() => io.close(directory))
      for (const connection of connections) connection.destroy()
      io.unlink('socket.unlink', path)
    },
  }
}

/** A socket's mode is given by nothing but the umask. `listen` binds before it returns. */
function forOwnerAlone(bind: () => void): void {
  const before = process.umask(0o177)
  try {
    bind()
  } finally {
    process.umask(before)
  }
}

/** Undefined where nobody is behind it. */
export function connectTo(path: string): Promise<Socket | undefined> {
  const directory = io.openIfThere('socket.directory', dirname(path), 'read')
  if (directory === undefined) return Promise.resolve(undefined)
  return new Promise((resolve) => {
    const connection = connect(addressOf(directory, path))
    // One of them alone: an error after the connect would close a descriptor that is another file's by then.
    const settle = (outcome: Socket | undefined): void => {
      connection.removeAllListeners('connect').removeAllListeners('error')
      io.close(directory)
      resolve(outcome)
    }
    connection.once('connect', () => settle(connection))
    connection.once('error', () => settle(undefined))
  })
}

function addressOf(directory: io.OpenFile, path: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${directory.fd}/${basename(path)}` : path
}
