/** The hashes of keys in the key index. */
import { KEY_HASH_BYTES } from '../format.js'
import { sha256Hex } from '../start/hash.js'
import type { Store } from '../storage/store.js'
import type { SessionRecord } from './records.js'

export type Rebuilt = Pick<SessionRecord & { kind: 'session.rebuilt' }, 'key_hashes' | 'more_key_hashes'>

/** Whether both are the same text after normalization. */
export function isSameKey(a: string, b: string): boolean {
  return a === b || a.normalize('NFC') === b.normalize('NFC')
}

/** The hash of exactly these characters, without normalization. */
export function hashOfKey(key: string): string {
  return sha256Hex(key).slice(0, 2 * KEY_HASH_BYTES)
}

/** The hashes under which the index has a key: of the recorded form, and of the NFC form, which lookups use. */
export function hashesOfKey(key: string): string[] {
  const normal = key.normalize('NFC')
  return normal === key ? [hashOfKey(key)] : [hashOfKey(key), hashOfKey(normal)]
}

/** The keys that `session.rebuilt` has only as hashes. */
export function keyHashesIn(
  store: Store,
  agentId: string,
  { key_hashes = [], more_key_hashes }: Rebuilt,
): string[] {
  if (more_key_hashes === undefined) return key_hashes
  const hex = store.readBlob(agentId, more_key_hashes).toString('hex')
  return [...key_hashes, ...(hex.match(new RegExp(`.{${2 * KEY_HASH_BYTES}}`, 'g')) ?? [])]
}

/** Searches the blob itself, because a list of all hashes could be very long. */
export function isHashIn(
  store: Store,
  agentId: string,
  { key_hashes = [], more_key_hashes }: Rebuilt,
  hash: string,
): boolean {
  if (key_hashes.includes(hash)) return true
  if (more_key_hashes === undefined) return false
  const more = store.readBlob(agentId, more_key_hashes)
  const bytes = Buffer.from(hash, 'hex')
  let at = more.indexOf(bytes)
  while (at !== -1 && at % KEY_HASH_BYTES !== 0) at = more.indexOf(bytes, at + 1)
  return at !== -1
}
