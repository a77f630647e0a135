/**
 * A connection by a Unix socket for a caller that blocks, by the protocol of PostgreSQL (chapter "Frontend/Backend Protocol").
 * pg's own code makes and reads the messages. Only their way is another one: this thread reads the socket itself, because a
 * second thread takes longer to boot than a whole command in files.
 */
import { accessSync, constants, readSync, writeSync } from 'node:fs'
import net from 'node:net'
import { prepareValue } from 'pg/lib/utils'
import { serialize } from 'pg-protocol'
import type {
  BackendMessage,
  DatabaseError,
  DataRowMessage,
  RowDescriptionMessage,
} from 'pg-protocol/dist/messages.js'
import { Parser } from 'pg-protocol/dist/parser.js'
import type { Row } from './protocol.js'
import { parserOf } from './values.js'

/** Waits a moment. Throws once the caller waits no longer. */
export type Wait = () => void

/** A server that asks for a password. */
export class PasswordWanted extends Error {}

/** Node's types lack the handle, which has the descriptor. */
type SocketWithHandle = net.Socket & { _handle: { fd: number } | null }

const READ_BYTES = 64 * 1024

/** The server ended the connection without a reason. */
export class ConnectionCut extends Error {}

export class BlockingConnection {
  /** Whether the server has accepted this client. */
  isReady = false
  /** A statement was sent whose last message has not come. */
  private isBusy = false
  private readonly parser = new Parser()
  private readonly unread: BackendMessage[] = []
  private spare: Buffer | undefined

  private constructor(
    private readonly socket: net.Socket,
    private readonly fd: number,
  ) {}

  /** `startup`: the parameters of the connection. Does not wait for the server. Throws a system error. */
  static open(path: string, startup: Record<string, string>, wait: Wait): BlockingConnection {
    const socket = new net.Socket()
    // Node must not read what this class waits for.
    socket.pause()
    socket.on('error', () => undefined)
    // Node would close it after an error at the next turn of the event loop. This class would then use the descriptor of another file.
    socket.destroy = () => socket
    socket.connect({ path })
    socket.unref()
    try {
      const fd = (socket as SocketWithHandle)._handle?.fd
      if (fd === undefined) throw systemError('EINVAL', path)
      const connection = new BlockingConnection(socket, fd)
      connection.write(serialize.startup(startup), wait)
      return connection
    } catch (error) {
      closeSocket(socket)
      throw (error as { code?: string }).code === 'ENOTCONN' ? whyNoServer(path) : error
    }
  }

  /** Waits until the server has accepted this client. Throws PasswordWanted if it asks for a password. */
  awaitReady(wait: Wait): void {
    while (!this.isReady) {
      const message = this.next(wait)
      if (message.name.startsWith('authentication') && message.name !== 'authenticationOk')
        throw new PasswordWanted('the server asks for a password')
      if (message.name === 'error') throw message
      this.isReady = message.name === 'readyForQuery'
    }
  }

  /** Whether another statement can be sent. The answer to an earlier one would be taken for that of the next. */
  isUsable(): boolean {
    if (this.isBusy) return false
    try {
      while (this.receive());
      return !this.unread.some(({ name }) => name === 'error')
    } catch {
      return false
    }
  }

  send(text: string, values: unknown[], wait: Wait): void {
    const messages = [
      serialize.parse({ text }),
      serialize.bind({ values, valueMapper: prepareValue }),
      serialize.describe({ type: 'P' }),
      serialize.execute(),
      serialize.sync(),
    ]
    this.isBusy = true
    try {
      this.write(Buffer.concat(messages), wait)
    } catch (error) {
      throw this.reasonFor(error)
    }
  }

  /** The rows of the statement that was sent. Throws a DatabaseError if the server refuses it. */
  rows(wait: Wait): Row[] {
    this.awaitReady(wait)
    const rows: Row[] = []
    let toRow = (_: (string | null)[]): Row => ({})
    let failure: DatabaseError | undefined
    for (;;) {
      const message = failure === undefined ? this.next(wait) : this.nextAfter(failure, wait)
      if (message.name === 'rowDescription') toRow = toRowBy(message as RowDescriptionMessage)
      else if (message.name === 'dataRow') rows.push(toRow((message as DataRowMessage).fields))
      else if (message.name === 'error') failure = message as DatabaseError
      else if (message.name === 'readyForQuery') {
        this.isBusy = false
        if (failure !== undefined) throw failure
        return rows
      }
    }
  }

  close(): void {
    closeSocket(this.socket)
  }

  /** A server that closes the connection says why, before this client has read it. */
  private reasonFor(error: unknown): unknown {
    const noMore = (): never => {
      throw error
    }
    try {
      this.awaitReady(noMore)
      for (;;) {
        const message = this.next(noMore)
        if (message.name === 'error') return message
      }
    } catch (reason) {
      return reason
    }
  }

  /** The server closes the connection after an error that ends it. */
  private nextAfter(failure: DatabaseError, wait: Wait): BackendMessage {
    try {
      return this.next(wait)
    } catch {
      throw failure
    }
  }

  private next(wait: Wait): BackendMessage {
    for (;;) {
      const message = this.unread.shift()
      if (message !== undefined) return message
      if (!this.receive()) wait()
    }
  }

  /** Returns whether something has come. */
  private receive(): boolean {
    const bytes = this.spare ?? Buffer.allocUnsafe(READ_BYTES)
    this.spare = bytes
    const count = ifReady(() => readSync(this.fd, bytes, 0, READ_BYTES, null))
    if (count === undefined) return false
    // The parser may keep a part of it.
    this.spare = undefined
    if (count === 0) throw new ConnectionCut('Connection terminated unexpectedly')
    this.parser.parse(bytes.subarray(0, count), (message) => this.unread.push(message))
    return true
  }

  private write(bytes: Buffer, wait: Wait): void {
    for (let done = 0; done < bytes.length; ) {
      const count = ifReady(() => writeSync(this.fd, bytes, done))
      if (count === undefined) wait()
      else done += count
    }
  }
}

function closeSocket(socket: net.Socket): void {
  net.Socket.prototype.destroy.call(socket)
}

/** Undefined if the socket cannot go on yet. */
function ifReady(act: () => number): number | undefined {
  try {
    return act()
  } catch (error) {
    if ((error as { code?: string }).code === 'EAGAIN') return undefined
    throw error
  }
}

function toRowBy({ fields }: RowDescriptionMessage): (values: (string | null)[]) => Row {
  const columns = fields.map(({ name, dataTypeID }) => ({ name, parse: parserOf(dataTypeID) }))
  return (values) => {
    const row: Row = {}
    for (const [index, { name, parse }] of columns.entries()) {
      const text = values[index]
      row[name] = text == null ? null : parse(text)
    }
    return row
  }
}

/** The socket was not connected, and the kernel has told only Node why. */
function whyNoServer(path: string): Error {
  try {
    accessSync(path, constants.W_OK)
    return systemError('ECONNREFUSED', path)
  } catch (error) {
    return systemError((error as { code: string }).code, path)
  }
}

function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`connect ${code} ${path}`), { code })
}
