/**
 * SHA-256 in hex. Short content is hashed without node:crypto, because loading that module takes longer than hashing. A test
 * checks that both ways give the same hash.
 */
import { createHash } from 'node:crypto'
import { sha256 } from '@noble/hashes/sha2.js'

/** For longer content, the hashing itself takes most of the time. The bundle loads node:crypto at its first use. */
const SHORT_BYTES_MAX = 16 * 1024

export function sha256Hex(content: string | Uint8Array): string {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  if (bytes.length <= SHORT_BYTES_MAX) return Buffer.from(sha256(bytes)).toString('hex')
  return createHash('sha256').update(bytes).digest('hex')
}
