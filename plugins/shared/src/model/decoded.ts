/** Undoes the compression of an answer. Requests ask for none, but some proxies compress anyway. */
import type { IncomingMessage } from 'node:http'
import { type Readable, Transform, type TransformCallback } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import { failure } from '../failure.js'

/** Some servers send `deflate` without the header of zlib. Its first byte tells the two apart. */
class AnyInflate extends Transform {
  private decoder: Transform | undefined

  override _transform(chunk: Buffer, encoding: BufferEncoding, done: TransformCallback): void {
    this.decoder ??= this.decoderFor(chunk)
    this.decoder.write(chunk, encoding, done)
  }

  override _flush(done: TransformCallback): void {
    if (this.decoder === undefined) done()
    else this.decoder.once('end', done).end()
  }

  private decoderFor([first = 0]: Buffer): Transform {
    const decoder = (first & 0x0f) === 8 ? createInflate() : createInflateRaw()
    decoder.on('data', (piece) => this.push(piece))
    return decoder.on('error', (error) => this.destroy(error))
  }
}

const DECODERS: Record<string, () => Transform> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: () => new AnyInflate(),
  br: createBrotliDecompress,
}

/** The body as it was before its encoding. Destroying it destroys the answer. */
export function decodedBody(response: IncomingMessage, target: string): Readable {
  const encoding = (response.headers['content-encoding'] ?? '').trim().toLowerCase()
  if (encoding === '' || encoding === 'identity') return response
  const decoder = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding] : undefined
  if (decoder === undefined) {
    response.destroy()
    throw failure(
      'invalid_response',
      `${target} compressed its answer with ${encoding}, which is not supported`,
    )
  }
  const body = decoder()
  response.once('error', (error) => body.destroy(error))
  response.once('aborted', () => body.destroy(new Error('aborted')))
  body.once('close', () => {
    if (!response.readableEnded) response.destroy()
  })
  return response.pipe(body)
}
