/** Sends an answer over a socket of this machine: in an encoding, and after redirects to the same host. Each way is valid. */
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'

const ENCODINGS = {
  identity: { header: 'identity', encoded: (bytes: Buffer): Buffer => bytes },
  gzip: { header: 'gzip', encoded: gzipSync },
  'x-gzip': { header: 'X-GZIP', encoded: gzipSync },
  deflate: { header: 'deflate', encoded: deflateSync },
  'deflate without its header': { header: 'deflate', encoded: deflateRawSync },
  br: { header: 'br', encoded: brotliCompressSync },
}

export interface Carriage {
  encoding: keyof typeof ENCODINGS
  /** The status of each redirect before the answer. */
  redirects: number[]
  isRelative: boolean
}

const ways: fc.Arbitrary<Carriage> = fc.record({
  encoding: fc.constantFrom(...(Object.keys(ENCODINGS) as Carriage['encoding'][])),
  redirects: fc.array(fc.constantFrom(307, 308), { maxLength: 5 }),
  isRelative: fc.boolean(),
})
/** Most answers need no socket: in process they are read much faster. */
export const carriage: fc.Arbitrary<Carriage | undefined> = fc.oneof(
  { weight: 29, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: ways },
)

export class Loopback {
  private server: Server | undefined

  /** The bytes as their encoding has them. */
  static encoded(bytes: Buffer, { encoding }: Carriage): Buffer {
    return ENCODINGS[encoding].encoded(bytes)
  }

  /** `read` gets the URL that answers with these chunks. */
  async serving<T>(chunks: Buffer[], how: Carriage, read: (url: URL) => Promise<T>): Promise<T> {
    const server = await this.listening()
    const { port } = server.address() as AddressInfo
    const origin = `http://127.0.0.1:${port}`
    const answer = ({ url }: { url?: string }, response: ServerResponse): void => {
      const hop = Number(url?.slice(1))
      const status = how.redirects[hop]
      if (status === undefined) void sendAll(response, chunks, how)
      else {
        const next = `/${hop + 1}`
        response.writeHead(status, { location: how.isRelative ? next : `${origin}${next}` }).end('moved')
      }
    }
    server.on('request', answer)
    try {
      return await read(new URL('/0', origin))
    } finally {
      server.off('request', answer)
    }
  }

  close(): void {
    this.server?.closeAllConnections()
    this.server?.close()
    this.server = undefined
  }

  private async listening(): Promise<Server> {
    if (this.server !== undefined) return this.server
    this.server = createServer().listen(0, '127.0.0.1')
    await once(this.server, 'listening')
    return this.server
  }
}

async function sendAll(response: ServerResponse, chunks: Buffer[], { encoding }: Carriage): Promise<void> {
  const { header } = ENCODINGS[encoding]
  response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': header })
  for (const chunk of chunks) {
    response.write(chunk)
    // Lets the chunk leave as a packet of its own.
    await new Promise((resolve) => setImmediate(resolve))
  }
  response.end()
}
