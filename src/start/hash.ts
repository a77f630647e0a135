/**
 * sha256, in hex. Loading node:crypto takes 2 ms of a start, more than hashing what a command names: what is short is
 * hashed without it. The same hash either way; a test compares them.
 */
import { createHash } from 'node:crypto'
import { sha256 } from '@noble/hashes/sha2.js'

/** Above this the time goes into the hashing itself. */
const SHORT_BYTES_MAX = 16 * 1024

export function sha256Hex(content: string | Uint8Array): string {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  if (bytes.length <= SHORT_BYTES_MAX) return Buffer.from(sha256(bytes)).toString('hex')
  return createHash('sha256').update(bytes).digest('hex')
}
