/**
 * sha256, in hex. Short content is hashed without node:crypto, because loading that takes longer than the hashing. Both
 * ways give the same hash; a test compares them.
 */
import { createHash } from 'node:crypto'
import { sha256 } from '@noble/hashes/sha2.js'

/** Above this, most of the time goes into the hashing itself. The build loads node:crypto only when it is called. */
const SHORT_BYTES_MAX = 16 * 1024

export function sha256Hex(content: string | Uint8Array): string {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  if (bytes.length <= SHORT_BYTES_MAX) return Buffer.from(sha256(bytes)).toString('hex')
  return createHash('sha256').update(bytes).digest('hex')
}
