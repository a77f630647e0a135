/** Ids derived from other ids, so that an action repeated after a crash uses the same id. */
import { sha256Hex } from '../start/hash.js'

/** A uuid (version 8, RFC 9562) from the sha256 of its parts. */
export function deriveId(...parts: string[]): string {
  const hash = sha256Hex(JSON.stringify(parts))
  const variant = ((Number.parseInt(hash[16] as string, 16) & 0x3) | 0x8).toString(16)
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    variant + hash.slice(17, 20),
    hash.slice(20, 32),
  ].join('-')
}

/** The fingerprint of a message's bytes. */
export function digestOf(content: string): string {
  return sha256Hex(content)
}
