/** Stands between commands and PostgreSQL, on a unix socket and on a port of TCP, and counts the calls of the schema's functions that pass. */
import { mkdtempSync, rmSync } from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'

const SOCKET = '.s.PGSQL.5432'

/**
 * A lost call never reaches the server, or its answer never reaches the client. `silent`: from that call on nothing passes in either
 * direction, and no connection ends.
 */
export type Loss = 'unsent' | 'unanswered' | 'silent'

export interface Fault {
  /** The number of the call, from 1. */
  at: number
  loss: Loss
  /** Called when the loss has happened, before the client's connection breaks. */
  onLoss?: () => void
}

export class PostgresProxy {
  /** The names of the functions, in the order of their calls. */
  readonly calls: string[] = []
  readonly directory = mkdtempSync(path.join(os.tmpdir(), 'pg-proxy-'))
  readonly #sockets = new Set<net.Socket>()
  readonly #servers: net.Server[]
  #isSilent = false

  private constructor(
    private readonly target: string,
    private readonly fault: Fault | undefined,
  ) {
    this.#servers = [0, 1].map(() => net.createServer((client) => this.#join(client)))
  }

  /** `directory`: where the server has its socket. */
  static async before(directory: string, fault?: Fault): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(path.join(directory, SOCKET), fault)
    const places = [{ path: path.join(proxy.directory, SOCKET) }, { host: '127.0.0.1', port: 0 }]
    await Promise.all(
      proxy.#servers.map((server, n) => new Promise<void>((resolve) => server.listen(places[n], resolve))),
    )
    return proxy
  }

  /** Over TCP. */
  url(database: string, role = 'postgres'): string {
    const [, server] = this.#servers
    const address = server?.address() as net.AddressInfo
    return `postgres://${role}@127.0.0.1:${address.port}/${database}?sslmode=disable`
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await Promise.all(this.#servers.map((server) => new Promise((resolve) => server.close(resolve))))
    rmSync(this.directory, { recursive: true, force: true })
  }

  #join(client: net.Socket): void {
    if (this.#isSilent) {
      this.#sockets.add(client.on('error', () => undefined))
      return
    }
    const server = net.connect(this.target)
    const both = [client, server]
    const cut = (): void => {
      for (const socket of both) socket.destroy()
    }
    const lose = (): void => {
      this.fault?.onLoss?.()
      cut()
    }
    let isLosing = false
    const asked = new Messages(false)
    const answered = new Messages(true)
    for (const socket of both) {
      this.#sockets.add(socket)
      socket.on('error', cut)
      socket.on('close', () => {
        this.#sockets.delete(socket)
        cut()
      })
    }
    client.on('data', (bytes) => {
      for (const { type, body } of asked.read(bytes)) {
        const isCall = type === 'P' || type === 'Q'
        const name = isCall ? /from substrat\.(\w+)\(/.exec(body.toString('latin1'))?.[1] : undefined
        if (name === undefined) continue
        this.calls.push(name)
        if (this.calls.length !== this.fault?.at) continue
        if (this.fault.loss === 'unsent') return lose()
        if (this.fault.loss === 'silent') this.#isSilent = true
        isLosing = true
      }
      if (!this.#isSilent) server.write(bytes)
    })
    server.on('data', (bytes) => {
      if (!isLosing && !this.#isSilent) client.write(bytes)
      // ReadyForQuery: the transaction of the call has ended.
      for (const { type } of answered.read(bytes)) if (isLosing && type === 'Z') return lose()
    })
  }
}

/** The messages of one direction. The first one from a client has no type. */
class Messages {
  #rest = Buffer.alloc(0)

  constructor(private hasType: boolean) {}

  *read(bytes: Buffer): Iterable<{ type: string; body: Buffer }> {
    this.#rest = Buffer.concat([this.#rest, bytes])
    for (;;) {
      const head = this.hasType ? 1 : 0
      if (this.#rest.length < head + 4) return
      const end = head + this.#rest.readInt32BE(head)
      if (this.#rest.length < end) return
      const type = head === 0 ? '' : String.fromCharCode(this.#rest[0] as number)
      const body = this.#rest.subarray(head + 4, end)
      this.#rest = this.#rest.subarray(end)
      this.hasType = true
      yield { type, body }
    }
  }
}
