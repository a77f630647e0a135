/**
 * Undoes the compression of an answer. Requests ask for none, but some proxies compress anyway. Others name a compression that they
 * have undone, or one that is none, so the first bytes decide wherever they can.
 */
import type { IncomingMessage } from 'node:http'
import { type Readable, Transform, type TransformCallback } from 'node:stream'
import * as zlib from 'node:zlib'
import { failure } from '../failure.js'

const GZIP = Buffer.from([0x1f, 0x8b])
const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])
/** The beginning of a text in UTF-8. A byte order mark begins with 0xef. */
const TEXT = /^[\t\n\r -~\u0080-\u00f4]/
/** Node has it since version 22. */
const { createZstdDecompress } = zlib as { createZstdDecompress?: () => Transform }

/** Undoes one compression. */
class Decoded extends Transform {
  private decoder: Transform | undefined
  private first = Buffer.alloc(0)

  constructor(
    private readonly coding: string,
    private readonly target: string,
  ) {
    super()
  }

  override _transform(chunk: Buffer, encoding: BufferEncoding, done: TransformCallback): void {
    if (this.decoder !== undefined) return void this.decoder.write(chunk, encoding, done)
    this.first = Buffer.concat([this.first, chunk])
    if (this.first.length < ZSTD.length) done()
    else this.begin(done)
  }

  override _flush(done: TransformCallback): void {
    const end = (): void => void this.decoder?.once('end', done).end()
    if (this.decoder !== undefined) end()
    else if (this.first.length === 0) done()
    else this.begin((error) => (error ? done(error) : end()))
  }

  private begin(done: TransformCallback): void {
    const decoder = this.decoderFor(this.first)
    if (decoder === undefined) {
      const why = `${this.target} compressed its answer with ${this.coding}, which is not supported`
      done(failure('invalid_response', why))
      return
    }
    decoder.on('data', (piece) => this.push(piece)).on('error', (error) => this.destroy(error))
    this.decoder = decoder
    decoder.write(this.first, done)
  }

  private decoderFor(first: Buffer): Transform | undefined {
    const { coding } = this
    if (first.subarray(0, GZIP.length).equals(GZIP)) return zlib.createGunzip()
    if (first.subarray(0, ZSTD.length).equals(ZSTD)) return createZstdDecompress?.()
    // Brotli has no mark. Some servers send `deflate` without the header of zlib.
    if (coding === 'br') return zlib.createBrotliDecompress()
    if (coding === 'deflate')
      return ((first[0] ?? 0) & 0x0f) === 8 ? zlib.createInflate() : zlib.createInflateRaw()
    if (TEXT.test(first.toString('latin1'))) return new Plain()
    return ['gzip', 'x-gzip'].includes(coding) ? zlib.createGunzip() : undefined
  }
}

class Plain extends Transform {
  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    done(null, chunk)
  }
}

/** The body as it was before its encoding. Destroying it destroys the answer. */
export function decodedBody(response: IncomingMessage, target: string): Readable {
  const codings = (response.headers['content-encoding'] ?? '')
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity')
  let body: Readable = response
  for (const coding of codings.reverse()) body = decoded(body, new Decoded(coding, target))
  return body
}

function decoded(source: Readable, body: Transform): Readable {
  source.once('error', (error) => body.destroy(error))
  source.once('aborted', () => body.destroy(new Error('aborted')))
  body.once('close', () => {
    if (!source.readableEnded) source.destroy()
  })
  return source.pipe(body)
}
