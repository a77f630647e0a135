/**
 * A Unix socket in the home. A socket address holds about 100 bytes, and a home's path may be longer. So on Linux the
 * address goes through the descriptor of the socket's directory.
 */
import { connect, createServer, type Socket } from 'node:net'
import { basename, dirname } from 'node:path'
import * as io from '../host/disk/io.js'

export interface ServedSocket {
  close(): void
}

/** Resolves once the socket accepts connections. Only this user can connect: the directory is 0700, the socket 0600. */
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
  // The turn keeps the process alive, not its server.
  server.unref()
  try {
    // A killed holder may have left the socket.
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
      // The kernel may have reused the descriptor: a second close would close another file.
      if (isClosed) return
      isClosed = true
      server.close(() => io.close(directory))
      for (const connection of connections) connection.destroy()
      io.unlink('socket.unlink', path)
    },
  }
}

/** Only the umask sets a socket's mode. `listen` binds before it returns. */
function forOwnerAlone(bind: () => void): void {
  const before = process.umask(0o177)
  try {
    bind()
  } finally {
    process.umask(before)
  }
}

/** Undefined if no process listens on the socket. */
export function connectTo(path: string): Promise<Socket | undefined> {
  const directory = io.openIfThere('socket.directory', dirname(path), 'read')
  if (directory === undefined) return Promise.resolve(undefined)
  return new Promise((resolve) => {
    const connection = connect(addressOf(directory, path))
    // Only once: an error after the connect would close the descriptor again, by then perhaps another file's.
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
