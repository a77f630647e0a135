/** Undoes the compression of an answer. Requests ask for none, but some proxies compress anyway. */
import type { IncomingMessage } from 'node:http'
import type { Readable, Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { failure } from '../failure.js'

const DECODERS: Record<string, () => Transform> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
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
